/* Kernel sets: the arithmetic of the forward pass, one table of functions per instruction set.
 *
 * Exactness (of every set; tests/engine/kernel): an output element is a function of its inputs alone, accumulated in
 * one fixed order. It does not depend on the number of tokens in the panel, on the rows or tokens of one call, on the
 * thread, or on the alignment of pointers. `reference` widens weights to float32 and computes in float32. Every other
 * set uses the arithmetic of the weight type (int8 products per block, bfloat16 products) and equals `scalar`: integers
 * exactly, float sums to 1e-5 of the sum of absolute products.
 *
 * Threads: a table is constant. Functions access only their arguments; concurrent calls need disjoint outputs. Nothing
 * here allocates except matrix_new, which is called while loading.
 */
#ifndef TANDEM_KERNEL_KERNEL_H
#define TANDEM_KERNEL_KERNEL_H

#include "engine/model/type.h"
#include "engine/tandem/error.h"

/* ---- Weights --------------------------------------------------------------------------------------------------
 * matrix: weights [rows][cols] in the set's packed layout (engine/kernel/README.md). Immutable once packed. */
struct kernels;

struct matrix {
    const struct kernels *kernels;
    enum type type;       /* as stored in the file, or as quantised while loading (source.h, options.quant) */
    uint32_t rows, cols;
    void *data;           /* packed; 64-byte aligned */
    size_t bytes;         /* of data: read by one product with the matrix */
};

/* Rows that are packed together: matrix_pack begins at multiples of it. */
enum { MATRIX_TILE = 64 };

/* A matrix without memory: `bytes` of it, 64-byte aligned, are for the caller to put there. TDM_E_FORMAT: there is no
 * such matrix. */
tdm_status matrix_shape(struct matrix *m, const struct kernels *k, enum type type, uint32_t rows, uint32_t cols,
                        tdm_error *err);
/* The same with memory of its own. */
tdm_status matrix_new(struct matrix *m, const struct kernels *k, enum type type, uint32_t rows, uint32_t cols,
                      tdm_error *err);
void matrix_free(struct matrix *m);
/* Packs rows [row0, row0+n) from the file's row format (type_row_bytes apart). row0 is a multiple of MATRIX_TILE, n too
 * except at the end of the matrix. Several threads may pack disjoint rows. */
void matrix_pack(struct matrix *m, const void *raw, uint32_t row0, uint32_t n);

/* ---- Activations ----------------------------------------------------------------------------------------------
 * panel: the activations [tokens][cols] of one dispatch in the form that the micro-kernels of a weight type take,
 * filled once and read by all workers. The caller owns the memory. */
enum panel_kind { PANEL_F32, PANEL_BF16, PANEL_INT8, PANEL_KINDS };

/* Columns of a panel, of any kind, that are filled together. */
enum { PANEL_STEP = 128 };

struct panel {
    enum panel_kind kind;
    uint32_t tokens, cols;
    void *data; /* panel_bytes(kind, tokens, cols), 64-byte aligned */
};

/* ---- Keys and values ------------------------------------------------------------------------------------------
 * A page holds KV_PAGE positions. For each full-attention layer and KV head it has a block of keys and a block of
 * values, whose layout is private to the sets, and the same in all of them (kv_block_bytes, kv_store, kv_load). In the
 * plain form, for copies to and from devices, a block is [KV_PAGE][head_dim] of its type; q8_0: int8, then the scales
 * of each 32 elements, float32 [KV_PAGE][ceil(head_dim / 32)], which have the precision of float16. */
enum { KV_PAGE = 32 };
enum kv_type { KV_F32, KV_F16, KV_Q8_0 };

/* Bytes of the plain form of a block. */
static inline size_t kv_plain_bytes(enum kv_type type, uint32_t head_dim)
{
    size_t row = type == KV_F32   ? 4 * (size_t)head_dim
                 : type == KV_F16 ? 2 * (size_t)head_dim
                                  : head_dim + 4 * (size_t)((head_dim + 31) / 32);
    return KV_PAGE * row;
}

