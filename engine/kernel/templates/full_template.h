/* Full attention of some queries to all keys of a head, by products like all others: part of a kernel set
 * (set_template.h). Queries go through the blocks of keys in ascending order with a running softmax, to the base 2:
 * their scores stay in a core's cache, however many keys there are. */

enum { FULL_QUERIES = 48, FULL_SCORES = FULL_KEYS + 16 };

struct full {
    float scores[FULL_QUERIES][FULL_SCORES], mixed[FULL_QUERIES][FULL_HEAD], part[FULL_QUERIES][FULL_HEAD];
    float weights[FULL_QUERIES * FULL_SCORES] __attribute__((aligned(64))); /* of a panel of any kind */
    float max[FULL_QUERIES], sum[FULL_QUERIES];
};

/* One block of keys for the queries [t, t + tokens). */
static void full_block(const struct full_attention *a, const struct panel *queries, uint32_t t, uint32_t tokens,
                       uint32_t block, struct full *f)
{
    const struct matrix *values = &a->values[block];
    const struct kernels *k = values->kernels;
    struct matrix keys = matrix_rows(a->keys, block * FULL_KEYS, values->cols);
    struct panel weights = {k->panel_of(values->type), tokens, values->cols, f->weights};
    float by[FULL_QUERIES], *out = block ? f->part[0] : f->mixed[0];
    /* token 0 would lie so far before the scores of token t */
    float *first = (float *)((uintptr_t)f->scores - t * sizeof *f->scores);
    k->matmul(&keys, queries, 0, keys.rows, t, t + tokens, first, FULL_SCORES, false);
    for (uint32_t i = 0; i < tokens; i++) {
        by[i] = soften(f->scores[i], keys.rows, a->scale, &f->max[i], &f->sum[i]);
        k->panel_fill(&weights, f->scores[i], 0, i, i + 1, 0, values->cols);
    }
    k->matmul(values, &weights, 0, values->rows, 0, tokens, out, FULL_HEAD, false);
    for (uint32_t i = 0; i < tokens && block; i++) scale_add(f->mixed[i], by[i], f->part[i], values->rows);
}

static void set_attend_full(const struct full_attention *a, const struct panel *queries, float *out, size_t ldo)
{
    struct full f;
    uint32_t blocks = (a->keys->rows + FULL_KEYS - 1) / FULL_KEYS;
#ifdef SET_AMX
    if (a->keys->type == TYPE_BF16 && queries->kind == PANEL_BF16) {
        amx_full(a, queries, out, ldo);
        return;
    }
#endif
    for (uint32_t t = 0, tokens; t < queries->tokens; t += tokens) {
        tokens = queries->tokens - t < FULL_QUERIES ? queries->tokens - t : FULL_QUERIES;
        for (uint32_t i = 0; i < tokens; i++) f.max[i] = -INFINITY, f.sum[i] = 0;
        for (uint32_t b = 0; b < blocks; b++) full_block(a, queries, t, tokens, b, &f);
        for (uint32_t i = 0; i < tokens; i++)
            set_attend_finish(out + (t + i) * ldo, f.mixed[i], f.sum[i], queries->cols);
    }
}
