/* float16 and bfloat16 conversions in integer arithmetic: widening is exact, narrowing rounds to nearest, ties to even.
 * The bits are the same on every machine; loops over these functions vectorise. */
#ifndef TANDEM_MODEL_HALF_H
#define TANDEM_MODEL_HALF_H

#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float bf16_widen(uint16_t h)
{
    return float_of_bits((uint32_t)h << 16);
}

static inline uint16_t bf16_narrow(float f)
{
    uint32_t bits = bits_of_float(f);
    /* The carry of the rounding could turn a NaN into infinity, so a NaN keeps its top half and becomes quiet. */
    uint32_t nan = (bits & 0x7fffffff) > 0x7f800000;
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(nan ? (bits >> 16 | 0x40) : rounded);
}

static inline float f16_widen(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    /* Moved into float32's fields the exponent is 112 short; the multiplication is exact, subnormals included. */
    float scaled = float_of_bits(magnitude << 13) * 0x1p112f;
    uint32_t bits = magnitude >= 0x7c00 ? 0x7f800000 | (magnitude & 0x3ff) << 13 : bits_of_float(scaled);
    return float_of_bits(sign | bits);
}

static inline uint16_t f16_narrow(float f)
{
    uint32_t bits = bits_of_float(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    /* All four cases are computed and one is chosen, so that loops vectorise. Below 2^-14, adding 0.5 leaves multiples
     * of 2^-24 in the low bits; 65520 and more round to infinity. */
    uint32_t small = bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000;
    uint32_t half = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    half = magnitude < 0x38800000 ? small : half;
    half = magnitude >= 0x477ff000 ? 0x7c00 : half;
    half = magnitude > 0x7f800000 ? 0x7e00 : half;
    return (uint16_t)(sign | half);
}

#endif
