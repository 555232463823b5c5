#include "engine/gpu/pass/pack.h"

#include <string.h>

#include "engine/base/error.h"
#include "engine/model/half.h"

enum { STRIP = 256 };

enum weight_kind pack_kind(enum type type)
{
    switch (type) {
    case TYPE_F32:
        return KIND_F32;
    case TYPE_F16:
        return KIND_F16;
    case TYPE_BF16:
        return KIND_BF16;
    case TYPE_Q8_0:
    case TYPE_Q4_0:
    case TYPE_Q5_0:
    case TYPE_IQ4_NL:
        return KIND_Q8;
    case TYPE_Q4_K:
        return KIND_Q4K;
    case TYPE_Q6_K:
        return KIND_Q6K;
    case TYPE_MXFP4:
        return KIND_MXFP4;
    default:
        return KIND_F16;
    }
}

size_t pack_chunk_bytes(enum weight_kind kind)
{
    static const size_t bytes[] = {[KIND_F32] = 16384, [KIND_F16] = 8192, [KIND_BF16] = 8192, [KIND_Q8] = 4352,
                                   [KIND_Q4K] = 2432,  [KIND_Q6K] = 3456, [KIND_MXFP4] = 2176};
    return bytes[kind];
}

size_t pack_tile_bytes(enum weight_kind kind, uint32_t cols)
{
    return pack_chunk_bytes(kind) * pack_chunks(cols);
}

/* Where 4 (or, of 2 bytes, 8) columns of a row begin: vector `i` of a chunk. */
static uint8_t *vector(uint8_t *chunk, uint32_t i, uint32_t row)
{
    return chunk + 16 * ((size_t)PACK_ROWS * i + row);
}

static void put16(uint8_t *out, uint16_t value)
{
    memcpy(out, &value, 2);
}

static void pack_floats(uint8_t *tile, const uint8_t *in, uint32_t cols, uint32_t row, uint32_t size)
{
    size_t chunk_bytes = (size_t)PACK_ROWS * PACK_COLS * size;
    uint32_t each = 16 / size;
    for (uint32_t c = 0; c < cols; c += each) {
        uint32_t n = cols - c < each ? cols - c : each;
        memcpy(vector(tile + c / PACK_COLS * chunk_bytes, c % PACK_COLS / each, row), in + (size_t)c * size,
               (size_t)n * size);
    }
}

/* Blocks of 32 columns that int8 and a float16 hold. */
static void pack_q8(enum type type, uint8_t *tile, const uint8_t *in, uint32_t cols, uint32_t row)
{
    const struct type_info *info = type_info(type);
    for (uint32_t c = 0; c < cols; c += 32, in += info->block_bytes) {
        uint8_t *chunk = tile + c / PACK_COLS * pack_chunk_bytes(KIND_Q8), block[34];
        uint32_t b = c % PACK_COLS / 32;
        if (type == TYPE_Q8_0) {
            memcpy(block, in, 34);
        } else { /* with a scale of 1 the values are the quants */
            uint8_t whole[64];
            float values[32];
            memcpy(whole, in, info->block_bytes);
            put16(whole, 0x3c00);
            type_widen(type, whole, values, 32);
            memcpy(block, in, 2);
            for (int i = 0; i < 32; i++) block[2 + i] = (uint8_t)(int8_t)values[i];
        }
        memcpy(vector(chunk, 2 * b, row), block + 2, 16);
        memcpy(vector(chunk, 2 * b + 1, row), block + 18, 16);
        memcpy(vector(chunk, 8, 0) + 8 * row + 2 * b, block, 2);
    }
}

/* The low nibbles of 128 quants. */
static void put_nibbles(uint8_t *chunk, const uint8_t *q, uint32_t row)
{
    for (uint32_t i = 0; i < 64; i++)
        vector(chunk, i / 16, row)[i % 16] = (uint8_t)((q[i] & 15) | (q[64 + i] & 15) << 4);
}

