/* Panels of bfloat16, and the products of AVX-512 with them (set_template.h, PANELS_OF_BF16 and SET_BF16). Activations
 * are rounded to bfloat16, rows filled up with zeros; one output is the sum over ascending pairs of columns, each one
 * vdpbf16ps (odd product first, subnormals taken as zero).
 *
 * A panel is [token][columns]; for the matrix unit it consists of operands, each contiguous: [token / 16][column /
 * 32][token % 16][column % 32], with fewer than 16 tokens as many rows as there are. */
#ifndef TANDEM_KERNEL_BF16_TEMPLATE_H
#define TANDEM_KERNEL_BF16_TEMPLATE_H

enum { BF16_LINE = 32 }; /* columns in a cache line */

/* How many tokens have their lines of the same columns together. */
static ALWAYS_INLINE uint32_t bf16_together(uint32_t tokens)
{
#ifdef SET_AMX
    return tokens < 16 ? tokens : 16;
#else
    (void)tokens;
    return 1;
#endif
}

/* Elements of a token in a panel: an odd number of cache lines, so that tokens don't share a few sets of the caches. */
static ALWAYS_INLINE size_t bf16_stride(uint32_t cols)
{
    return (((size_t)cols + BF16_LINE - 1) / BF16_LINE | 1) * BF16_LINE;
}

static size_t bf16_panel_bytes(uint32_t tokens, uint32_t cols)
{
    size_t together = bf16_together(tokens);
    return (tokens + together - 1) / together * together * bf16_stride(cols) * sizeof(uint16_t);
}

/* Columns 0.. of token t; the next BF16_LINE columns are *step elements further. */
static ALWAYS_INLINE uint16_t *bf16_row(const struct panel *p, uint32_t t, size_t *step)
{
    uint32_t together = bf16_together(p->tokens);
    *step = (size_t)BF16_LINE * together;
    return (uint16_t *)p->data + t / together * together * bf16_stride(p->cols) + (size_t)t % together * BF16_LINE;
}

static void bf16_fill(const struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, uint32_t c0,
                      uint32_t c1)
{
    size_t end = c1 == p->cols ? bf16_stride(c1) : c1, step; /* padding of the last line is zero */
    for (uint32_t t = t0; t < t1; t++) {
        uint16_t *out = bf16_row(p, t, &step) + c0 / BF16_LINE * step;
        const float *in = x + t * ldx;
        for (uint32_t c = c0; c < end; c += BF16_LINE, out += step, in += BF16_LINE)
            for (uint32_t i = 0; i < BF16_LINE; i += 16) {
                vf y = c + i < c1 ? vf_load_n(in + i, c1 - c - i) : vf_set(0);
                _mm256_storeu_si256((__m256i *)(out + i), vf_bf16(y));
            }
    }
    /* The member that fills the last token makes the rows that it lacks. */
    for (uint32_t t = p->tokens; t1 == p->tokens && t % bf16_together(p->tokens); t++) {
        uint16_t *out = bf16_row(p, t, &step) + c0 / BF16_LINE * step;
        for (uint32_t c = c0; c < end; c += BF16_LINE, out += step) memset(out, 0, BF16_LINE * sizeof *out);
    }
}

static void bf16_copy(struct panel *to, uint32_t t, const struct panel *from, uint32_t t_from)
{
    size_t step, step_from, lines = bf16_stride(to->cols) / BF16_LINE;
    const uint16_t *in = bf16_row(from, t_from, &step_from);
    uint16_t *out = bf16_row(to, t, &step);
    for (size_t i = 0; i < lines; i++) memcpy(out + i * step, in + i * step_from, BF16_LINE * sizeof *out);
    /* As bf16_fill: the member with the last token makes the rows that it lacks. */
    for (uint32_t rest = to->tokens; t + 1 == to->tokens && rest % bf16_together(to->tokens); rest++) {
        out = bf16_row(to, rest, &step);
        for (size_t i = 0; i < lines; i++) memset(out + i * step, 0, BF16_LINE * sizeof *out);
    }
}

