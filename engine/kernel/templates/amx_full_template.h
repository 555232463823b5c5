/* Full attention on the matrix unit: part of the amx set (set_template.h).
 *
 * 48 queries at a time pass all keys, block by block. While the matrix unit computes the scores of a block, and adds
 * the values of the block two before it, the vector units turn some rows of the previous block's scores into weights in
 * each step. Sums continue in tiles from the mixed values so far. A row's weights are relative to an earlier score;
 * only if they would grow too large, which is rare, its mixed values are rescaled first. So no weight waits for the
 * row's largest score.
 *
 * Of each 32 keys the matrix has first the even ones, then the odd ones (key_place), so that a shift and a blend turn
 * two vectors of weights into the pairs of the second product's operand. */

enum {
    AMX_FULL_VECTORS = FULL_KEYS / LANES,
    AMX_FULL_TILES = FULL_KEYS / TILE_ROWS,
};

#define AMX_FULL_NONE -1e30f /* the score of a missing key: its weight is 0 */
#define AMX_FULL_OVER 8      /* a weight is at most 2 to the power of this */

typedef float amx_scores[AMX_WIDE_TOKENS][FULL_KEYS + LANES] __attribute__((aligned(64)));
typedef uint32_t amx_weights[AMX_WIDE_PIECES][AMX_FULL_TILES][AMX_TOKENS][LANES] __attribute__((aligned(64)));

struct amx_full {
    amx_scores scores[2];
    amx_weights weights[2];
    float mixed[AMX_WIDE_TOKENS][FULL_HEAD + LANES] __attribute__((aligned(64)));
    float sum[AMX_WIDE_TOKENS][LANES] __attribute__((aligned(64)));
    uint32_t rest[AMX_BF16_STEP] __attribute__((aligned(64))); /* columns beyond whole steps, filled up with zeros */
    uint16_t few[FULL_HEAD / BF16_LINE][AMX_TOKENS][BF16_LINE] __attribute__((aligned(64)));
    float from[AMX_WIDE_TOKENS]; /* the score whose weight is 1: the row's largest less AMX_FULL_OVER or more */
    float kept[AMX_WIDE_TOKENS]; /* factor of the values mixed before the block */
    bool rises;                  /* some of them are not 1 */
    __mmask16 there[AMX_FULL_VECTORS]; /* keys of the last block */
    const struct full_attention *a;
    const uint16_t *x; /* operand of the first piece of queries, */
    size_t second, third; /* distances of the others from it */
    uint32_t tokens, dims;
    uint32_t block, row, each; /* the block whose scores become weights, its next row, and rows per step */
    bool weighs;
};

static ALWAYS_INLINE uint32_t amx_full_count(const struct amx_full *f, uint32_t block)
{
    uint32_t left = f->a->keys->rows - block * FULL_KEYS;
    return left < FULL_KEYS ? left : FULL_KEYS;
}

/* 2^x for x up to 0, as vf_exp2, by the instruction that scales; 0 far below. */
static ALWAYS_INLINE vf amx_exp2(vf x)
{
    vf whole = vf_sub(vf_add(x, vf_set(12582912.0f)), vf_set(12582912.0f)), r = vf_sub(x, whole);
    vf p = vf_set(9.582886561e-3f);
    p = vf_fma(p, r, vf_set(5.590651128e-2f));
    p = vf_fma(p, r, vf_set(2.402409856e-1f));
    p = vf_fma(p, r, vf_set(6.931241835e-1f));
    p = vf_fma(p, r, vf_set(1));
    return _mm512_scalef_ps(p, whole);
}

/* Positive floats to bfloat16, halves up: pairs of a lane of each. */
static ALWAYS_INLINE __m512i amx_round_pair(vf even, vf odd)
{
    const __m512i half = _mm512_set1_epi32(0x8000);
    __m512i low = _mm512_srli_epi32(_mm512_add_epi32(vf_bits(even), half), 16);
    return _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_add_epi32(vf_bits(odd), half));
}

/* Finds the lanes of the last block's scores that belong to keys. */
static void amx_full_there(struct amx_full *f, uint32_t block)
{
    uint32_t n = amx_full_count(f, block);
    for (uint32_t v = 0; v < AMX_FULL_VECTORS; v++) {
        uint32_t first = v / 2 * TILE_ROWS + v % 2, left = n > first ? (n - first + 1) / 2 : 0;
        f->there[v] = first_lanes(left);
    }
}