static void pack_q4_k(uint8_t *tile, const uint8_t *in, uint32_t cols, uint32_t row)
{
    for (uint32_t c = 0; c < cols; c += STRIP, in += 144)
        for (uint32_t half = 0; half < 2; half++) {
            uint8_t *chunk = tile + (c / PACK_COLS + half) * pack_chunk_bytes(KIND_Q4K), q[PACK_COLS];
            uint8_t *scales = vector(chunk, 4, 0);
            const uint8_t *s = in + 4;
            for (uint32_t i = 0; i < PACK_COLS; i++)
                q[i] = in[16 + 64 * half + i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
            put_nibbles(chunk, q, row);
            for (uint32_t j = 4 * half, k = 0; k < 4; k++, j++) { /* type.c, scale_and_min */
                scales[8 * row + k] = j < 4 ? s[j] & 63 : (uint8_t)((s[j + 4] & 15) | (s[j - 4] >> 6) << 4);
                scales[8 * row + 4 + k] = j < 4 ? s[j + 4] & 63 : (uint8_t)((s[j + 4] >> 4) | (s[j] >> 6) << 4);
            }
            memcpy(scales + 8 * PACK_ROWS + 4 * row, in, 4);
        }
}

static void pack_q6_k(uint8_t *tile, const uint8_t *in, uint32_t cols, uint32_t row)
{
    for (uint32_t c = 0; c < cols; c += STRIP, in += 210)
        for (uint32_t half = 0; half < 2; half++) {
            uint8_t *chunk = tile + (c / PACK_COLS + half) * pack_chunk_bytes(KIND_Q6K), q[PACK_COLS];
            uint8_t *scales = vector(chunk, 6, 0);
            for (uint32_t i = 0; i < PACK_COLS; i++)
                q[i] = (uint8_t)((in[64 * half + i % 64] >> 4 * (i / 64) & 15) |
                                 (in[128 + 32 * half + i % 32] >> 2 * (i / 32) & 3) << 4);
            put_nibbles(chunk, q, row);
            for (uint32_t i = 0; i < 32; i++) /* pairs of columns i, 32 + i, 64 + i, 96 + i */
                vector(chunk, 4 + i / 16, row)[i % 16] =
                    (uint8_t)(q[i] >> 4 | q[32 + i] >> 4 << 2 | q[64 + i] >> 4 << 4 | q[96 + i] >> 4 << 6);
            memcpy(scales + 8 * row, in + 192 + 8 * half, 8);
            memcpy(scales + 8 * PACK_ROWS + 4 * row, in + 208, 2);
        }
}

/* A block is an exponent and 16 bytes, of which each has the columns i and 16 + i. */
static void pack_mxfp4(uint8_t *tile, const uint8_t *in, uint32_t cols, uint32_t row)
{
    enum { BLOCK = 32, BLOCK_BYTES = 17 };
    for (uint32_t c = 0; c < cols; c += PACK_COLS) {
        uint8_t *chunk = tile + c / PACK_COLS * pack_chunk_bytes(KIND_MXFP4), q[PACK_COLS] = {0};
        for (uint32_t b = 0; b < PACK_COLS / BLOCK && c + b * BLOCK < cols; b++, in += BLOCK_BYTES) {
            for (uint32_t i = 0; i < BLOCK; i++) q[b * BLOCK + i] = in[1 + i % 16] >> (i / 16 * 4) & 15;
            vector(chunk, 4, 0)[4 * row + b] = in[0];
        }
        put_nibbles(chunk, q, row);
    }
}

/* Others, as float16. */
static void pack_widened(enum type type, uint8_t *tile, const uint8_t *in, uint32_t cols, uint32_t row)
{
    const struct type_info *info = type_info(type);
    float values[TYPE_MAX_BLOCK];
    uint16_t halves[TYPE_MAX_BLOCK];
    for (uint32_t c = 0; c < cols; c += info->block, in += info->block_bytes) {
        type_widen(type, in, values, info->block);
        for (uint32_t i = 0; i < info->block; i++) halves[i] = f16_narrow(values[i]);
        for (uint32_t i = 0; i < info->block; i += 8)
            memcpy(vector(tile + (c + i) / PACK_COLS * pack_chunk_bytes(KIND_F16), (c + i) % PACK_COLS / 8, row),
                   halves + i, 16);
    }
}

void pack_tile(enum type type, uint32_t cols, void *out, const void *rows, uint32_t n)
{
    enum weight_kind kind = pack_kind(type);
    size_t row_bytes = type_row_bytes(type, cols);
    assert_always(n <= PACK_ROWS && row_bytes);
    memset(out, 0, pack_tile_bytes(kind, cols));
    for (uint32_t r = 0; r < n; r++) {
        const uint8_t *in = (const uint8_t *)rows + r * row_bytes;
        if (type == TYPE_F32)
            pack_floats(out, in, cols, r, 4);
        else if (type == TYPE_F16 || type == TYPE_BF16)
            pack_floats(out, in, cols, r, 2);
        else if (kind == KIND_Q8)
            pack_q8(type, out, in, cols, r);
        else if (kind == KIND_Q4K)
            pack_q4_k(out, in, cols, r);
        else if (kind == KIND_Q6K)
            pack_q6_k(out, in, cols, r);
        else if (kind == KIND_MXFP4)
            pack_mxfp4(out, in, cols, r);
        else
            pack_widened(type, out, in, cols, r);
    }
}
