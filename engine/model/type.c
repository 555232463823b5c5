#include "engine/model/type.h"

#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "engine/base/error.h"
#include "engine/model/codebook.h"
#include "engine/model/half.h"

static const struct type_info infos[TYPE_COUNT] = {
    [TYPE_F32] = {"f32", 1, 4, 0, true},
    [TYPE_F16] = {"f16", 1, 2, 1, true},
    [TYPE_BF16] = {"bf16", 1, 2, 30, true},
    [TYPE_Q8_0] = {"q8_0", 32, 34, 8, true},
    [TYPE_Q4_0] = {"q4_0", 32, 18, 2, true},
    [TYPE_Q4_1] = {"q4_1", 32, 20, 3, false},
    [TYPE_Q5_0] = {"q5_0", 32, 22, 6, false},
    [TYPE_Q5_1] = {"q5_1", 32, 24, 7, false},
    [TYPE_Q4_K] = {"q4_k", 256, 144, 12, true},
    [TYPE_Q5_K] = {"q5_k", 256, 176, 13, false},
    [TYPE_Q6_K] = {"q6_k", 256, 210, 14, true},
    [TYPE_Q3_K] = {"q3_k", 256, 110, 11, false},
    [TYPE_Q2_K] = {"q2_k", 256, 84, 10, false},
    [TYPE_IQ4_NL] = {"iq4_nl", 32, 18, 20, false},
    [TYPE_IQ4_XS] = {"iq4_xs", 256, 136, 23, false},
    [TYPE_IQ2_XXS] = {"iq2_xxs", 256, 66, 16, false},
    [TYPE_IQ2_XS] = {"iq2_xs", 256, 74, 17, false},
    [TYPE_IQ2_S] = {"iq2_s", 256, 82, 22, false},
    [TYPE_IQ3_XXS] = {"iq3_xxs", 256, 98, 18, false},
    [TYPE_IQ3_S] = {"iq3_s", 256, 110, 21, false},
    [TYPE_MXFP4] = {"mxfp4", 32, 17, 39, true},
};

/* GGUF types that this engine doesn't read, for error lines. */
static const char *const foreign[] = {
    [9] = "Q8_1", [15] = "Q8_K", [19] = "IQ1_S", [24] = "I8",    [25] = "I16",   [26] = "I32",
    [27] = "I64", [28] = "F64",  [29] = "IQ1_M", [34] = "TQ1_0", [35] = "TQ2_0", [40] = "NVFP4",
};

const struct type_info *type_info(enum type type)
{
    assert_always((unsigned)type < TYPE_COUNT);
    return &infos[type];
}

enum type type_from_name(const char *name)
{
    for (int t = 0; t < TYPE_COUNT; t++)
        if (!strcasecmp(name, infos[t].name)) return (enum type)t;
    return TYPE_COUNT;
}

enum type type_from_gguf(uint32_t number)
{
    for (int t = 0; t < TYPE_COUNT; t++)
        if (infos[t].gguf == number) return (enum type)t;
    return TYPE_COUNT;
}

const char *type_foreign_name(uint32_t number)
{
    return number < sizeof foreign / sizeof *foreign ? foreign[number] : NULL;
}

void type_names(char *out, size_t room)
{
    size_t at = 0;
    for (int t = 0; t < TYPE_COUNT && at < room; t++)
        at += (size_t)snprintf(out + at, room - at, "%s%s", t ? ", " : "", infos[t].name);
}

uint64_t type_row_bytes(enum type type, uint64_t n)
{
    const struct type_info *i = type_info(type);
    return n % i->block ? 0 : n / i->block * i->block_bytes;
}

/* ---- Widening: one function per type, for one block. p is its bytes, y its values. ----------------------------- */

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float half_at(const uint8_t *p)
{
    return f16_widen(u16(p));
}

/* d, 32 x int8: y = d q */
static void widen_q8_0(const uint8_t *p, float *y)
{
    float d = half_at(p);
    for (int i = 0; i < 32; i++) y[i] = d * (int8_t)p[2 + i];
}

/* d, 16 bytes whose low nibbles are elements 0-15 and high nibbles 16-31: y = d (q - 8) */
static void widen_q4_0(const uint8_t *p, float *y)
{
    float d = half_at(p);
    for (int i = 0; i < 16; i++) {
        y[i] = d * ((p[2 + i] & 15) - 8);
        y[i + 16] = d * ((p[2 + i] >> 4) - 8);
    }
}

/* d, m, 16 bytes of nibbles: y = d q + m */
static void widen_q4_1(const uint8_t *p, float *y)
{
    float d = half_at(p), m = half_at(p + 2);
    for (int i = 0; i < 16; i++) {
        y[i] = d * (p[4 + i] & 15) + m;
        y[i + 16] = d * (p[4 + i] >> 4) + m;
    }
}