/* The DeltaNet state of one head, S[key dim][value dim], is stored as slabs of DELTA_SLAB value columns:
 * slab s is a contiguous [key dim][width] array, width = min(DELTA_SLAB, value dim). */
enum { DELTA_SLAB = 32 };

/* What a product does with its sums, after adding the bias of each row: it stores them, adds them to the output, or
 * writes their GELU to the panel of the next product, whose columns are the rows of this one. */
enum ending_kind { ENDING_STORE, ENDING_ADD, ENDING_GELU_TANH, ENDING_GELU_ERF };

struct ending {
    enum ending_kind kind;
    const float *bias; /* [rows]; NULL: none */
    float *out;        /* of STORE and ADD: token 0, row 0, tokens ldo floats apart */
    size_t ldo;
    struct panel *to; /* of GELU_TANH and GELU_ERF */
};

struct attend {             /* one block (page) of keys and values against some query rows */
    enum kv_type type;
    uint32_t head_dim;
    uint32_t rows;          /* query rows: heads of the group times tokens */
    const float *q;         /* [rows][head_dim], already scaled by 1/sqrt(head_dim) */
    const uint8_t *visible; /* [rows] how many positions of this block the row sees, from the first: 0..KV_PAGE */
    const void *keys, *values;
    float *max, *sum;       /* [rows] out: largest score, sum of exp(score - max); visible 0: -inf and 0 */
    float *acc;             /* [rows][head_dim] out: sum of exp(score - max) * value */
    const uint8_t *passed;  /* [rows] of the visible positions, how many of the first ones lie before the row's window,
                               fewer than visible; NULL: none */
    float cap;              /* scores become cap tanh(score / cap); 0: no cap */
};

/* Full attention of one head: every query sees all keys. */
enum { FULL_KEYS = 256, FULL_HEAD = 256 }; /* keys in a block of values; largest head_dim */

struct full_attention {
    const struct matrix *keys;   /* [keys][head_dim] */
    const struct matrix *values; /* one for each block: [head_dim][its keys: FULL_KEYS, fewer in the last block] */
    float scale;                 /* factor of scores, before a softmax to the base 2 */
};

struct kernels {
    const char *name; /* reference, scalar, avx2, avx512, amx, neon */

    /* Weights and activations. */
    enum panel_kind (*panel_of)(enum type type);
    size_t (*panel_bytes)(enum panel_kind kind, uint32_t tokens, uint32_t cols);
    size_t (*packed_bytes)(enum type type, uint32_t rows, uint32_t cols);
    void (*pack)(struct matrix *m, const void *raw, uint32_t row0, uint32_t n);
    /* The weights of one row, widened (embedding look-up). */
    void (*unpack_row)(const struct matrix *m, uint32_t row, float *out);
    /* Fills columns [c0, c1) of tokens [t0, t1) of the panel from x, tokens ldx floats apart (x points at token 0,
     * column c0). c0 is a multiple of PANEL_STEP, c1 too or the end: threads may fill different columns. */
    void (*panel_fill)(struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, uint32_t c0, uint32_t c1);
    /* Copies token t_from of `from` to token t of `to`, panels of the same kind and number of columns. Threads may copy
     * different tokens. */
    void (*panel_copy)(struct panel *to, uint32_t t, const struct panel *from, uint32_t t_from);
    /* out[t][r] (=, or += with add) sum over c of W[r][c] x[t][c], for r in [r0, r1), t in [t0, t1); out points at
     * token 0, row 0, tokens ldo floats apart. r0 is a multiple of MATRIX_TILE, r1 too or the end. */
    void (*matmul)(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0, uint32_t t1,
                   float *out, size_t ldo, bool add);

    /* The same with an ending, for many tokens. r0 is a multiple of PANEL_STEP, r1 too or the end. */
    void (*product)(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0, uint32_t t1,
                    const struct ending *end);

