/* type_narrow: from float32 to the types that models are converted to and synthetic models are made of. The loops have
 * constant lengths and no branches, so that compilers vectorise them: a synthetic model makes 1e9 elements at start. */
#include <float.h>

#include "engine/base/error.h"
#include "engine/model/codebook.h"
#include "engine/model/half.h"
#include "engine/model/type.h"

#include <math.h>

/* To the nearest integer, halves away from zero, as roundf. |x| < 2^31. x - trunc(x) is exact. */
static inline int32_t round_away(float x)
{
    int32_t whole = (int32_t)x;
    float rest = x - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static inline int32_t clamp(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

static inline float inverse(float d)
{
    /* Below FLT_MIN the inverse would be infinite; the float16 scale is 0 there. */
    return d > FLT_MIN || d < -FLT_MIN ? 1.0f / d : 0.0f;
}

static void put_u16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

/* A scale as float16, held finite: weights beyond its range saturate. */
static inline uint16_t scale_narrow(float d)
{
    return f16_narrow(d > 65504 ? 65504 : d < -65504 ? -65504 : d);
}

/* Floats as integers of the same order, which compare and clamp in vectors without a word about NaN. */
static inline int32_t ordered(float f)
{
    int32_t bits = (int32_t)bits_of_float(f);
    return bits ^ (bits >> 31 & 0x7fffffff);
}

static inline float of_ordered(int32_t key)
{
    return float_of_bits((uint32_t)(key ^ (key >> 31 & 0x7fffffff)));
}

/* x with infinities and NaN replaced by 0. */
static inline void finite_only(const float *in, float *x, int n)
{
    for (int i = 0; i < n; i++) {
        uint32_t bits = bits_of_float(in[i]);
        x[i] = float_of_bits((bits & 0x7f800000) == 0x7f800000 ? 0 : bits);
    }
}

/* The smallest and largest of n values. */
static inline void range(const float *x, int n, float *low, float *high)
{
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int i = 0; i < n; i++) {
        int32_t key = ordered(x[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    *low = of_ordered(least);
    *high = of_ordered(most);
}

/* The first value whose magnitude is the largest. */
static inline float extreme(const float *x, int n)
{
    float low, high;
    range(x, n, &low, &high);
    if (-low != high) return -low > high ? low : high;
    for (int i = 0; i < n - 1; i++)
        if (x[i] == low || x[i] == high) return x[i];
    return x[n - 1];
}

/* The nearest integer of v in [0, most], v + 0.5 being what is cut off. */
static inline uint8_t level(float v, int32_t most)
{
    int32_t key = ordered(v + 0.5f), top = ordered((float)most);
    key = key < 0 ? 0 : key > top ? top : key;
    return (uint8_t)(int32_t)of_ordered(key);
}

/* d = max |x| / 127, q = round(x / d) */
static void narrow_q8_0(const float *in, uint8_t *p)
{
    float x[32];
    finite_only(in, x, 32);
    float most = extreme(x, 32), d = (most < 0 ? -most : most) / 127, id = inverse(d);
    put_u16(p, scale_narrow(d));
    for (int i = 0; i < 32; i++) p[2 + i] = (uint8_t)(int8_t)round_away(x[i] * id);
}

/* d = x / -8 for the x of largest magnitude, q = min(15, floor(x / d + 8.5)) */
static void narrow_q4_0(const float *in, uint8_t *p)
{
    float x[32];
    uint8_t q[32];
    finite_only(in, x, 32);
    float d = extreme(x, 32) / -8, id = inverse(d);
    put_u16(p, scale_narrow(d));
    for (int i = 0; i < 32; i++) q[i] = (uint8_t)clamp((int32_t)(x[i] * id + 8.5f), 0, 15);
    for (int i = 0; i < 16; i++) p[2 + i] = (uint8_t)(q[i] | q[i + 16] << 4);
}

/* Sub-blocks of 32: scale = range / 15, min = -(smallest, at most 0), both in 63rds of the block's largest. */
static void narrow_q4_k(const float *in, uint8_t *p)
{
    float x[256], scales[8], mins[8], most_scale = 0, most_min = 0;
    uint8_t q[256];
    finite_only(in, x, 256);
    for (int j = 0; j < 8; j++) {
        float low, high;
        range(x + 32 * j, 32, &low, &high);
        low = low < 0 ? low : 0;
        high = high > 0 ? high : 0;
        scales[j] = high / 15 - low / 15; /* the difference itself could overflow */
        mins[j] = -low;
        most_scale = scales[j] > most_scale ? scales[j] : most_scale;
        most_min = mins[j] > most_min ? mins[j] : most_min;
    }
    uint16_t d = scale_narrow(most_scale / 63), dmin = scale_narrow(most_min / 63);
    float inverse_scale = inverse(most_scale / 63), inverse_min = inverse(most_min / 63);
    put_u16(p, d);
    put_u16(p + 2, dmin);
    uint8_t *s = p + 4;
    memset(s, 0, 12);
    for (int j = 0; j < 8; j++) {
        int scale = clamp(round_away(scales[j] * inverse_scale), 0, 63);
        int min = clamp(round_away(mins[j] * inverse_min), 0, 63);
        if (j < 4) {
            s[j] |= (uint8_t)scale;
            s[j + 4] |= (uint8_t)min;
        } else {
            s[j + 4] |= (uint8_t)((scale & 15) | (min & 15) << 4);
            s[j - 4] |= (uint8_t)(scale >> 4 << 6);
            s[j] |= (uint8_t)(min >> 4 << 6);
        }
        float a = inverse(f16_widen(d) * scale), b = f16_widen(dmin) * min;
        for (int i = 0; i < 32; i++) q[32 * j + i] = level((x[32 * j + i] + b) * a, 15);
    }
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 32; i++) p[16 + 32 * j + i] = (uint8_t)(q[64 * j + i] | q[64 * j + 32 + i] << 4);
}

/* Sub-blocks of 16: scale = x / -32 for the x of largest magnitude; d makes the largest scale -128. */
static void narrow_q6_k(const float *in, uint8_t *p)
{
    float x[256], scales[16];
    uint8_t q[256];
    finite_only(in, x, 256);
    for (int j = 0; j < 16; j++) scales[j] = extreme(x + 16 * j, 16) / -32;
    float most = extreme(scales, 16) / -128;
    uint16_t d = scale_narrow(most);
    float inverse_scale = inverse(most);
    put_u16(p + 208, d);
    for (int j = 0; j < 16; j++) {
        int scale = clamp(round_away(scales[j] * inverse_scale), -128, 127);
        p[192 + j] = (uint8_t)(int8_t)scale;
        float a = inverse(f16_widen(d) * scale);
        for (int i = 0; i < 16; i++) q[16 * j + i] = level(x[16 * j + i] * a + 32, 63);
    }
    for (int half = 0; half < 2; half++) {
        const uint8_t *e = q + 128 * half;
        for (int i = 0; i < 64; i++) p[64 * half + i] = (uint8_t)((e[i] & 15) | (e[i + 64] & 15) << 4);
        for (int i = 0; i < 32; i++)
            p[128 + 32 * half + i] =
                (uint8_t)(e[i] >> 4 | (e[i + 32] >> 4) << 2 | (e[i + 64] >> 4) << 4 | (e[i + 96] >> 4) << 6);
    }
}

/* The half types in groups of 32, tails apart: loops of constant length vectorise at -O2. */
#define NARROW_HALVES(name, convert)                                                                                   \
    static void name(const float *in, uint8_t *p, size_t n)                                                            \
    {                                                                                                                  \
        uint16_t h[32];                                                                                                \
        for (; n >= 32; n -= 32, in += 32, p += 64) {                                                                  \
            for (int i = 0; i < 32; i++) h[i] = convert(in[i]);                                                        \
            memcpy(p, h, sizeof h);                                                                                    \
        }                                                                                                              \
        for (size_t i = 0; i < n; i++) h[i] = convert(in[i]);                                                          \
        memcpy(p, h, 2 * n);                                                                                           \
    }
NARROW_HALVES(narrow_f16, f16_narrow)
NARROW_HALVES(narrow_bf16, bf16_narrow)

/* The largest has the largest exponent of a 4-bit float; the others become the nearest of its values. */
static void narrow_mxfp4(const float *in, uint8_t *p)
{
    float most = 0;
    for (int i = 0; i < 32; i++) most = fabsf(in[i]) > most ? fabsf(in[i]) : most;
    int e = most > 0 ? ilogbf(most) + 125 : 0;
    p[0] = (uint8_t)(e < 0 ? 0 : e > 254 ? 254 : e);
    memset(p + 1, 0, 16);
    for (int i = 0; i < 32; i++) {
        float size = ldexpf(fabsf(in[i]), 128 - p[0]);
        uint8_t q = 0;
        while (q < 7 && 2 * size > (float)(codebook_mxfp4[q] + codebook_mxfp4[q + 1])) q++;
        q |= in[i] < 0 ? 8 : 0;
        p[1 + i % 16] |= (uint8_t)(q << (i < 16 ? 0 : 4));
    }
}

void type_narrow(enum type type, const float *in, void *row, size_t n)
{
    uint8_t *p = row;
    const struct type_info *info = type_info(type);
    assert_always(info->narrows && n % info->block == 0);
    switch (type) {
    case TYPE_F32:
        memcpy(row, in, n * sizeof *in);
        break;
    case TYPE_F16:
        narrow_f16(in, p, n);
        break;
    case TYPE_BF16:
        narrow_bf16(in, p, n);
        break;
    case TYPE_Q8_0:
        for (size_t i = 0; i < n; i += 32, p += info->block_bytes) narrow_q8_0(in + i, p);
        break;
    case TYPE_Q4_0:
        for (size_t i = 0; i < n; i += 32, p += info->block_bytes) narrow_q4_0(in + i, p);
        break;
    case TYPE_MXFP4:
        for (size_t i = 0; i < n; i += 32, p += info->block_bytes) narrow_mxfp4(in + i, p);
        break;
    case TYPE_Q4_K:
        for (size_t i = 0; i < n; i += 256, p += info->block_bytes) narrow_q4_k(in + i, p);
        break;
    case TYPE_Q6_K:
        for (size_t i = 0; i < n; i += 256, p += info->block_bytes) narrow_q6_k(in + i, p);
        break;
    default:
        panic("type_narrow: no such type");
    }
}