/* The fifth bits of 32 elements are a little-endian word, one bit an element. */
static int fifth_bit(const uint8_t *word, int element)
{
    return (word[element / 8] >> element % 8 & 1) << 4;
}

/* d, fifth bits, nibbles: y = d (q - 16) */
static void widen_q5_0(const uint8_t *p, float *y)
{
    float d = half_at(p);
    for (int i = 0; i < 16; i++) {
        y[i] = d * (((p[6 + i] & 15) | fifth_bit(p + 2, i)) - 16);
        y[i + 16] = d * (((p[6 + i] >> 4) | fifth_bit(p + 2, i + 16)) - 16);
    }
}

/* d, m, fifth bits, nibbles: y = d q + m */
static void widen_q5_1(const uint8_t *p, float *y)
{
    float d = half_at(p), m = half_at(p + 2);
    for (int i = 0; i < 16; i++) {
        y[i] = d * ((p[8 + i] & 15) | fifth_bit(p + 4, i)) + m;
        y[i + 16] = d * ((p[8 + i] >> 4) | fifth_bit(p + 4, i + 16)) + m;
    }
}

/* The 12 bytes of Q4_K and Q5_K: eight 6-bit scales and minima. Those of sub-blocks 0-3 are the low 6 bits of bytes
 * 0-3 (scales) and 4-7 (minima); those of 4-7 have their low nibbles in bytes 8-11, their top bits above the others. */
static void scale_and_min(const uint8_t *s, int j, int *scale, int *min)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *min = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        *min = (s[j + 4] >> 4) | (s[j] >> 6) << 4;
    }
}

/* d, dmin, 12 bytes of scales, 128 bytes of nibbles: sub-blocks 2k and 2k+1 are the low and high nibbles of bytes
 * 32k..32k+31; y = d scale q - dmin min */
static void widen_q4_k(const uint8_t *p, float *y)
{
    float d = half_at(p), dmin = half_at(p + 2);
    for (int j = 0; j < 8; j++) {
        int scale, min;
        scale_and_min(p + 4, j, &scale, &min);
        float a = d * scale, b = dmin * min;
        const uint8_t *q = p + 16 + j / 2 * 32;
        for (int i = 0; i < 32; i++) y[32 * j + i] = a * (q[i] >> 4 * (j % 2) & 15) - b;
    }
}

/* d, dmin, 12 bytes of scales, 32 bytes whose bit j is the fifth bit of sub-block j, 128 bytes of nibbles as Q4_K */
static void widen_q5_k(const uint8_t *p, float *y)
{
    float d = half_at(p), dmin = half_at(p + 2);
    for (int j = 0; j < 8; j++) {
        int scale, min;
        scale_and_min(p + 4, j, &scale, &min);
        float a = d * scale, b = dmin * min;
        const uint8_t *high = p + 16, *q = p + 48 + j / 2 * 32;
        for (int i = 0; i < 32; i++) y[32 * j + i] = a * ((q[i] >> 4 * (j % 2) & 15) | (high[i] >> j & 1) << 4) - b;
    }
}

/* 128 bytes of low nibbles, 64 of high bit pairs, 16 int8 scales, d; each half of the block (128 elements) takes 64 and
 * 32 of the bytes, element e of it nibble e / 64 of byte e % 64 and pair e / 32 of byte e % 32: y = d scale (q - 32) */
static void widen_q6_k(const uint8_t *p, float *y)
{
    float d = half_at(p + 208);
    for (int j = 0; j < 16; j++) {
        int half = j / 8, e = j % 8 * 16;
        float a = d * (int8_t)p[192 + j];
        const uint8_t *low = p + 64 * half + e % 64, *high = p + 128 + 32 * half + e % 32;
        for (int i = 0; i < 16; i++)
            y[16 * j + i] = a * (((low[i] >> 4 * (e / 64) & 15) | (high[i] >> 2 * (e / 32) & 3) << 4) - 32);
    }
}

/* 32 bytes of third bits (bit j for sub-block pair j), 64 of bit pairs, sixteen 6-bit scales in 12 bytes (low nibbles
 * in 0-7, high pairs in 8-11), d; a third bit of 0 means minus 4: y = d (scale - 32) q */