    /* Elementwise; exp has one implementation, tails included. n is any length. A multiplier of NULL counts as 1. */
    void (*rms_norm)(float *out, const float *x, const float *multiplier, uint32_t n, float eps);
    /* In place on rows of n elements, one per token, ld or ldz floats apart:
     * x / sqrt(sum x^2 + eps) * scale; rms_norm(x) * multiplier * silu(z). */
    void (*l2_norm)(float *x, size_t ld, uint32_t n, float eps, float scale, uint32_t tokens);
    void (*norm_gate)(float *x, size_t ld, const float *multiplier, const float *z, size_t ldz, uint32_t n, float eps,
                      uint32_t tokens);
    void (*silu_mul)(float *out, const float *gate, const float *up, uint32_t n);        /* silu(gate) * up */
    void (*soft_cap)(float *x, float cap, uint32_t n);                                   /* x = cap tanh(x / cap) */
    void (*sigmoid_mul)(float *out, const float *x, const float *gate, uint32_t n);      /* x * sigmoid(gate) */
    float (*dot)(const float *a, const float *b, uint32_t n);
    /* x += sum over i of weights[i] * rows[i]; the sum is computed first, in ascending order. */
    void (*mix)(float *x, const float *const *rows, const float *weights, uint32_t n_rows, uint32_t n);
    /* Half rotation of the first `dims` elements: pairs (i, i + dims/2) with cos[i], sin[i]. In place. */
    void (*rope)(float *x, const float *cosine, const float *sine, uint32_t dims);
    /* The gates of one head: decay[t] = exp(rate * softplus(a[t] + dt_bias)), rate = -exp(A_log);
     * beta[t] = sigmoid(b[t]); a and b: ld floats from token to token. */
    void (*delta_gates)(float *decay, float *beta, const float *a, const float *b, size_t ld, float rate, float dt_bias,
                        uint32_t tokens);

    /* Causal depthwise convolution and silu, channels [c0, c1): out[t][c - c0] = silu(sum_j w[j][c] in[t-taps+1+j][c])
     * with w[taps][channels] (transposed from the file's [channels][taps]); inputs before token 0 come from
     * state[taps-1][channels], which holds the last ones afterwards. out must not overlap in. */
    void (*conv_silu)(float *out, size_t ldo, const float *in, size_t ldi, const float *w, float *state,
                      uint32_t channels, uint32_t taps, uint32_t c0, uint32_t c1, uint32_t tokens);
    /* The gated delta rule on one slab, token by token: with S [key_dim][width], for each token
     *   S *= decay; d = beta * (v - S^T k); S += k d^T; out = S^T q        (Gated DeltaNet, arXiv:2412.06464, eq. 10)
     * q, k: [tokens][key_dim] ldq floats apart; v, out: [tokens][width] ldv / ldo apart; decay, beta: ldg apart. */
    void (*delta_slab)(float *s, uint32_t key_dim, uint32_t width, const float *q, const float *k, size_t ldq,
                       const float *v, size_t ldv, const float *decay, const float *beta, size_t ldg, float *out,
                       size_t ldo, uint32_t tokens);