#ifdef SET_BF16
enum {
    BF16_VECTORS = 2,
    BF16_TOKENS = 12,
    BF16_PAIRS = 128, /* walked for all tokens before the next: 16 KiB of weights */
    BF16_FETCH = 4,
    BF16_NEAR = 6, /* tokens whose weights go to L1 */
};

static ALWAYS_INLINE vf bf16_dot(vf acc, vf w, vf x)
{
    return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x);
}

/* Each BF16_FETCH pairs of columns fetch the lines of `next`. */
static ALWAYS_INLINE void bf16_tile(const uint32_t *w, uint32_t pairs, uint32_t tokens, const uint16_t *x, size_t ldx,
                                    float *acc, struct ahead next)
{
    vf sum[BF16_TOKENS][BF16_VECTORS];
    UNROLL for (uint32_t t = 0; t < tokens; t++)
        UNROLL for (uint32_t v = 0; v < BF16_VECTORS; v++) sum[t][v] = vf_load(acc + t * TILE_ROWS + v * LANES);
    for (uint32_t c = 0; c < pairs;) {
        uint32_t end = pairs - c < BF16_FETCH ? pairs : c + BF16_FETCH;
        fetch(&next);
        for (; c < end; c++, w += TILE_ROWS) {
            vf row[BF16_VECTORS];
            UNROLL for (uint32_t v = 0; v < BF16_VECTORS; v++) row[v] = vf_load((const float *)(w + v * LANES));
            UNROLL for (uint32_t t = 0; t < tokens; t++) {
                int32_t pair;
                memcpy(&pair, x + t * ldx + 2 * c, sizeof pair);
                vf by = vf_of_bits(vi_set(pair));
                UNROLL for (uint32_t v = 0; v < BF16_VECTORS; v++) sum[t][v] = bf16_dot(sum[t][v], row[v], by);
            }
        }
    }
    UNROLL for (uint32_t t = 0; t < tokens; t++)
        UNROLL for (uint32_t v = 0; v < BF16_VECTORS; v++) vf_store(acc + t * TILE_ROWS + v * LANES, sum[t][v]);
}

#define BF16_CASE(n) case n: bf16_tile(w, pairs, n, x, ldx, acc, next); break;

static void bf16_chunk(const uint32_t *w, uint32_t pairs, uint32_t tokens, const uint16_t *x, size_t ldx, float *acc,
                       struct ahead next)
{
    switch (tokens) {
        BF16_CASE(1) BF16_CASE(2) BF16_CASE(3) BF16_CASE(4) BF16_CASE(5) BF16_CASE(6)
        BF16_CASE(7) BF16_CASE(8) BF16_CASE(9) BF16_CASE(10) BF16_CASE(11) BF16_CASE(12)
    }
}

static void bf16_tile_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0,
                              uint32_t tokens, struct stream *stream, float *acc)
{
    const uint32_t *w = (const uint32_t *)((const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols));
    size_t ldx = bf16_stride(p->cols);
    const uint16_t *x = (const uint16_t *)p->data + t0 * ldx;
    uint32_t all = (m->cols + 1) / 2, pieces = (tokens + BF16_TOKENS - 1) / BF16_TOKENS;

    memset(acc, 0, sizeof *acc * tokens * TILE_ROWS);
    for (uint32_t c = 0; c < all; c += BF16_PAIRS) {
        uint32_t pairs = all - c < BF16_PAIRS ? all - c : BF16_PAIRS, steps = (pairs + BF16_FETCH - 1) / BF16_FETCH;
        const uint32_t *some = w + (size_t)c * TILE_ROWS;
        size_t bytes = pairs * TILE_ROWS * sizeof *w;
        struct ahead next = stream_on(stream, (const uint8_t *)some, bytes, bytes, tokens <= BF16_NEAR, steps * pieces);
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t from = tokens * i / pieces, to = tokens * (i + 1) / pieces;
            bf16_chunk(some, pairs, to - from, x + from * ldx + 2 * c, ldx, acc + from * TILE_ROWS, next);
            next = ahead_after(next, steps);
        }
    }
}

#endif
#endif
