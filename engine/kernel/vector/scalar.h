/* The vector layer with one lane, in plain C. The templates of kernel sets are written in terms of this layer
 * (README.md, 'Vectors'). Every other vector_*.h defines the same names for its instruction set. vf: floats, vi: int32,
 * vb: 4 bytes a lane, vx: the activations of a dot product. */
#ifndef TANDEM_KERNEL_VECTOR_SCALAR_H
#define TANDEM_KERNEL_VECTOR_SCALAR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "engine/kernel/layout.h"
#include "engine/model/half.h"

#define SET_PLAIN_LOOPS
enum { LANES = 1 };
/* Register tiles: vectors of rows times tokens; how many tokens take weights packed (int8_stays_packed). */
enum { INT8_VECTORS = 16, INT8_TOKENS = 1, PACKED_TOKENS = 1, FLOAT_VECTORS = 16, FLOAT_TOKENS = 1 };
enum { DELTA_VECTORS = 8, ATTEND_ROWS = 1, VALUE_VECTORS = 16 };
/* Whether integer scales are multiplied as integers, not as floats (int8_template.h): 0 never, 1 if floats might not
 * hold the sums (sums_are_whole), 2 always. */
enum { WHOLE_SUMS = 2 };

typedef float vf;
typedef int32_t vi;
typedef uint32_t vb;
typedef uint32_t vx;

static inline vf vf_set(float x) { return x; }
static inline vf vf_load(const float *p) { return *p; }
static inline vf vf_load_n(const float *p, uint32_t n) { return n ? *p : 0; }
static inline void vf_store(float *p, vf x) { *p = x; }
static inline void vf_store_n(float *p, vf x, uint32_t n) { if (n) *p = x; }
static inline vf vf_load_f16(const uint16_t *p) { return f16_widen(*p); }
/* element `odd` of each of LANES pairs */
static inline vf vf_load_bf16_pair(const uint16_t *p, uint32_t odd) { return bf16_widen(p[odd]); }
static inline vf vf_add(vf a, vf b) { return a + b; }
static inline vf vf_sub(vf a, vf b) { return a - b; }
static inline vf vf_mul(vf a, vf b) { return a * b; }
static inline vf vf_min(vf a, vf b) { return a < b ? a : b; }
static inline vf vf_max(vf a, vf b) { return a > b ? a : b; }
static inline vf vf_abs(vf a) { return fabsf(a); }
/* Two roundings: a single one is slow without the instruction. */
static inline vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
static inline vf vf_below(vf a, vf b, vf x, vf y) { return a < b ? x : y; } /* a < b ? x : y */
static inline float vf_sum(vf x) { return x; }
static inline float vf_largest(vf x) { return x; }
static inline vf vf_from_int(vi x) { return (float)x; }
static inline vf vf_of_bits(vi x) { return float_of_bits((uint32_t)x); }
static inline vi vf_bits(vf x) { return (int32_t)bits_of_float(x); }
static inline vf vf_reciprocal(vf x) { return 1 / x; } /* to 2^-22 at least; x from 1 to the largest */
static inline void vf_store_int8(int8_t *p, vf x) { *p = (int8_t)__builtin_lrintf(x); } /* |x| <= 127 */

static inline vi vi_set(int32_t x) { return x; }
static inline vi vi_load(const int32_t *p) { return *p; }
static inline void vi_store(int32_t *p, vi x) { *p = x; }
static inline vi vi_add(vi a, vi b) { return a + b; }
static inline vi vi_mul(vi a, vi b) { return a * b; }
static inline vi vi_and(vi a, vi b) { return a & b; }
static inline vi vi_shift_left(vi a, int n) { return (int32_t)((uint32_t)a << n); }
static inline vi vi_shift_right(vi a, int n) { return a >> n; } /* the sign stays */
static inline vi vi_load_int8(const int8_t *p) { return *p; }
static inline vi vi_load_uint8(const uint8_t *p) { return *p; }

static inline vb vb_load(const uint8_t *p)
{
    vb x;
    memcpy(&x, p, sizeof x);
    return x;
}
static inline void vb_store(uint8_t *p, vb x) { memcpy(p, &x, sizeof x); }
static inline vb vb_or(vb a, vb b) { return a | b; }
/* of each byte: the field of `mask` at bit `from`, at bit `to` */
static inline vb vb_field(vb a, uint32_t from, uint32_t to, uint8_t mask)
{
    return (from > to ? a >> (from - to) : a << (to - from)) & (vb)(mask << to) * 0x01010101u;
}
static inline vx vx_load(const int8_t *p)
{
    vx x;
    memcpy(&x, p, sizeof x);
    return x;
}
static inline vx vx_load_bytes(const int8_t *p) { return vx_load(p); } /* 4 * LANES of them, not the same four */
/* acc + the sum of four products of w and x. vi_dot_small takes w < 128. vi_dot takes w as unsigned or, if DOT_UNSIGNED
 * is 0, as w - 128. High nibbles are multiplied where they are in their bytes if it takes w unsigned and HIGH_NIBBLES
 * is 1, since that is faster than shifting each. */
enum { DOT_UNSIGNED = 1, HIGH_NIBBLES = 1 };
static inline vi vi_dot(vi acc, vb w, vx x)
{
    for (int i = 0; i < 32; i += 8) acc += (int32_t)(w >> i & 255) * (int8_t)(x >> i & 255);
    return acc;
}

static inline vi vi_dot_small(vi acc, vb w, vx x) { return vi_dot(acc, w, x); }
/* If an instruction multiplies two rows by two tokens (DOT_PAIRS 1, four lanes): vb_rows_low, vb_rows_high make, of the
 * steps for columns c..c+3 and c+4..c+7, the signed weights of 8 columns of rows 0 and 1, 2 and 3; vx_load_pair takes
 * as many of two tokens; vi_dot_pair adds the products to its lanes, (row 0, first token), (row 0, second), (row 1,
 * first)...; vi_first and vi_second gather a token's lanes of the low and the high rows. */
#define DOT_PAIRS 0
/* If products of bytes are first added in 16 bits (DOT_WORDS 1): vw, sums of pairs; vw_dot, vw_add; vi_add_words adds
 * their pairs to sums of four. */
#define DOT_WORDS 0

/* vt: a table of 16 bytes (table: 16-byte aligned); of each byte q < 16: table[q] */
typedef const uint8_t *vt;
static inline vt vt_load(const uint8_t *table) { return table; }
static inline vb vb_look_up(vt t, vb q)
{
    return t[q & 15] | (vb)t[q >> 8 & 15] << 8 | (vb)t[q >> 16 & 15] << 16 | (vb)t[q >> 24 & 15] << 24;
}

#endif