    /* Keys and values. */
    /* Bytes of the keys of KV_PAGE positions of one head; their values take as many. */
    size_t (*kv_block_bytes)(enum kv_type type, uint32_t head_dim);
    void (*kv_store)(enum kv_type type, uint32_t head_dim, void *keys, void *values, uint32_t position,
                     const float *k, const float *v); /* position in the block */
    void (*kv_load)(enum kv_type type, uint32_t head_dim, const void *keys, const void *values, uint32_t position,
                    float *k, float *v);
    /* A page's blocks of one head: kv_take and kv_give convert to and from the plain form, which changes no bit;
     * kv_convert converts to another type, with the bits of kv_load and kv_store position by position. */
    void (*kv_take)(enum kv_type type, uint32_t head_dim, const void *keys, const void *values, void *plain_keys,
                    void *plain_values);
    void (*kv_give)(enum kv_type type, uint32_t head_dim, void *keys, void *values, const void *plain_keys,
                    const void *plain_values);
    void (*kv_convert)(uint32_t head_dim, enum kv_type from, const void *keys, const void *values, enum kv_type to,
                       void *to_keys, void *to_values);
    void (*attend)(const struct attend *a);
    /* Merges block b into the earlier block a: rows of (max, sum, acc) as attend computes them. */
    void (*attend_merge)(float *max_a, float *sum_a, float *acc_a, const float *max_b, const float *sum_b,
                         const float *acc_b, uint32_t rows, uint32_t head_dim);
    /* out = acc / sum, for one row. */
    void (*attend_finish)(float *out, const float *acc, float sum, uint32_t head_dim);

    /* For vision towers and some language models. layer_norm: (x - mean) / sqrt(variance + eps) * multiplier + bias. x
     * += y; x *= by; x = GELU(x + bias), by tanh or by erf. */
    void (*layer_norm)(float *out, const float *x, const float *multiplier, const float *bias, uint32_t n, float eps);
    void (*add)(float *x, const float *y, uint32_t n);
    void (*scale)(float *x, float by, uint32_t n);
    void (*gelu_tanh)(float *x, const float *bias, uint32_t n);
    void (*gelu_erf)(float *x, const float *bias, uint32_t n);
    /* out[query][head_dim], ldo floats apart, for all queries of a panel, which has the columns of the keys. */
    void (*attend_full)(const struct full_attention *a, const struct panel *queries, float *out, size_t ldo);
    /* Pack keys and values for attend_full into BF16 matrices, from rows of floats ldx apart. pack_keys: rows [row0,
     * row0+n), x points at row0; row0 is a multiple of MATRIX_TILE, n too except at the end. pack_values: a block.
     * Other types are packed as weights are. */
    void (*pack_keys)(struct matrix *m, const float *x, size_t ldx, uint32_t row0, uint32_t n);
    void (*pack_values)(struct matrix *m, const float *x, size_t ldx);

    /* For ceiling.h. peak: `rounds` rounds of multiply-adds on registers in the arithmetic of a panel kind; returns the
     * number of operations, two per multiply-add. matrix_peak: the same on the matrix unit; NULL if the set uses none,
     * 0 operations for a kind that the unit lacks. read: reads the bytes once and returns their sum. */
    uint64_t (*peak)(enum panel_kind kind, uint64_t rounds);
    uint64_t (*matrix_peak)(enum panel_kind kind, uint64_t rounds);
    float (*read)(const void *memory, size_t bytes);
};

/* A view of rows [row0, row0+n) of a matrix: nothing to free. row0 is a multiple of MATRIX_TILE. */
static inline struct matrix matrix_rows(const struct matrix *m, uint32_t row0, uint32_t n)
{
    struct matrix rows = *m;
    rows.data = (unsigned char *)m->data + m->kernels->packed_bytes(m->type, row0, m->cols);
    rows.rows = n;
    rows.bytes = m->kernels->packed_bytes(m->type, n, m->cols);
    return rows;
}

/* The set with this name ("reference", "scalar", "avx2", "avx512", "amx", "neon"), or with NULL the best one that this
 * CPU runs. Two are kinds of units rather than sets: "blas" loads OpenBLAS (TDM_E_NOT_FOUND: it is not installed);
 * "amx-bf16" is "amx", packed alike, with all weights but F32 multiplied in bfloat16. TDM_E_ARG with the list of names:
 * unknown; TDM_E_UNSUPPORTED: the CPU lacks a feature, or the system does not permit its use. */
tdm_status kernels_find(const struct kernels **out, const char *name, tdm_error *err);
/* The sets that this CPU runs, best last; returns their number. */
int kernels_available(const struct kernels **out, int room);

#endif
