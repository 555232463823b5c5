/* The vector layer on AVX2 with FMA and F16C: 8 lanes. See vector/scalar.h for what each name means. Where the file is
 * built for AVX-VNNI, the dot product is its instruction. */
#ifndef TANDEM_KERNEL_VECTOR_AVX2_H
#define TANDEM_KERNEL_VECTOR_AVX2_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "engine/kernel/layout.h"
#include "engine/model/half.h"

#define DOT_PAIRS 0
enum { LANES = 8 };
/* Register tiles, of 16 registers. */
#ifdef __AVXVNNI__
enum { INT8_VECTORS = 2, INT8_TOKENS = 3, PACKED_TOKENS = 8, DOT_UNSIGNED = 1, HIGH_NIBBLES = 1 };
#else
enum { INT8_VECTORS = 2, INT8_TOKENS = 2, PACKED_TOKENS = 8, DOT_UNSIGNED = 0, HIGH_NIBBLES = 0 };
#endif
enum { FLOAT_VECTORS = 2, FLOAT_TOKENS = 6, DELTA_VECTORS = 2, ATTEND_ROWS = 2, VALUE_VECTORS = 2 };
enum { WHOLE_SUMS = 0 };

typedef __m256 vf;
typedef __m256i vi;
typedef __m256i vb;
typedef __m256i vx;

static inline __m256i first_lanes(uint32_t n)
{
    static const int32_t edge[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(edge + 8 - (n < 8 ? n : 8)));
}

static inline vf vf_set(float x) { return _mm256_set1_ps(x); }
static inline vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline vf vf_load_n(const float *p, uint32_t n)
{
    return n >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, first_lanes(n));
}
static inline void vf_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
static inline void vf_store_n(float *p, vf x, uint32_t n)
{
    if (n >= 8) _mm256_storeu_ps(p, x);
    else _mm256_maskstore_ps(p, first_lanes(n), x);
}
static inline vf vf_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
static inline vf vf_load_bf16_pair(const uint16_t *p, uint32_t odd)
{
    __m256i both = _mm256_loadu_si256((const __m256i *)p);
    return _mm256_castsi256_ps(odd ? _mm256_and_si256(both, _mm256_set1_epi32((int)0xffff0000))
                                   : _mm256_slli_epi32(both, 16));
}
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
static inline vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
static inline vf vf_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf vf_below(vf a, vf b, vf x, vf y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
static inline float vf_sum(vf x)
{
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}
static inline float vf_largest(vf x)
{
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}
static inline vf vf_from_int(vi x) { return _mm256_cvtepi32_ps(x); }
static inline vf vf_of_bits(vi x) { return _mm256_castsi256_ps(x); }
static inline vi vf_bits(vf x) { return _mm256_castps_si256(x); }
static inline vf vf_reciprocal(vf x) { return _mm256_div_ps(_mm256_set1_ps(1), x); }
static inline void vf_store_int8(int8_t *p, vf x)
{
    __m256i wide = _mm256_cvtps_epi32(x);
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(words, words));
}

static inline vi vi_set(int32_t x) { return _mm256_set1_epi32(x); }
static inline vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void vi_store(int32_t *p, vi x) { _mm256_storeu_si256((__m256i *)p, x); }
static inline vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
static inline vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
static inline vi vi_shift_left(vi a, int n) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vi vi_shift_right(vi a, int n) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(n)); }
static inline vi vi_load_int8(const int8_t *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
static inline vi vi_load_uint8(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }

static inline vb vb_load(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void vb_store(uint8_t *p, vb x) { _mm256_storeu_si256((__m256i *)p, x); }
static inline vb vb_or(vb a, vb b) { return _mm256_or_si256(a, b); }
static inline vb vb_field(vb a, uint32_t from, uint32_t to, uint8_t mask)
{
    vb x = from > to   ? _mm256_srli_epi16(a, (int)(from - to))
           : from < to ? _mm256_slli_epi16(a, (int)(to - from))
                       : a;
    return _mm256_and_si256(x, _mm256_set1_epi8((char)(mask << to)));
}
static inline vx vx_load(const int8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm256_set1_epi32(four);
}
static inline vx vx_load_bytes(const int8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
#ifdef __AVXVNNI__
#define DOT_WORDS 0
static inline vi vi_dot(vi acc, vb w, vx x) { return _mm256_dpbusd_avx_epi32(acc, w, x); }
static inline vi vi_dot_small(vi acc, vb w, vx x) { return _mm256_dpbusd_avx_epi32(acc, w, x); }
#else
/* vpmaddubsw adds two products in 16 bits; with small quants there is room for more. */
#define DOT_WORDS 1
typedef __m256i vw;
static inline vw vw_dot(vb w, vx x) { return _mm256_maddubs_epi16(w, x); }
static inline vw vw_add(vw a, vw b) { return _mm256_add_epi16(a, b); }
static inline vi vi_add_words(vi acc, vw words)
{
    return _mm256_add_epi32(acc, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
}
static inline vi vi_dot_small(vi acc, vb w, vx x) { return vi_add_words(acc, vw_dot(w, x)); }
/* Two products of unsigned weights of 8 bits would not fit in 16: so the weight is made signed and gives its sign to
 * the activation: 2 * 128 * 127 fits. */
static inline vi vi_dot(vi acc, vb w, vx x)
{
    __m256i weight = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
    return vi_dot_small(acc, _mm256_abs_epi8(weight), _mm256_sign_epi8(x, weight));
}
#endif

typedef __m256i vt;
static inline vt vt_load(const uint8_t *table)
{
    return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)table));
}
static inline vb vb_look_up(vt t, vb q) { return _mm256_shuffle_epi8(t, q); }

#endif
