/* Products in float32: part of a kernel set (set_template.h). F32 weights as they are; F16, BF16 (where the set has no
 * bfloat16 products) and, in the reference set, all types are widened a chunk of columns at a time into L1. One output
 * is the sum over ascending columns of single products, one fused multiply-add each. */

enum { CHUNK_COLS = 128 };

/* acc[token][row] += sum over n columns; w: [n][TILE_ROWS], x: [tokens] rows of the panel, ldx apart. */
static ALWAYS_INLINE void float_tile(const float *w, uint32_t n, uint32_t vectors, uint32_t tokens, const float *x,
                                     size_t ldx, float *acc)
{
    vf sum[FLOAT_TOKENS][FLOAT_VECTORS];
    UNROLL for (uint32_t t = 0; t < tokens; t++)
        UNROLL for (uint32_t v = 0; v < vectors; v++) sum[t][v] = vf_load(acc + t * TILE_ROWS + v * LANES);
    for (uint32_t c = 0; c < n; c++, w += TILE_ROWS) {
        vf row[FLOAT_VECTORS];
        UNROLL for (uint32_t v = 0; v < vectors; v++) row[v] = vf_load(w + v * LANES);
        UNROLL for (uint32_t t = 0; t < tokens; t++) {
            vf by = vf_set(x[t * ldx + c]);
            UNROLL for (uint32_t v = 0; v < vectors; v++) sum[t][v] = vf_fma(row[v], by, sum[t][v]);
        }
    }
    UNROLL for (uint32_t t = 0; t < tokens; t++)
        UNROLL for (uint32_t v = 0; v < vectors; v++) vf_store(acc + t * TILE_ROWS + v * LANES, sum[t][v]);
}

#define FLOAT_CASE(n)                                                                                                   \
    case n:                                                                                                             \
        if (n <= FLOAT_TOKENS)                                                                                          \
            for (uint32_t r = 0; r < TILE_ROWS; r += FLOAT_VECTORS * LANES)                                             \
                float_tile(w + r, cols, FLOAT_VECTORS, n <= FLOAT_TOKENS ? n : 1, x, ldx, acc + r);                     \
        break;

static void float_chunk(const float *w, uint32_t cols, uint32_t tokens, const float *x, size_t ldx, float *acc)
{
    switch (tokens) {
        FLOAT_CASE(1) FLOAT_CASE(2) FLOAT_CASE(3) FLOAT_CASE(4) FLOAT_CASE(5) FLOAT_CASE(6)
        FLOAT_CASE(7) FLOAT_CASE(8) FLOAT_CASE(9) FLOAT_CASE(10) FLOAT_CASE(11) FLOAT_CASE(12)
    }
}

/* Columns [c, c + n) of a tile to w[n][TILE_ROWS]; c is a multiple of CHUNK_COLS. */
static void float_widen(enum type type, const uint8_t *tile, uint32_t c, uint32_t n, float *w)
{
    const uint16_t *in = (const uint16_t *)tile + (size_t)c * TILE_ROWS;
    if (type == TYPE_F16) {
        for (uint32_t i = 0; i < n * TILE_ROWS; i += LANES) vf_store(w + i, vf_load_f16(in + i));
        return;
    }
    for (uint32_t i = 0; i < (n + 1) / 2; i++, in += 2 * TILE_ROWS)
        for (uint32_t r = 0; r < TILE_ROWS; r++) {
            w[2 * i * TILE_ROWS + r] = bf16_widen(in[2 * r]);
            if (2 * i + 1 < n) w[(2 * i + 1) * TILE_ROWS + r] = bf16_widen(in[2 * r + 1]);
        }
}

static ALWAYS_INLINE void float_pieces(const float *w, uint32_t n, uint32_t tokens, const float *x, size_t ldx, float *acc)
{
    uint32_t pieces = (tokens + FLOAT_TOKENS - 1) / FLOAT_TOKENS;
    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t from = tokens * i / pieces, to = tokens * (i + 1) / pieces;
        float_chunk(w, n, to - from, x + from * ldx, ldx, acc + from * TILE_ROWS);
    }
}

/* Elements of a token in a panel of floats: whole cache lines, so that tokens don't share one. */
static ALWAYS_INLINE size_t float_stride(uint32_t cols)
{
    return ((size_t)cols + 15) / 16 * 16;
}

static void float_tile_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0, uint32_t tokens,
                               float *acc)
{
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    size_t ldx = float_stride(p->cols);
    const float *x = (const float *)p->data + t0 * ldx;
    float w[CHUNK_COLS * TILE_ROWS] __attribute__((aligned(64)));

    memset(acc, 0, sizeof *acc * tokens * TILE_ROWS);
    for (uint32_t c = 0; c < m->cols; c += CHUNK_COLS) {
        uint32_t n = m->cols - c < CHUNK_COLS ? m->cols - c : CHUNK_COLS;
        const float *chunk = w;
        if (m->type == TYPE_F32) chunk = (const float *)packed + (size_t)c * TILE_ROWS;
        else float_widen(m->type, packed, c, n, w);
        float_pieces(chunk, n, tokens, x + c, ldx, acc);
    }
}

/* The same for quantised weights, widened exactly: the reference set. */
static __attribute__((unused)) void float_quants_product(const struct matrix *m, const struct panel *p, uint32_t tile,
                                                         uint32_t t0, uint32_t tokens, float *acc)
{
    const struct layout *l = &layouts[m->type];
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    size_t ldx = float_stride(p->cols);
    const float *x = (const float *)p->data + t0 * ldx;
    float w[GROUP_COLS * TILE_ROWS] __attribute__((aligned(64)));
    struct expanded e;
    bool minima = layout_has_minima(l);

    memset(acc, 0, sizeof *acc * tokens * TILE_ROWS);
    for (uint32_t c = 0; c < m->cols; c += GROUP_COLS) {
        uint32_t blocks = (m->cols - c < GROUP_COLS ? m->cols - c : GROUP_COLS) / BLOCK_COLS;
        size_t bits = blocks * (size_t)l->block_bytes, scale_bytes = layout_scale_bytes(l, blocks);
        for (uint32_t half = 0; half < 2; half++) {
            expand(l, packed + half * bits, packed + 2 * bits + half * scale_bytes, blocks, &e);
            for (uint32_t i = 0; i < blocks * BLOCK_COLS; i++)
                for (uint32_t r = 0; r < HALF_ROWS; r++) {
                    uint32_t at = i / l->sub * HALF_ROWS + r;
                    float weight = e.scale[at] * (float)(e.q[i / 4 * STEP_BYTES + 4 * r + i % 4] - 128);
                    w[i * TILE_ROWS + half * HALF_ROWS + r] = minima ? weight - e.min[at] : weight;
                }
        }
        float_pieces(w, blocks * BLOCK_COLS, tokens, x + c, ldx, acc);
        packed += 2 * (bits + scale_bytes);
    }
}

/* Fills a panel of floats, rounded to bfloat16 where the weights' arithmetic asks for it. */
static void float_fill(const struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, bool round_bf16)
{
    size_t stride = float_stride(p->cols);
    for (uint32_t t = t0; t < t1; t++) {
        float *out = (float *)p->data + t * stride;
        memcpy(out, x + t * ldx, p->cols * sizeof *out);
        if (round_bf16)
            for (uint32_t c = 0; c < p->cols; c++) out[c] = bf16_widen(bf16_narrow(out[c]));
    }
}