/* Makes a row's weights relative to a larger score from now on. */
static void __attribute__((noinline)) amx_full_rise(struct amx_full *f, uint32_t t, float to)
{
    vf kept = amx_exp2(vf_set(f->from[t] - to));
    vf_store(f->sum[t], vf_mul(vf_load(f->sum[t]), kept));
    f->from[t] = to;
    f->kept[t] = _mm512_cvtss_f32(kept);
    f->rises = true;
}

/* The weights of a row of scores. whole: all keys of the block are there. */
static ALWAYS_INLINE void amx_full_row(struct amx_full *f, uint32_t block, uint32_t t, bool first, bool whole)
{
    const float *scores = f->scores[block % 2][t];
    vf x[AMX_FULL_VECTORS], sums[2] = {vf_set(0), vf_set(0)}, most, by = vf_set(f->a->scale);
    UNROLL for (int v = 0; v < AMX_FULL_VECTORS; v++)
    {
        x[v] = vf_load(scores + v * LANES);
        if (!whole) x[v] = _mm512_mask_blend_ps(f->there[v], vf_set(AMX_FULL_NONE), x[v]);
    }
    most = vf_max(x[0], x[1]);
    UNROLL for (int v = 2; v < AMX_FULL_VECTORS; v += 2) most = vf_max(most, vf_max(x[v], x[v + 1]));
    vf over = vf_sub(vf_mul(most, by), vf_set(f->from[t]));
    if (first) {
        f->from[t] = vf_largest(most) * f->a->scale;
    } else if (_mm512_cmp_ps_mask(over, vf_set(AMX_FULL_OVER), _CMP_GT_OQ)) {
        amx_full_rise(f, t, vf_largest(most) * f->a->scale);
    }
    vf from = vf_set(-f->from[t]);
    UNROLL for (int v = 0; v < AMX_FULL_VECTORS; v += 2)
    {
        vf even = amx_exp2(vf_fma(x[v], by, from)), odd = amx_exp2(vf_fma(x[v + 1], by, from));
        sums[0] = vf_add(sums[0], even);
        sums[1] = vf_add(sums[1], odd);
        _mm512_store_si512(f->weights[block % 2][t / AMX_TOKENS][v / 2][t % AMX_TOKENS], amx_round_pair(even, odd));
    }
    vf sum = vf_add(sums[0], sums[1]);
    vf_store(f->sum[t], first ? sum : vf_add(vf_load(f->sum[t]), sum));
}

/* The next rows of the block whose scores become weights, if there is one. */
static void __attribute__((noinline)) amx_full_rows(struct amx_full *f)
{
    uint32_t block = f->block, upto = amx_upto(f->row, f->each, f->weighs ? f->tokens : f->row);
    bool whole = amx_full_count(f, block) == FULL_KEYS;
    for (; f->row < upto; f->row++) {
        if (!block) amx_full_row(f, block, f->row, true, false);
        else if (whole) amx_full_row(f, block, f->row, false, true);
        else amx_full_row(f, block, f->row, false, false);
    }
}

/* The products of six tiles, and some rows with each step of 32 columns. */
static ALWAYS_INLINE void amx_full_steps(struct amx_full *f, const uint32_t *w, uint32_t columns, const uint16_t *x,
                                         size_t second, size_t third)
{
    const size_t step = (size_t)BF16_LINE * AMX_TOKENS;
    uint32_t left = (columns % BF16_LINE + 1) / 2; /* pairs */
    for (uint32_t i = 0; i < columns / BF16_LINE; i++, w += AMX_BF16_STEP, x += step) {
        amx_wide_step(w, x, second, third);
        amx_full_rows(f);
    }
    if (!left) return;
    memcpy(f->rest, w, left * TILE_ROWS * sizeof *w);
    memset(f->rest + left * TILE_ROWS, 0, (AMX_BF16_STEP - left * TILE_ROWS) * sizeof *w);
    amx_written();
    amx_wide_step(f->rest, x, second, third);
    amx_full_rows(f);
}

/* The sums of 32 keys of a block begin; of 32 dims of its values. */
static ALWAYS_INLINE void amx_full_score(struct amx_full *f, uint32_t block, uint32_t tile)
{
    const struct matrix *m = f->a->keys;
    size_t at = (size_t)block * AMX_FULL_TILES + tile;
    const uint8_t *w = (const uint8_t *)m->data + at * layout_tile_bytes(m->type, m->cols);
    AMX_WIDE_EACH_TILE(AMX_WIDE_ZERO)
    amx_full_steps(f, (const uint32_t *)w, m->cols, f->x, f->second, f->third);
}

