/* The vector layer on 64-bit ARM: 4 lanes. See vector/scalar.h for what each name means. If the file is built for the
 * dot product extension, one instruction computes four products a lane; if for the matrix extension (i8mm), one
 * instruction multiplies 8 columns of two rows by those of two tokens. */
#ifndef TANDEM_KERNEL_VECTOR_NEON_H
#define TANDEM_KERNEL_VECTOR_NEON_H

#include <arm_neon.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "engine/kernel/layout.h"
#include "engine/model/half.h"

enum { LANES = 4 };
#define DOT_WORDS 0
/* Register tiles, of 32 registers. The products take signed weights. */
#ifdef __ARM_FEATURE_MATMUL_INT8
#define DOT_PAIRS 1
enum { INT8_VECTORS = 2, INT8_TOKENS = 6, PACKED_TOKENS = 1 };
#else
#define DOT_PAIRS 0
enum { INT8_VECTORS = 4, INT8_TOKENS = 3, PACKED_TOKENS = 1 };
#endif
enum { DOT_UNSIGNED = 0, HIGH_NIBBLES = 0, FLOAT_VECTORS = 4, FLOAT_TOKENS = 6 };
enum { DELTA_VECTORS = 4, ATTEND_ROWS = 2, VALUE_VECTORS = 4 };
enum { WHOLE_SUMS = 2 };

typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint8x16_t vb;
typedef int8x16_t vx;

static inline vf vf_set(float x) { return vdupq_n_f32(x); }
static inline vf vf_load(const float *p) { return vld1q_f32(p); }
static inline vf vf_load_n(const float *p, uint32_t n)
{
    if (n >= 4) return vld1q_f32(p);
    float part[4] = {0};
    memcpy(part, p, n * sizeof *p);
    return vld1q_f32(part);
}
static inline void vf_store(float *p, vf x) { vst1q_f32(p, x); }
static inline void vf_store_n(float *p, vf x, uint32_t n)
{
    float part[4];
    if (n >= 4) {
        vst1q_f32(p, x);
        return;
    }
    vst1q_f32(part, x);
    memcpy(p, part, n * sizeof *p);
}
static inline vf vf_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
static inline vf vf_load_bf16_pair(const uint16_t *p, uint32_t odd)
{
    uint32x4_t both = vreinterpretq_u32_u16(vld1q_u16(p));
    return vreinterpretq_f32_u32(odd ? vandq_u32(both, vdupq_n_u32(0xffff0000)) : vshlq_n_u32(both, 16));
}
static inline vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
static inline vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
static inline vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
static inline vf vf_min(vf a, vf b) { return vminq_f32(a, b); }
static inline vf vf_max(vf a, vf b) { return vmaxq_f32(a, b); }
static inline vf vf_abs(vf a) { return vabsq_f32(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
static inline vf vf_below(vf a, vf b, vf x, vf y) { return vbslq_f32(vcltq_f32(a, b), x, y); }
static inline float vf_sum(vf x) { return vaddvq_f32(x); }
static inline float vf_largest(vf x) { return vmaxvq_f32(x); }
static inline vf vf_from_int(vi x) { return vcvtq_f32_s32(x); }
static inline vf vf_of_bits(vi x) { return vreinterpretq_f32_s32(x); }
static inline vi vf_bits(vf x) { return vreinterpretq_s32_f32(x); }
static inline vf vf_reciprocal(vf x) { return vdivq_f32(vdupq_n_f32(1), x); }
static inline void vf_store_int8(int8_t *p, vf x)
{
    int16x4_t words = vqmovn_s32(vcvtnq_s32_f32(x));
    int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
    int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
    memcpy(p, &four, sizeof four);
}

static inline vi vi_set(int32_t x) { return vdupq_n_s32(x); }
static inline vi vi_load(const int32_t *p) { return vld1q_s32(p); }
static inline void vi_store(int32_t *p, vi x) { vst1q_s32(p, x); }
static inline vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
static inline vi vi_mul(vi a, vi b) { return vmulq_s32(a, b); }
static inline vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
static inline vi vi_shift_left(vi a, int n) { return vshlq_s32(a, vdupq_n_s32(n)); }
static inline vi vi_shift_right(vi a, int n) { return vshlq_s32(a, vdupq_n_s32(-n)); }
static inline vi vi_load_int8(const int8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)))));
}
static inline vi vi_load_uint8(const uint8_t *p)
{
    uint32_t four;
    memcpy(&four, p, sizeof four);
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four))))));
}

static inline vb vb_load(const uint8_t *p) { return vld1q_u8(p); }
static inline void vb_store(uint8_t *p, vb x) { vst1q_u8(p, x); }
static inline vb vb_or(vb a, vb b) { return vorrq_u8(a, b); }
static inline vb vb_field(vb a, uint32_t from, uint32_t to, uint8_t mask)
{
    vb x = from == to ? a : vshlq_u8(a, vdupq_n_s8((int8_t)((int)to - (int)from)));
    return vandq_u8(x, vdupq_n_u8((uint8_t)(mask << to)));
}
static inline vx vx_load(const int8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
static inline vx vx_load_bytes(const int8_t *p) { return vld1q_s8(p); }
/* Quants of up to 7 bits are non-negative int8 too. */
static inline vi vi_dot_small(vi acc, vb w, vx x)
{
    int8x16_t weight = vreinterpretq_s8_u8(w);
#ifdef __ARM_FEATURE_DOTPROD
    return vdotq_s32(acc, weight, x);
#else
    int16x8_t low = vmull_s8(vget_low_s8(weight), vget_low_s8(x)), high = vmull_high_s8(weight, x);
    return vaddq_s32(acc, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
}
static inline vi vi_dot(vi acc, vb w, vx x) { return vi_dot_small(acc, veorq_u8(w, vdupq_n_u8(128)), x); }

#if DOT_PAIRS
static inline vb vb_signed(uint32x4_t w) { return veorq_u8(vreinterpretq_u8_u32(w), vdupq_n_u8(128)); }
static inline vb vb_rows_low(vb a, vb b)
{
    return vb_signed(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
static inline vb vb_rows_high(vb a, vb b)
{
    return vb_signed(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}
static inline vx vx_load_pair(const int8_t *a, const int8_t *b) { return vcombine_s8(vld1_s8(a), vld1_s8(b)); }
static inline vi vi_dot_pair(vi acc, vb w, vx x) { return vmmlaq_s32(acc, vreinterpretq_s8_u8(w), x); }
static inline vi vi_first(vi low, vi high) { return vuzp1q_s32(low, high); }
static inline vi vi_second(vi low, vi high) { return vuzp2q_s32(low, high); }
#endif

typedef uint8x16_t vt;
static inline vt vt_load(const uint8_t *table) { return vld1q_u8(table); }
static inline vb vb_look_up(vt t, vb q) { return vqtbl1q_u8(t, q); }

#endif
