/* Products in float32: part of a kernel set (set_template.h). F32 weights are used directly; F16, BF16 (if the set has
 * no bfloat16 products) and, in the reference set, all types are widened into L1 a chunk of columns at a time. One
 * output is the sum over ascending columns of single products, one fused multiply-add each. */

enum { CHUNK_COLS = 128, FETCH_COLS = 8 /* columns for which weights are fetched at a time */ };

/* acc[tokens][TILE_ROWS] += sum over n columns, for FLOAT_VECTORS vectors of rows from row r. w: columns of a tile as
 * they are packed in `type`, or widened (F32); x: [tokens] rows of the panel, ldx apart. Each FETCH_COLS columns fetch
 * the lines of `next`. type and tokens are constants after inlining. */
static ALWAYS_INLINE void float_tile(enum type type, const void *w, uint32_t r, uint32_t n, uint32_t tokens,
                                     const float *x, size_t ldx, float *acc, struct ahead next)
{
    vf sum[FLOAT_TOKENS][FLOAT_VECTORS];
    const float *w32 = (const float *)w + r;
    const uint16_t *w16 = (const uint16_t *)w + (type == TYPE_BF16 ? 2 * r : r);
    acc += r;
    UNROLL for (uint32_t t = 0; t < tokens; t++)
        UNROLL for (uint32_t v = 0; v < FLOAT_VECTORS; v++) sum[t][v] = vf_load(acc + t * TILE_ROWS + v * LANES);
    for (uint32_t c = 0; c < n;) {
        uint32_t end = n - c < FETCH_COLS ? n : c + FETCH_COLS;
        if (r == 0) fetch(&next);
        if (type == TYPE_BF16)
            for (; c + 2 <= end; c += 2, w16 += 2 * TILE_ROWS)
                UNROLL for (uint32_t odd = 0; odd < 2; odd++) {
                    vf row[FLOAT_VECTORS];
                    UNROLL for (uint32_t v = 0; v < FLOAT_VECTORS; v++)
                        row[v] = vf_load_bf16_pair(w16 + 2 * v * LANES, odd);
                    UNROLL for (uint32_t t = 0; t < tokens; t++) {
                        vf by = vf_set(x[t * ldx + c + odd]);
                        UNROLL for (uint32_t v = 0; v < FLOAT_VECTORS; v++) sum[t][v] = vf_fma(row[v], by, sum[t][v]);
                    }
                }
        for (; c < end; c++, w32 += TILE_ROWS, w16 += TILE_ROWS) {
            vf row[FLOAT_VECTORS];
            UNROLL for (uint32_t v = 0; v < FLOAT_VECTORS; v++)
                row[v] = type == TYPE_F32   ? vf_load(w32 + v * LANES)
                         : type == TYPE_F16 ? vf_load_f16(w16 + v * LANES)
                                            : vf_load_bf16_pair(w16 + 2 * v * LANES, 0); /* an odd last column */
            UNROLL for (uint32_t t = 0; t < tokens; t++) {
                vf by = vf_set(x[t * ldx + c]);
                UNROLL for (uint32_t v = 0; v < FLOAT_VECTORS; v++) sum[t][v] = vf_fma(row[v], by, sum[t][v]);
            }
        }
    }
    UNROLL for (uint32_t t = 0; t < tokens; t++)
        UNROLL for (uint32_t v = 0; v < FLOAT_VECTORS; v++) vf_store(acc + t * TILE_ROWS + v * LANES, sum[t][v]);
}

#define FLOAT_CASE(type, n)                                                                                            \
    case n:                                                                                                            \
        if (n <= FLOAT_TOKENS)                                                                                         \
            for (uint32_t r = 0; r < TILE_ROWS; r += FLOAT_VECTORS * LANES)                                            \
                float_tile(type, w, r, cols, n <= FLOAT_TOKENS ? n : 1, x, ldx, acc, next);                            \
        break;

#define FLOAT_CHUNK(name, type)                                                                                        \
    static void name(const void *w, uint32_t cols, uint32_t tokens, const float *x, size_t ldx, float *acc,            \
                     struct ahead next)                                                                                \
    {                                                                                                                  \
        switch (tokens) {                                                                                              \
            FLOAT_CASE(type, 1) FLOAT_CASE(type, 2) FLOAT_CASE(type, 3) FLOAT_CASE(type, 4)                            \
            FLOAT_CASE(type, 5) FLOAT_CASE(type, 6) FLOAT_CASE(type, 7) FLOAT_CASE(type, 8)                            \
            FLOAT_CASE(type, 9) FLOAT_CASE(type, 10) FLOAT_CASE(type, 11) FLOAT_CASE(type, 12)                         \
        }                                                                                                              \
    }

FLOAT_CHUNK(float_chunk_f32, TYPE_F32)
FLOAT_CHUNK(float_chunk_f16, TYPE_F16)
FLOAT_CHUNK(float_chunk_bf16, TYPE_BF16)

