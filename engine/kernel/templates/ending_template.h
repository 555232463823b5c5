/* The endings of a product, which decide what it does with its sums (kernel.h, struct ending): part of a kernel set
 * (set_template.h). */

/* Tokens and rows whose sums wait for their ending in a core's cache. */
enum { ENDING_TOKENS = 64, ENDING_ROWS = PANEL_STEP };

static ALWAYS_INLINE bool ending_stores(enum ending_kind kind)
{
    return kind == ENDING_STORE || kind == ENDING_ADD;
}

/* The values to store for a vector of n sums. */
static ALWAYS_INLINE vf ended(enum ending_kind kind, vf sum, const float *bias, uint32_t n)
{
    vf y = bias ? vf_add(sum, vf_load_n(bias, n)) : sum;
    return kind == ENDING_GELU_TANH ? vf_gelu_tanh(y) : kind == ENDING_GELU_ERF ? vf_gelu_erf(y) : y;
}

static ALWAYS_INLINE void end_into(enum ending_kind kind, vf sum, const float *bias, float *out, uint32_t n)
{
    vf y = ended(kind, sum, bias, n);
    vf_store_n(out, kind == ENDING_ADD ? vf_add(vf_load_n(out, n), y) : y, n);
}

/* The n sums of token t from row r on, which are overwritten. */
static void end_row(const struct matrix *m, const struct ending *end, float *sums, uint32_t t, uint32_t r, uint32_t n)
{
    const float *bias = end->bias ? end->bias + r : NULL;
    float *out = ending_stores(end->kind) ? end->out + t * end->ldo + r : sums;
#define END_ROW(ending)                                                                                                \
    EACH_VECTOR(i, left, n, end_into(ending, vf_load_n(sums + i, left), bias ? bias + i : NULL, out + i, left))
    switch (end->kind) {
    case ENDING_STORE:
        END_ROW(ENDING_STORE);
        break;
    case ENDING_ADD:
        END_ROW(ENDING_ADD);
        break;
    case ENDING_GELU_TANH:
        END_ROW(ENDING_GELU_TANH);
        break;
    case ENDING_GELU_ERF:
        END_ROW(ENDING_GELU_ERF);
        break;
    }
#undef END_ROW
    if (!ending_stores(end->kind)) m->kernels->panel_fill(end->to, sums, 0, t, t + 1, r, r + n);
}

/* By the matmul of the matrix's own set, which may be another one with these elementwise functions. */
static void end_strips(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0,
                       uint32_t t1, const struct ending *end)
{
    float sums[ENDING_TOKENS * ENDING_ROWS] __attribute__((aligned(64)));
    for (uint32_t t = t0, tokens; t < t1; t += tokens) {
        tokens = t1 - t < ENDING_TOKENS ? t1 - t : ENDING_TOKENS;
        for (uint32_t r = r0, rows; r < r1; r += rows) {
            rows = r1 - r < ENDING_ROWS ? r1 - r : ENDING_ROWS;
            struct matrix some = matrix_rows(m, r, rows);
            /* token 0 would lie so far before the sums of token t */
            float *first = (float *)((uintptr_t)sums - t * ENDING_ROWS * sizeof *sums);
            m->kernels->matmul(&some, p, 0, rows, t, t + tokens, first, ENDING_ROWS, false);
            for (uint32_t i = 0; i < tokens; i++) end_row(m, end, sums + i * ENDING_ROWS, t + i, r, rows);
        }
    }
}