static void widen_q3_k(const uint8_t *p, float *y)
{
    const uint8_t *s = p + 96;
    float d = half_at(p + 108);
    for (int j = 0; j < 16; j++) {
        int scale = (s[j % 8] >> 4 * (j / 8) & 15) | (s[8 + j % 4] >> 2 * (j / 4) & 3) << 4;
        int half = j / 8, pair = j % 8 / 2, at = j % 2 * 16;
        float a = d * (scale - 32);
        const uint8_t *third = p + at, *q = p + 32 + 32 * half + at;
        for (int i = 0; i < 16; i++) y[16 * j + i] = a * ((q[i] >> 2 * pair & 3) - (third[i] >> j / 2 & 1 ? 0 : 4));
    }
}

/* 16 bytes (scale in the low nibble, minimum in the high), 64 bytes of bit pairs, d, dmin: y = d scale q - dmin min */
static void widen_q2_k(const uint8_t *p, float *y)
{
    float d = half_at(p + 80), dmin = half_at(p + 82);
    for (int j = 0; j < 16; j++) {
        int half = j / 8, pair = j % 8 / 2, at = j % 2 * 16;
        float a = d * (p[j] & 15), b = dmin * (p[j] >> 4);
        const uint8_t *q = p + 16 + 32 * half + at;
        for (int i = 0; i < 16; i++) y[16 * j + i] = a * (q[i] >> 2 * pair & 3) - b;
    }
}

/* Nibbles as Q4_0: y = d value[q] */
static void widen_nibbles(float d, const int8_t *values, const uint8_t *p, float *y)
{
    for (int i = 0; i < 16; i++) {
        y[i] = d * values[p[i] & 15];
        y[i + 16] = d * values[p[i] >> 4];
    }
}

/* d, nibbles */
static void widen_iq4_nl(const uint8_t *p, float *y)
{
    widen_nibbles(half_at(p), codebook_iq4, p + 2, y);
}

/* a byte e, nibbles: d = 2^(e - 128), as the values are twice those of a float of 4 bits */
static void widen_mxfp4(const uint8_t *p, float *y)
{
    widen_nibbles(ldexpf(1, p[0] - 128), codebook_mxfp4, p + 1, y);
}

/* d, high pairs of the eight scales (a word), their low nibbles (4 bytes), then eight sub-blocks of nibbles as Q4_0:
 * y = d (scale - 32) value[q] */
static void widen_iq4_xs(const uint8_t *p, float *y)
{
    float d = half_at(p);
    for (int j = 0; j < 8; j++) {
        int scale = (p[4 + j / 2] >> 4 * (j % 2) & 15) | (u16(p + 2) >> 2 * j & 3) << 4;
        widen_nibbles(d * (scale - 32), codebook_iq4, p + 8 + 16 * j, y + 32 * j);
    }
}

static void widen_codebook(const struct codebook *c, const uint8_t *p, float *y)
{
    uint8_t q[TYPE_MAX_BLOCK], s[16];
    c->split(p, q, s);
    float d = half_at(p) * c->unit;
    for (int j = 0; j < TYPE_MAX_BLOCK / c->sub; j++) {
        float a = d * (2 * s[j] + 1);
        for (int i = c->sub * j; i < c->sub * (j + 1); i++) y[i] = a * c->values[q[i]];
    }
}

void type_widen(enum type type, const void *row, float *out, size_t n)
{
    static void (*const widen_block[TYPE_COUNT])(const uint8_t *, float *) = {
        [TYPE_Q8_0] = widen_q8_0, [TYPE_Q4_0] = widen_q4_0, [TYPE_Q4_1] = widen_q4_1,     [TYPE_Q5_0] = widen_q5_0,
        [TYPE_Q5_1] = widen_q5_1, [TYPE_Q4_K] = widen_q4_k, [TYPE_Q5_K] = widen_q5_k,     [TYPE_Q6_K] = widen_q6_k,
        [TYPE_Q3_K] = widen_q3_k, [TYPE_Q2_K] = widen_q2_k, [TYPE_IQ4_NL] = widen_iq4_nl, [TYPE_IQ4_XS] = widen_iq4_xs,
        [TYPE_MXFP4] = widen_mxfp4,
    };
    const struct type_info *info = type_info(type);
    const struct codebook *book = codebook_of(type);
    const uint8_t *p = row;
    assert_always(n % info->block == 0);
    if (type == TYPE_F32) {
        memcpy(out, row, n * sizeof *out);
    } else if (type == TYPE_F16) {
        for (size_t i = 0; i < n; i++) out[i] = half_at(p + 2 * i);
    } else if (type == TYPE_BF16) {
        for (size_t i = 0; i < n; i++) out[i] = bf16_widen(u16(p + 2 * i));
    } else {
        for (size_t i = 0; i < n; i += info->block, p += info->block_bytes)
            if (book) widen_codebook(book, p, out + i);
            else widen_block[type](p, out + i);
    }
}