/* Columns [0, n) of a tile that starts at `in`, to w[n][TILE_ROWS]. */
static void float_widen(enum type type, const uint16_t *in, uint32_t n, float *w)
{
    uint32_t c = 0;
    if (type == TYPE_BF16)
        for (; c < n; c += 2, in += 2 * TILE_ROWS)
            for (uint32_t odd = 0; odd < 2 && c + odd < n; odd++)
                for (uint32_t r = 0; r < TILE_ROWS; r += LANES)
                    vf_store(w + (c + odd) * TILE_ROWS + r, vf_load_bf16_pair(in + 2 * r, odd));
    else
        for (; c < n; c++, in += TILE_ROWS)
            for (uint32_t r = 0; r < TILE_ROWS; r += LANES) vf_store(w + c * TILE_ROWS + r, vf_load_f16(in + r));
}

static uint32_t float_piece_count(uint32_t tokens)
{
    return (tokens + FLOAT_TOKENS - 1) / FLOAT_TOKENS;
}

/* Steps of n columns, each of which fetches. */
static uint32_t float_steps(uint32_t n)
{
    return (n + FETCH_COLS - 1) / FETCH_COLS;
}

/* All tokens times n columns. Meanwhile `next` is fetched, its lines by FETCH_COLS columns of each piece. */
static void float_pieces(enum type type, const void *w, uint32_t n, uint32_t tokens, const float *x, size_t ldx,
                         float *acc, struct ahead next)
{
    uint32_t pieces = float_piece_count(tokens);
    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t from = tokens * i / pieces, to = tokens * (i + 1) / pieces;
        const float *at = x + from * ldx;
        float *out = acc + from * TILE_ROWS;
        if (type == TYPE_F32) float_chunk_f32(w, n, to - from, at, ldx, out, next);
        else if (type == TYPE_F16) float_chunk_f16(w, n, to - from, at, ldx, out, next);
        else float_chunk_bf16(w, n, to - from, at, ldx, out, next);
        next = ahead_after(next, float_steps(n));
    }
}

/* Elements of a token in a panel of floats: an odd number of cache lines, so that tokens share neither a line nor a few
 * sets of the caches. */
static ALWAYS_INLINE size_t float_stride(uint32_t cols)
{
    return (((size_t)cols + 15) / 16 | 1) * 16;
}

static void float_tile_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0,
                               uint32_t tokens, struct stream *stream, float *acc)
{
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    size_t ldx = float_stride(p->cols);
    const float *x = (const float *)p->data + t0 * ldx;
    float w[CHUNK_COLS * TILE_ROWS] __attribute__((aligned(64)));

    memset(acc, 0, sizeof *acc * tokens * TILE_ROWS);
    for (uint32_t c = 0; c < m->cols; c += CHUNK_COLS) {
        uint32_t n = m->cols - c < CHUNK_COLS ? m->cols - c : CHUNK_COLS;
        size_t column = TILE_ROWS * (m->type == TYPE_F32 ? sizeof(float) : sizeof(uint16_t));
        const uint8_t *chunk = packed + c * column;
        struct ahead next = stream_on(stream, chunk, n * column, n * column, LANES >= 16 && tokens == 1,
                                      float_piece_count(tokens) * float_steps(n));
        if (m->type == TYPE_F32 || tokens <= 2 * FLOAT_TOKENS) { /* widened in registers, once for each piece */
            float_pieces(m->type, chunk, n, tokens, x + c, ldx, acc, next);
        } else {
            float_widen(m->type, (const uint16_t *)chunk, n, w);
            float_pieces(TYPE_F32, w, n, tokens, x + c, ldx, acc, next);
        }
    }
}

/* The same for quantised weights, widened exactly: the reference set. */
static __attribute__((unused)) void float_quants_product(const struct matrix *m, const struct panel *p, uint32_t tile,
                                                         uint32_t t0, uint32_t tokens, struct stream *stream,
                                                         float *acc)
{
    (void)stream;
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
        const struct layout_group at = layout_group(l, blocks);
        for (uint32_t half = 0; half < 2; half++) {
            expand(l, packed + at.quants[half], packed + at.scales[half], blocks, EXPAND_RAISED, &e);
            for (uint32_t i = 0; i < blocks * BLOCK_COLS; i++)
                for (uint32_t r = 0; r < HALF_ROWS; r++) {
                    uint32_t s = i / l->sub * HALF_ROWS + r;
                    float weight = expanded_scale(l, &e, s) * (float)(e.q[i / 4 * STEP_BYTES + 4 * r + i % 4] - 128);
                    w[i * TILE_ROWS + half * HALF_ROWS + r] = minima ? weight - 128 * e.min[s] : weight;
                }
        }
        float_pieces(TYPE_F32, w, blocks * BLOCK_COLS, tokens, x + c, ldx, acc, (struct ahead){0});
        packed += at.bytes;
    }
}

/* Fills a panel of floats, rounded to bfloat16 if the weights' arithmetic demands it. */
static void float_fill(const struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, uint32_t c0,
                       uint32_t c1, bool round_bf16)
{
    size_t stride = float_stride(p->cols);
    for (uint32_t t = t0; t < t1; t++) {
        float *out = (float *)p->data + t * stride + c0;
        memcpy(out, x + t * ldx, (c1 - c0) * sizeof *out);
        if (round_bf16)
            for (uint32_t c = 0; c < c1 - c0; c++) out[c] = bf16_widen(bf16_narrow(out[c]));
    }
}

static void float_copy(struct panel *to, uint32_t t, const struct panel *from, uint32_t t_from)
{
    size_t stride = float_stride(to->cols);
    memcpy((float *)to->data + t * stride, (const float *)from->data + t_from * stride, to->cols * sizeof(float));
}
