/* Tensor types: how a row of weights is stored in model files and passed to the kernels.
 *
 * A row of n elements is n / block blocks of block_bytes each, little-endian, without padding; n is a multiple of
 * the block. The block layouts are those of the GGUF format (its public specification and the types' reference
 * dequantisation); the comment at each case in type.c, and codebook.h, give the formulas.
 */
#ifndef TANDEM_MODEL_TYPE_H
#define TANDEM_MODEL_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum type {
    TYPE_F32,
    TYPE_F16,
    TYPE_BF16,
    TYPE_Q8_0,
    TYPE_Q4_0,
    TYPE_Q4_1,
    TYPE_Q5_0,
    TYPE_Q5_1,
    TYPE_Q4_K,
    TYPE_Q5_K,
    TYPE_Q6_K,
    TYPE_Q3_K,
    TYPE_Q2_K,
    TYPE_IQ4_NL,
    TYPE_IQ4_XS,
    TYPE_IQ2_XXS,
    TYPE_IQ2_XS,
    TYPE_IQ2_S,
    TYPE_IQ3_XXS,
    TYPE_IQ3_S,
    TYPE_MXFP4,
    TYPE_COUNT
};

/* The largest block; every type's block divides it. */
enum { TYPE_MAX_BLOCK = 256 };

struct type_info {
    const char *name; /* in options and output: "f32", "q4_k" ... */
    uint32_t block;   /* elements in a block: 1, 32 or 256 */
    uint32_t block_bytes;
    uint32_t gguf; /* its number in GGUF files */
    bool narrows;  /* type_narrow can produce it */
};

const struct type_info *type_info(enum type type);
/* From a name (any case) or a GGUF number; TYPE_COUNT for an unknown one. */
enum type type_from_name(const char *name);
enum type type_from_gguf(uint32_t number);
/* The name of a GGUF type number that this engine does not support ("IQ1_S"), or NULL. */
const char *type_foreign_name(uint32_t number);
/* The names of all types, separated by commas; at most 200 bytes. */
void type_names(char *out, size_t room);

/* Bytes of a row of n elements; 0 when n is not a multiple of the block, or 0. n < 2^48. */
uint64_t type_row_bytes(enum type type, uint64_t n);

/* The exact float32 values of n elements (a multiple of the block) stored at row. Every type. Any alignment. */
void type_widen(enum type type, const void *row, float *out, size_t n);

/* Rounds n float32 values (a multiple of the block) to the type: F32, F16, BF16 (nearest, ties to even), Q8_0 and
 * Q4_0 (as the formats' reference quantisers), Q4_K and Q6_K (to the nearest under scales taken from each
 * sub-block's range, without a search), MXFP4. Values must be finite for the quantised types; NaN becomes 0. */
void type_narrow(enum type type, const float *in, void *row, size_t n);

#endif
