/* The vector layer on AVX-512 (F, BW, VL, DQ, VNNI, BF16): 16 lanes. See vector/scalar.h for what each name means. */
#ifndef TANDEM_KERNEL_VECTOR_AVX512_H
#define TANDEM_KERNEL_VECTOR_AVX512_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "engine/kernel/layout.h"
#include "engine/model/half.h"

enum { LANES = 16 };
/* Register tiles: vectors of rows times tokens. Of 32 registers, int8 takes a sum, a part and 2 weights a vector. */
#define DOT_PAIRS 0
#define DOT_WORDS 0
enum { INT8_VECTORS = 2, INT8_TOKENS = 6, PACKED_TOKENS = 16, DOT_UNSIGNED = 1, HIGH_NIBBLES = 1 };
enum { FLOAT_VECTORS = 2, FLOAT_TOKENS = 12 };
enum { DELTA_VECTORS = 2, ATTEND_ROWS = 4, VALUE_VECTORS = 2 };
/* An int32 product takes the time of two instructions, so floats are faster; but the matrix unit's folded sums are
 * integers, and all products of its set must agree. */
#ifdef SET_AMX
enum { WHOLE_SUMS = 1 };
#else
enum { WHOLE_SUMS = 0 };
#endif

typedef __m512 vf;
typedef __m512i vi;
typedef __m512i vb;
typedef __m512i vx;

static inline __mmask16 first_lanes(uint32_t n)
{
    return n >= 16 ? 0xffff : (__mmask16)((1u << n) - 1);
}

static inline vf vf_set(float x) { return _mm512_set1_ps(x); }
static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline vf vf_load_n(const float *p, uint32_t n)
{
    if (__builtin_constant_p(n) && n >= 16) return _mm512_loadu_ps(p);
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
static inline void vf_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
static inline void vf_store_n(float *p, vf x, uint32_t n)
{
    if (__builtin_constant_p(n) && n >= 16) _mm512_storeu_ps(p, x);
    else _mm512_mask_storeu_ps(p, first_lanes(n), x);
}
static inline vf vf_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
#ifdef __AVX512BF16__
/* Rounded to bfloat16: to nearest even, subnormals to zero. */
static inline __m256i vf_bf16(vf x) { return (__m256i)_mm512_cvtneps_pbh(x); }
#endif
static inline vf vf_load_bf16_pair(const uint16_t *p, uint32_t odd)
{
    __m512i both = _mm512_loadu_si512(p);
    return _mm512_castsi512_ps(odd ? _mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000))
                                   : _mm512_slli_epi32(both, 16));
}
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
static inline vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf vf_abs(vf a) { return _mm512_abs_ps(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf vf_below(vf a, vf b, vf x, vf y)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
static inline float vf_sum(vf x) { return _mm512_reduce_add_ps(x); }
static inline float vf_largest(vf x) { return _mm512_reduce_max_ps(x); }
static inline vf vf_from_int(vi x) { return _mm512_cvtepi32_ps(x); }
static inline vf vf_of_bits(vi x) { return _mm512_castsi512_ps(x); }
static inline vi vf_bits(vf x) { return _mm512_castps_si512(x); }
/* 14 bits and one step of Newton's: a division occupies its port ten times as long. */
static inline vf vf_reciprocal(vf x)
{
    __m512 y = _mm512_rcp14_ps(x);
    return _mm512_mul_ps(y, _mm512_fnmadd_ps(x, y, _mm512_set1_ps(2)));
}
static inline void vf_store_int8(int8_t *p, vf x)
{
    _mm_storeu_si128((__m128i *)p, _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x)));
}

static inline vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
static inline vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
static inline void vi_store(int32_t *p, vi x) { _mm512_storeu_si512(p, x); }
static inline vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
static inline vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
static inline vi vi_shift_left(vi a, int n) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vi vi_shift_right(vi a, int n) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vi vi_load_int8(const int8_t *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
static inline vi vi_load_uint8(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }

static inline vb vb_load(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline void vb_store(uint8_t *p, vb x) { _mm512_storeu_si512(p, x); }
static inline vb vb_or(vb a, vb b) { return _mm512_or_si512(a, b); }
static inline vb vb_field(vb a, uint32_t from, uint32_t to, uint8_t mask)
{
    vb x = from > to ? _mm512_srli_epi16(a, from - to) : from < to ? _mm512_slli_epi16(a, to - from) : a;
    return _mm512_and_si512(x, _mm512_set1_epi8((char)(mask << to)));
}
static inline vx vx_load(const int8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm512_set1_epi32(four);
}
static inline vx vx_load_bytes(const int8_t *p) { return _mm512_loadu_si512(p); }
static inline vi vi_dot(vi acc, vb w, vx x) { return _mm512_dpbusd_epi32(acc, w, x); }
static inline vi vi_dot_small(vi acc, vb w, vx x) { return _mm512_dpbusd_epi32(acc, w, x); }

typedef __m512i vt;
static inline vt vt_load(const uint8_t *table)
{
    return _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)table));
}
static inline vb vb_look_up(vt t, vb q) { return _mm512_shuffle_epi8(t, q); }

#endif
