/* A kernel set from a vector layer. A file set_X.c includes a vector layer, then this, and defines its table with
 * KERNEL_SET(name). Before it includes this, the file defines macros for the set's own ways:
 *   SET_REFERENCE   weights of every type are widened to float32
 *   SET_BF16        bf16_fill, bf16_tile_product: bfloat16 products (bf16_template.h); otherwise by widening
 *   SET_EXPANDED    a single token takes quantised weights as several do (int8_template.h), not from packed bytes
 *   SET_AMX         products on tiles (amx_template.h): BF16 always, int8 for some tokens and more (amx_takes); and the
 *                   set that rounds to bfloat16 what is multiplied as int8 otherwise (amx_widen_template.h) */
#ifndef TANDEM_KERNEL_SET_TEMPLATE_H
#define TANDEM_KERNEL_SET_TEMPLATE_H

#include "engine/kernel/kernel.h"
#include "engine/kernel/layout.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#ifdef SET_PLAIN_LOOPS /* with tiles of one lane, unrolled loops would only cost minutes of compile time */
#define UNROLL
#elif defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* Makes the compiler store all values to memory, and load them again at the next use. */
#define IN_MEMORY __asm__ volatile("" ::: "memory")

static const float page_positions[KV_PAGE] __attribute__((aligned(64))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* The number added to packed 8-bit quants: vector products take unsigned bytes as weights, the matrix unit signed
 * ones. */
#ifdef SET_AMX
enum { QUANTS_RAISED = 0 };
#else
enum { QUANTS_RAISED = 128 };
#endif

#if defined SET_BF16 || defined SET_AMX
#define PANELS_OF_BF16
#endif
#include "engine/kernel/templates/stream_template.h"

/* acc[tokens][TILE_ROWS] = a tile of the matrix times tokens [t0, t0 + tokens) of the panel. */
typedef void tile_product_fn(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0, uint32_t tokens,
                             struct stream *stream, float *acc);

#include "engine/kernel/templates/expand_template.h"
#include "engine/kernel/templates/int8_template.h"
#include "engine/kernel/templates/int8_one_template.h"
#include "engine/kernel/templates/float_template.h"
#include "engine/kernel/templates/elementwise_template.h"
#include "engine/kernel/templates/picture_template.h"
#include "engine/kernel/templates/ending_template.h"
#include "engine/kernel/templates/delta_template.h"
#include "engine/kernel/templates/attend_template.h"
#include "engine/kernel/templates/page_template.h"
#ifdef PANELS_OF_BF16
#include "engine/kernel/templates/bf16_template.h"
#endif
#ifdef SET_AMX
#include "engine/kernel/templates/amx_template.h"
#include "engine/kernel/templates/amx_wide_template.h"
#include "engine/kernel/templates/amx_fold_template.h"
#include "engine/kernel/templates/amx_full_template.h"
#include "engine/kernel/templates/amx_widen_template.h"
#endif
#include "engine/kernel/templates/full_template.h"

static enum panel_kind set_panel_of(enum type type)
{
#ifdef SET_REFERENCE
    (void)type;
    return PANEL_F32;
#else
    return type == TYPE_BF16 ? PANEL_BF16 : layouts[type].bits ? PANEL_INT8 : PANEL_F32;
#endif
}

static size_t set_panel_bytes(enum panel_kind kind, uint32_t tokens, uint32_t cols)
{
    if (kind == PANEL_INT8) return ((size_t)cols + ACT_COLS - 1) / ACT_COLS * tokens * sizeof(struct act);
#ifdef PANELS_OF_BF16
    if (kind == PANEL_BF16) return bf16_panel_bytes(tokens, cols);
#endif
    return float_stride(cols) * sizeof(float) * tokens;
}

static void set_panel_fill(struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, uint32_t c0,
                           uint32_t c1)
{
    if (p->kind == PANEL_INT8) int8_fill(p, x, ldx, t0, t1, c0, c1);
#ifdef PANELS_OF_BF16
    else if (p->kind == PANEL_BF16) bf16_fill(p, x, ldx, t0, t1, c0, c1);
#endif
    else float_fill(p, x, ldx, t0, t1, c0, c1, p->kind == PANEL_BF16);
}

static void set_panel_copy(struct panel *to, uint32_t t, const struct panel *from, uint32_t t_from)
{
    if (to->kind == PANEL_INT8) int8_copy(to, t, from, t_from);
#ifdef PANELS_OF_BF16
    else if (to->kind == PANEL_BF16) bf16_copy(to, t, from, t_from);
#endif
    else float_copy(to, t, from, t_from);
}

static size_t set_packed_bytes(enum type type, uint32_t rows, uint32_t cols)
{
    return layout_bytes(type, rows, cols);
}

static void set_pack(struct matrix *m, const void *raw, uint32_t row0, uint32_t n)
{
    layout_pack(m->type, m->cols, m->data, raw, row0, n, QUANTS_RAISED);
}

static void set_unpack_row(const struct matrix *m, uint32_t row, float *out)
{
    layout_unpack_row(m->type, m->cols, m->data, row, QUANTS_RAISED, out);
}

/* Tokens whose sums of a tile stay in the cache during one walk over its columns. */
enum { STRIP_TOKENS = 128 };

#ifdef SET_EXPANDED
enum { ONE_EXPANDED = 1 };
#else
enum { ONE_EXPANDED = 0 };
#endif

/* The product for `tokens` tokens at a time. */
static tile_product_fn *tile_product(const struct matrix *m, const struct panel *p, uint32_t tokens)
{
    (void)tokens;
#ifdef SET_AMX
    if (amx_takes(p->kind, m->type, tokens))
        return m->type == TYPE_BF16         ? amx_bf16_product
               : p->kind == PANEL_BF16      ? amx_widened_product
               : amx_folds(m->type, tokens) ? amx_folded_product
                                            : amx_int8_product;
#endif
    if (p->kind == PANEL_INT8) return tokens == 1 && !ONE_EXPANDED ? int8_one_product : int8_tile_product;
#ifdef SET_REFERENCE
    if (layouts[m->type].bits) return float_quants_product;
#endif
#ifdef SET_BF16
    if (p->kind == PANEL_BF16) return bf16_tile_product;
#endif
    (void)m;
    return float_tile_product;
}

/* How many tokens from t on are multiplied together. The matrix unit takes the first 16, and so on, of a bfloat16
 * panel. */
static uint32_t strip_tokens(const struct panel *p, uint32_t t, uint32_t t1)
{
    uint32_t most = STRIP_TOKENS;
    (void)p;
#ifdef SET_AMX
    if (p->kind == PANEL_BF16 && t % AMX_TOKENS) most = AMX_TOKENS - t % AMX_TOKENS;
#endif
    return t1 - t < most ? t1 - t : most;
}

static void matmul_strips(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0,
                          uint32_t t1, float *out, size_t ldo, bool add)
{
    float acc[STRIP_TOKENS * TILE_ROWS] __attribute__((aligned(64)));
    for (uint32_t t = t0; t < t1; t += strip_tokens(p, t, t1)) {
        uint32_t tokens = strip_tokens(p, t, t1);
        tile_product_fn *product = tile_product(m, p, tokens);
#ifdef SET_AMX
        const bool tiles = amx_takes(p->kind, m->type, tokens);
        if (tiles) amx_configure(amx_rows(p->kind, tokens), amx_bytes(p->kind, m->type, tokens));
#endif
        size_t tile_bytes = layout_tile_bytes(m->type, m->cols);
        const uint8_t *packed = m->data;
        struct stream stream = {packed + r0 / TILE_ROWS * tile_bytes};
        for (uint32_t r = r0; r < r1; r += TILE_ROWS) {
            product(m, p, r / TILE_ROWS, t, tokens, &stream, acc);
            uint32_t n = r1 - r < TILE_ROWS ? r1 - r : TILE_ROWS;
            for (uint32_t i = 0; i < tokens; i++) {
                float *row = out + (t + i) * ldo + r;
                const float *sum = acc + i * TILE_ROWS;
                for (uint32_t j = 0; j < n; j += LANES) {
                    vf y = vf_load(sum + j);
                    vf_store_n(row + j, add ? vf_add(vf_load_n(row + j, n - j), y) : y, n - j);
                }
            }
        }
#ifdef SET_AMX
        if (tiles) tile_release();
#endif
    }
}

static void set_matmul(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0,
                       uint32_t t1, float *out, size_t ldo, bool add)
{
#ifdef SET_AMX
    if (m->bytes <= AMX_WIDE_BYTES && amx_is_wide(m, t0, t1)) {
        struct ending end = {.kind = add ? ENDING_ADD : ENDING_STORE, .out = out, .ldo = ldo};
        amx_wide(m, p, r0, r1, t0, t1, &end);
        return;
    }
#endif
    matmul_strips(m, p, r0, r1, t0, t1, out, ldo, add);
}

static void set_product(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0,
                        uint32_t t1, const struct ending *end)
{
#ifdef SET_AMX
    if (amx_is_wide(m, t0, t1) && (ending_stores(end->kind) || end->to->kind == PANEL_BF16)) {
        amx_wide(m, p, r0, r1, t0, t1, end);
        return;
    }
#endif
    end_strips(m, p, r0, r1, t0, t1, end);
}

/* ---- Ceilings -------------------------------------------------------------------------------------------------- */

enum { PEAK_CHAINS = 14 }; /* enough to hide the latency, few enough for 16 registers */

/* Tells the compiler that x may have changed: nothing is folded or hoisted. */
#if defined __x86_64__
#define CHANGED(x) __asm__ volatile("" : "+x"(x))
#elif defined __aarch64__
#define CHANGED(x) __asm__ volatile("" : "+w"(x))
#else
#define CHANGED(x) __asm__ volatile("" : "+m"(x))
#endif

static uint64_t set_peak(enum panel_kind kind, uint64_t rounds)
{
    static const int8_t seed[64] = {1, 2, 3, 4};
    volatile float sink;
    if (kind == PANEL_INT8) {
        vi sum[PEAK_CHAINS];
        vb w = vb_load((const uint8_t *)seed);
        vx x = vx_load(seed);
        UNROLL for (int i = 0; i < PEAK_CHAINS; i++) sum[i] = vi_set(i);
        for (uint64_t n = 0; n < rounds; n++) {
            UNROLL for (int i = 0; i < PEAK_CHAINS; i++) {
                sum[i] = vi_dot(sum[i], w, x);
                CHANGED(sum[i]); /* which also keeps it in its register */
            }
            CHANGED(w);
        }
        UNROLL for (int i = 1; i < PEAK_CHAINS; i++) sum[0] = vi_add(sum[0], sum[i]);
        sink = vf_sum(vf_from_int(sum[0]));
        (void)sink;
        return rounds * PEAK_CHAINS * LANES * 8;
    }
    vf sum[PEAK_CHAINS], w = vf_set(0.5f), x = vf_set(0.25f);
    CHANGED(w);
    CHANGED(x);
    UNROLL for (int i = 0; i < PEAK_CHAINS; i++) sum[i] = vf_set((float)i);
#ifdef SET_BF16
    if (kind == PANEL_BF16) {
        for (uint64_t n = 0; n < rounds; n++) {
            UNROLL for (int i = 0; i < PEAK_CHAINS; i++) {
                sum[i] = bf16_dot(sum[i], w, x);
                CHANGED(sum[i]);
            }
        }
        UNROLL for (int i = 1; i < PEAK_CHAINS; i++) sum[0] = vf_add(sum[0], sum[i]);
        sink = vf_sum(sum[0]);
        return rounds * PEAK_CHAINS * LANES * 4;
    }
#endif
    for (uint64_t n = 0; n < rounds; n++) {
        UNROLL for (int i = 0; i < PEAK_CHAINS; i++) {
            sum[i] = vf_fma(w, x, sum[i]);
            CHANGED(sum[i]);
        }
    }
    UNROLL for (int i = 1; i < PEAK_CHAINS; i++) sum[0] = vf_add(sum[0], sum[i]);
    sink = vf_sum(sum[0]);
    (void)sink;
    return rounds * PEAK_CHAINS * LANES * 2;
}

#ifdef SET_AMX
static uint64_t set_matrix_peak(enum panel_kind kind, uint64_t rounds)
{
    return amx_peak(kind, rounds);
}
#else
#define set_matrix_peak NULL
#endif

static float set_read(const void *memory, size_t bytes)
{
    const float *p = memory;
    size_t n = bytes / sizeof *p, i = 0;
    vf sum[4];
    UNROLL for (int v = 0; v < 4; v++) sum[v] = vf_set(0);
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        UNROLL for (int v = 0; v < 4; v++) sum[v] = vf_add(sum[v], vf_load(p + i + v * LANES));
    return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}

#define KERNEL_SET(identifier, set_name) KERNEL_SET_WITH(identifier, set_name, set_panel_of)
/* With another way to choose the panel of a type, and so the arithmetic of its products. */
#define KERNEL_SET_WITH(identifier, set_name, its_panel_of)                                                            \
    const struct kernels identifier = {                                                                                \
        .name = set_name,                                                                                              \
        .panel_of = its_panel_of,                                                                                      \
        .panel_bytes = set_panel_bytes,                                                                                \
        .packed_bytes = set_packed_bytes,                                                                              \
        .pack = set_pack,                                                                                              \
        .unpack_row = set_unpack_row,                                                                                  \
        .panel_fill = set_panel_fill,                                                                                  \
        .panel_copy = set_panel_copy,                                                                                  \
        .matmul = set_matmul,                                                                                          \
        .product = set_product,                                                                                        \
        .rms_norm = set_rms_norm,                                                                                      \
        .l2_norm = set_l2_norm,                                                                                        \
        .norm_gate = set_norm_gate,                                                                                    \
        .silu_mul = set_silu_mul,                                                                                      \
        .soft_cap = set_soft_cap,                                                                                      \
        .sigmoid_mul = set_sigmoid_mul,                                                                                \
        .dot = set_dot,                                                                                                \
        .mix = set_mix,                                                                                                \
        .rope = set_rope,                                                                                              \
        .delta_gates = set_delta_gates,                                                                                \
        .conv_silu = set_conv_silu,                                                                                    \
        .delta_slab = set_delta_slab,                                                                                  \
        .kv_block_bytes = set_kv_block_bytes,                                                                          \
        .kv_store = set_kv_store,                                                                                      \
        .kv_load = set_kv_load,                                                                                        \
        .kv_take = set_kv_take,                                                                                        \
        .kv_give = set_kv_give,                                                                                        \
        .kv_convert = set_kv_convert,                                                                                  \
        .attend = set_attend,                                                                                          \
        .attend_merge = set_attend_merge,                                                                              \
        .attend_finish = set_attend_finish,                                                                            \
        .layer_norm = set_layer_norm,                                                                                  \
        .add = set_add,                                                                                                \
        .scale = set_scale,                                                                                            \
        .gelu_tanh = set_gelu_tanh,                                                                                    \
        .gelu_erf = set_gelu_erf,                                                                                      \
        .attend_full = set_attend_full,                                                                                \
        .pack_keys = set_pack_keys,                                                                                    \
        .pack_values = set_pack_values,                                                                                \
        .peak = set_peak,                                                                                              \
        .matrix_peak = set_matrix_peak,                                                                                \
        .read = set_read,                                                                                              \
    }

#endif
