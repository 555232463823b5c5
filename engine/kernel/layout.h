/* The packed layout of weights: one for every kernel set (README.md has the pictures).
 *
 * Rows are taken 32 at a time (a tile; missing rows of the last one are zero), columns up to 256 at a time (a group).
 * A tile's groups follow each other, so rows [r0, r1) are one contiguous stream.
 *
 *   float types   F32, F16: [column][32 rows]; BF16: [column pair][32 rows][2], an odd last column padded with zero.
 *   other types   per group: the quants of rows 0-15, those of rows 16-31, then the scales of both halves.
 *
 * The quants of one half (16 rows) and 32 columns are a block. Its "step" s is the 64 bytes [16 rows][columns 4s to
 * 4s+3], the operand of a dot product of four bytes per lane. Types of fewer bits keep them in planes of 64-byte
 * vectors:
 *
 *   nibbles (4 vectors)   vector v: step v in the low bits, step v+4 in the high ones
 *   pairs   (2 vectors)   vector v: step v+2i in bits 2i, 2i+1
 *   singles (1 vector)    step i in bit i
 *
 * By the bits of a quant a block is: 8: bytes (weight + 128; in the set amx the weight); 6: nibbles and pairs;
 * 5: nibbles and singles; 4: nibbles; 3: pairs and singles; 2: pairs.
 *
 * The scales of a half with n blocks:
 *   one level         f16 d[n][16]; in types with minima then f16 m[n][16]
 *   two levels        bytes s[n * 32/sub][16], bytes m likewise, f16 d[16], f16 dmin[16]. Q2_K: s and m share a byte;
 *                     codebook types: s of two sub-blocks share a byte, the first in the low bits
 *   MXFP4             bytes e[n rounded up to even][16]
 */
#ifndef TANDEM_KERNEL_LAYOUT_H
#define TANDEM_KERNEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/model/type.h"

enum { TILE_ROWS = 32, HALF_ROWS = 16, GROUP_COLS = 256, BLOCK_COLS = 32, STEP_BYTES = 64, BLOCK_STEPS = 8 };

enum scale_form {
    SCALE_NONE,       /* float types */
    SCALE_F16,        /* d per block */
    SCALE_POWER,      /* a byte e per block: d = 2^(e - 128) */
    SCALE_F16_MIN,    /* d and m per block: w = d q + m */
    SCALE_SIGNED,     /* d per group, int8 s per sub-block: w = d s (q - offset) */
    SCALE_ODD,        /* d per group, s of 4 bits per sub-block, two in a byte: w = d unit (2 s + 1) table[q] */
    SCALE_PACKED_MIN, /* d, dmin per group, s and m in the nibbles of a byte per sub-block: w = d s q - dmin m */
    SCALE_BYTE_MIN,   /* the same with a byte each for s and m */
};

struct layout {
    uint8_t bits;         /* of a quant; 0 for float types */
    uint8_t width;        /* bits of the operand of dot products: the quant, or table[q] + 2^(width-1) */
    uint8_t sub;          /* columns that share a scale: 16 or 32 */
    uint8_t offset;       /* q stands for q - offset, if there is no table */
    enum scale_form form;
    uint16_t block_bytes; /* quants of one half and one block */
    const int8_t *table;  /* of 16 values: q stands for table[q]; NULL: none */
    float unit;           /* of SCALE_ODD */
};

extern const struct layout layouts[TYPE_COUNT];

static inline bool form_has_minima(enum scale_form form)
{
    return form == SCALE_F16_MIN || form == SCALE_PACKED_MIN || form == SCALE_BYTE_MIN;
}

/* Two levels of scales: integers of up to 8 bits per sub-block, floats per group. Rows are whole groups. */
static inline bool form_has_levels(enum scale_form form)
{
    return form > SCALE_F16_MIN;
}

static inline bool layout_has_minima(const struct layout *l)
{
    return form_has_minima(l->form);
}

static inline bool layout_has_levels(const struct layout *l)
{
    return form_has_levels(l->form);
}

/* Where the parts of a packed group lie, in bytes from its begin: first the quants of both halves, then the scales of
 * both. */
struct layout_group {
    size_t quants[2], scales[2];
    size_t bytes; /* of the whole group */
};

/* Of a group of `blocks` blocks, at most GROUP_COLS / BLOCK_COLS. */
struct layout_group layout_group(const struct layout *l, uint32_t blocks);
/* Bytes of one tile, of a matrix. */
size_t layout_tile_bytes(enum type type, uint32_t cols);
size_t layout_bytes(enum type type, uint32_t rows, uint32_t cols);

/* Packs n rows (type_row_bytes apart) that start at a multiple of TILE_ROWS into data; see kernel.h, matrix_pack.
 * raised: 128 or 0, added to 8-bit quants; the same for all rows of a matrix. */
void layout_pack(enum type type, uint32_t cols, void *data, const void *raw, uint32_t row0, uint32_t n, uint8_t raised);
/* The exact weights of one row. */
void layout_unpack_row(enum type type, uint32_t cols, const void *data, uint32_t row, uint8_t raised, float *out);

#endif