static ALWAYS_INLINE void amx_full_mix(struct amx_full *f, uint32_t block, uint32_t tile)
{
    const size_t piece = sizeof f->weights[0][0] / sizeof(uint16_t);
    const struct matrix *m = &f->a->values[block];
    const uint8_t *w = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    float(*sums)[FULL_HEAD + LANES] = (void *)(f->mixed[0] + tile * TILE_ROWS);
    if (block) {
        AMX_WIDE_EACH_TILE(AMX_WIDE_LOAD)
    } else {
        AMX_WIDE_EACH_TILE(AMX_WIDE_ZERO)
    }
    amx_full_steps(f, (const uint32_t *)w, m->cols, (const uint16_t *)f->weights[block % 2], piece, 2 * piece);
    AMX_WIDE_EACH_TILE(AMX_WIDE_STORE)
}

/* Rescales the mixed values to the scores to which the next block's weights are relative. */
static void amx_full_keep(struct amx_full *f)
{
    for (uint32_t t = 0; t < f->tokens && f->rises; t++) {
        for (uint32_t d = 0; d < f->dims && f->kept[t] != 1; d += LANES)
            vf_store(f->mixed[t] + d, vf_mul(vf_load(f->mixed[t] + d), vf_set(f->kept[t])));
        f->kept[t] = 1;
    }
    f->rises = false;
    amx_written();
}

static ALWAYS_INLINE uint32_t amx_full_lines(uint32_t columns)
{
    return (columns + BF16_LINE - 1) / BF16_LINE;
}

/* Scores of one block, weights of the one before, values of the one before that, if they exist. */
static void amx_full_stage(struct amx_full *f, uint32_t block, uint32_t blocks)
{
    uint32_t keys = block < blocks ? amx_full_lines(amx_full_count(f, block)) : 0;
    uint32_t tiles = block > 1 ? amx_full_lines(f->dims) : 0, steps = keys * amx_full_lines(f->dims);
    if (tiles) steps += tiles * amx_full_lines(amx_full_count(f, block - 2));
    f->block = block - 1;
    f->weighs = block > 0 && block <= blocks;
    f->row = 0;
    f->each = steps ? (f->tokens + steps - 1) / steps : f->tokens;
    if (f->weighs) amx_full_there(f, block - 1);
    if (tiles) amx_full_keep(f);
    for (uint32_t i = 0; i < keys; i++) {
        float(*sums)[FULL_KEYS + LANES] = (void *)(f->scores[block % 2][0] + i * TILE_ROWS);
        amx_full_score(f, block, i);
        AMX_WIDE_EACH_TILE(AMX_WIDE_STORE)
    }
    for (uint32_t i = 0; i < tiles; i++) amx_full_mix(f, block - 2, i);
    if (!steps) amx_full_rows(f);
    amx_written();
}

/* The operands of queries [t, t + tokens), which are made here if a panel has fewer rows than a tile. */
static void amx_full_queries(struct amx_full *f, const struct panel *queries, uint32_t t)
{
    size_t piece = AMX_TOKENS * bf16_stride(queries->cols);
    uint32_t left = queries->tokens - t, lines = (queries->cols + BF16_LINE - 1) / BF16_LINE;
    f->tokens = left < AMX_WIDE_TOKENS ? left : AMX_WIDE_TOKENS;
    f->rises = false;
    for (uint32_t i = 0; i < f->tokens; i++) f->kept[i] = 1;
    f->x = (const uint16_t *)queries->data + t / AMX_TOKENS * piece;
    f->second = f->tokens > AMX_TOKENS ? piece : 0;
    f->third = f->tokens > 2 * AMX_TOKENS ? 2 * piece : 0;
    if (queries->tokens >= AMX_TOKENS) return;
    memset(f->few, 0, sizeof f->few);
    for (uint32_t i = 0; i < lines; i++)
        memcpy(f->few[i], f->x + (size_t)i * f->tokens * BF16_LINE, f->tokens * sizeof f->few[0][0]);
    f->x = f->few[0][0];
}

static void amx_full(const struct full_attention *a, const struct panel *queries, float *out, size_t ldo)
{
    struct amx_full f;
    f.a = a;
    f.dims = queries->cols;
    uint32_t blocks = (a->keys->rows + FULL_KEYS - 1) / FULL_KEYS;
    amx_configure(AMX_TOKENS, 64);
    for (uint32_t t = 0; t < queries->tokens; t += AMX_WIDE_TOKENS) {
        amx_full_queries(&f, queries, t);
        amx_written();
        for (uint32_t block = 0; block < blocks + 2; block++) amx_full_stage(&f, block, blocks);
        for (uint32_t i = 0; i < f.tokens; i++)
            set_attend_finish(out + (t + i) * ldo, f.mixed[i], vf_sum(vf_load(f.sum[i])), f.dims);
    }
    tile_release();
}
