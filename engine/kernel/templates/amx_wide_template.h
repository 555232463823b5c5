/* Products in bfloat16 of many tokens: part of the amx set (set_template.h).
 *
 * A block of outputs is 48 tokens x 32 rows, whose sums are six tiles: six tile products load five KiB from L2, while
 * four products for 32 x 32 outputs would load four, more than L2 delivers in that time. A block walks all its columns
 * at once, up to AMX_WIDE_STEPS steps. A product with more columns goes through some of them for all tokens of a strip
 * and AMX_WIDE_ROWS rows before the next ones, and stores partial sums between: so L2 holds the tokens' columns for all
 * of these rows, and each weight is loaded once for the strip. The order of one output's sum is that of
 * amx_bf16_product, and so are its bits.
 *
 * The endings of a block (ending_template.h) are interleaved with the tile products of the next one, a few tokens per
 * step, so that matrix unit and vector units work at the same time. */

enum {
    AMX_WIDE_LEAST = 48,
    AMX_WIDE_BYTES = 2 << 20, /* largest weights that matmul multiplies this way: larger ones stream from memory, tile
                                 by tile */
    AMX_WIDE_PIECES = 3,
    AMX_WIDE_TOKENS = AMX_WIDE_PIECES * AMX_TOKENS,
    AMX_WIDE_STRIP = 5 * AMX_WIDE_TOKENS,
    AMX_WIDE_ROWS = 8 * TILE_ROWS,
    AMX_WIDE_STEPS = 40, /* of 32 columns */
    AMX_WIDE_ENDED = 2,  /* tokens whose outputs end in a step */
    AMX_WIDE_AWAKE = 8,  /* steps */
};

typedef float amx_block[AMX_WIDE_TOKENS][TILE_ROWS] __attribute__((aligned(64)));
typedef amx_block amx_strip[AMX_WIDE_STRIP / AMX_WIDE_TOKENS];

/* A product under way. */
struct amx_wide {
    const struct matrix *m;
    const struct panel *p;
    const struct ending *end;
    const uint32_t *rest; /* a tile's columns beyond the last whole step, filled up with zeros; NULL: none */
    /* The block whose sums are known: tokens [next, t1) of it have yet to end, of rows from r on. */
    float (*sums)[TILE_ROWS]; /* an amx_block */
    uint32_t t0, next, t1, r, rows;
};

static ALWAYS_INLINE bool amx_is_wide(const struct matrix *m, uint32_t t0, uint32_t t1)
{
    return m->type == TYPE_BF16 && t0 % AMX_TOKENS == 0 && t1 - t0 >= AMX_WIDE_LEAST;
}

static ALWAYS_INLINE uint32_t amx_upto(uint32_t from, uint32_t most, uint32_t end)
{
    return end - from < most ? end : from + most;
}

/* A token's outputs of a block as columns of the next product's panel, filled up with zeros as bf16_fill does it. */
static ALWAYS_INLINE void amx_end_columns(const struct amx_wide *a, enum ending_kind kind, const float *sums,
                                          const float *bias)
{
    const struct panel *to = a->end->to;
    size_t step, column = a->r / BF16_LINE;
    uint32_t t = a->next;
    uint16_t *out = bf16_row(to, t, &step) + column * step;
    UNROLL for (uint32_t i = 0; i < TILE_ROWS; i += LANES)
    {
        uint32_t n = a->rows > i ? a->rows - i : 0;
        vf y = ended(kind, vf_load(sums + i), bias ? bias + i : NULL, n);
        _mm256_storeu_si256((__m256i *)(out + i), vf_bf16(vf_first(y, n, vf_set(0))));
    }
    while (++t % AMX_TOKENS && a->next + 1 == to->tokens)
        memset(bf16_row(to, t, &step) + column * step, 0, BF16_LINE * sizeof *out);
}

/* The next tokens of the block end. */
static ALWAYS_INLINE void amx_end(struct amx_wide *a, enum ending_kind kind, uint32_t most)
{
    const float *bias = a->end->bias ? a->end->bias + a->r : NULL;
    for (uint32_t upto = amx_upto(a->next, most, a->t1); a->next < upto; a->next++) {
        const float *sums = a->sums[a->next - a->t0];
        if (!ending_stores(kind)) {
            amx_end_columns(a, kind, sums, bias);
            continue;
        }
        float *out = a->end->out + a->next * a->end->ldo + a->r;
        UNROLL for (uint32_t i = 0; i < TILE_ROWS; i += LANES) if (i < a->rows)
            end_into(kind, vf_load(sums + i), bias ? bias + i : NULL, out + i, a->rows - i);
    }
}

/* Prefetches the output lines of the tokens [t, upto) of a tile of rows: they are written token by token, far apart,
 * which the processor's own prefetcher does not detect. */
static ALWAYS_INLINE void amx_expect(const struct ending *end, uint32_t r, uint32_t t, uint32_t upto)
{
    for (; t < upto; t++)
        for (uint32_t i = 0; i < TILE_ROWS; i += LANES) __builtin_prefetch(end->out + t * end->ldo + r + i, 1, 3);
}

#define AMX_WIDE_EACH_TILE(code)                                                                                       \
    code(0, 0, 0) code(1, 0, HALF_ROWS) code(2, AMX_TOKENS, 0) code(3, AMX_TOKENS, HALF_ROWS)                          \
        code(4, 2 * AMX_TOKENS, 0) code(5, 2 * AMX_TOKENS, HALF_ROWS)
#define AMX_WIDE_ZERO(tile, t, r)  tile_zero(tile);
#define AMX_WIDE_LOAD(tile, t, r)  tile_load(tile, sums[t] + (r), sizeof *sums);
#define AMX_WIDE_STORE(tile, t, r) tile_store(tile, sums[t] + (r), sizeof *sums);
#define AMX_WIDE_OUT(tile, t, r)   tile_store(tile, out + (t)*a->end->ldo + (r), a->end->ldo * sizeof *out);

/* A step of 32 columns of a block: x points at the operand of its first piece, the others' are so much further. */
static ALWAYS_INLINE void amx_wide_step(const uint32_t *w, const uint16_t *x, size_t second, size_t third)
{
    const size_t stride = TILE_ROWS * sizeof *w, line = BF16_LINE * sizeof *x;
    tile_load(6, x, line);
    tile_load(7, w, stride);
    tile_dot_bf16(0, 6, 7);
    tile_load(7, w + HALF_ROWS, stride);
    tile_dot_bf16(1, 6, 7);
    tile_load(6, x + second, line);
    tile_dot_bf16(3, 6, 7);
    tile_load(7, w, stride);
    tile_dot_bf16(2, 6, 7);
    tile_load(6, x + third, line);
    tile_dot_bf16(4, 6, 7);
    tile_load(7, w + HALF_ROWS, stride);
    tile_dot_bf16(5, 6, 7);
}

static ALWAYS_INLINE const uint32_t *amx_wide_weights(const struct matrix *m, uint32_t r, uint32_t step)
{
    size_t tile = r / TILE_ROWS * layout_tile_bytes(m->type, m->cols);
    return (const uint32_t *)((const uint8_t *)m->data + tile) + (size_t)AMX_BF16_STEP * step;
}

/* Steps [first, upto) for a tile of rows and the tokens [t0, t1), while as many weights from `ahead` on are fetched.
 * Before the last step sums are stored in `strip`. */
static ALWAYS_INLINE void amx_wide_steps(struct amx_wide *a, enum ending_kind kind, uint32_t first, uint32_t upto,
                                         bool last, uint32_t r, uint32_t rows, uint32_t t0, uint32_t t1,
                                         const uint32_t *ahead, amx_block *strip)
{
    float idle[LANES] __attribute__((aligned(64)));
    size_t step = (size_t)BF16_LINE * AMX_TOKENS, piece = AMX_TOKENS * bf16_stride(a->p->cols);
    const uint32_t *w = amx_wide_weights(a->m, r, first);
    uint32_t steps = upto - first, blocks = (t1 - t0 + AMX_WIDE_TOKENS - 1) / AMX_WIDE_TOKENS;
    struct ahead next = {(const uint8_t *)ahead, (uint32_t)(sizeof *w * AMX_BF16_STEP) / 64 / blocks + 1, false};
    for (uint32_t t = t0; t < t1; t += AMX_WIDE_TOKENS) {
        /* Pieces that the last block lacks are the first one again, and dropped. */
        size_t second = t + AMX_TOKENS < t1 ? piece : 0, third = t + 2 * AMX_TOKENS < t1 ? 2 * piece : 0;
        const uint16_t *x = (const uint16_t *)a->p->data + t / AMX_TOKENS * piece + first * step;
        uint32_t upto_t = amx_upto(t, AMX_WIDE_TOKENS, t1);
        float(*sums)[TILE_ROWS] = !first && last ? a->sums : strip[(t - t0) / AMX_WIDE_TOKENS];
        if (first) {
            AMX_WIDE_EACH_TILE(AMX_WIDE_LOAD)
        } else {
            AMX_WIDE_EACH_TILE(AMX_WIDE_ZERO)
        }
        for (uint32_t i = 0; i < steps; i++, x += step) {
            amx_wide_step(w + (size_t)AMX_BF16_STEP * i, x, second, third);
            /* The machine measured stores a tile ten times as slowly after about a thousand cycles without one. */
            if (i % AMX_WIDE_AWAKE == 0) tile_store(6, idle, 0);
            amx_end(a, kind, AMX_WIDE_ENDED);
            uint32_t target = t + i * AMX_WIDE_ENDED;
            if (last && ending_stores(kind) && target < upto_t)
                amx_expect(a->end, r, target, amx_upto(target, AMX_WIDE_ENDED, upto_t));
            fetch(&next);
        }
        if (last && a->rest) amx_wide_step(a->rest, x, second, third);
        if (last && kind == ENDING_STORE && !a->end->bias && rows == TILE_ROWS && t + AMX_WIDE_TOKENS <= t1) {
            float *out = a->end->out + t * a->end->ldo + r;
            AMX_WIDE_EACH_TILE(AMX_WIDE_OUT)
            continue;
        }
        if (last) {
            amx_end(a, kind, AMX_WIDE_TOKENS);
            sums = a->sums;
            a->t0 = a->next = t;
            a->t1 = upto_t;
            a->r = r;
            a->rows = rows;
        }
        AMX_WIDE_EACH_TILE(AMX_WIDE_STORE)
        amx_written();
    }
}

/* kind is a constant after inlining. strip: for each tile of rows that many blocks. */
static ALWAYS_INLINE void amx_wide_of(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1,
                                      uint32_t t0, uint32_t t1, const struct ending *end, enum ending_kind kind,
                                      uint32_t parts, amx_strip *strip)
{
    uint32_t steps = m->cols / BF16_LINE, left = (m->cols % BF16_LINE + 1) / 2; /* left: pairs */
    uint32_t rest[AMX_BF16_STEP] __attribute__((aligned(64)));
    amx_block sums;
    struct amx_wide a = {.m = m, .p = p, .end = end, .rest = left ? rest : NULL, .sums = sums};
    if (left) memset(rest, 0, sizeof rest);
    for (uint32_t i = 0; i < parts; i++)
        for (uint32_t r = r0; r < r1; r += TILE_ROWS) {
            bool last = i + 1 == parts, more = r + TILE_ROWS < r1;
            const uint32_t *ahead = more   ? amx_wide_weights(m, r + TILE_ROWS, steps * i / parts)
                                    : last ? amx_wide_weights(m, r + TILE_ROWS, 0)
                                           : amx_wide_weights(m, r0, steps * (i + 1) / parts);
            if (left && last) {
                memcpy(rest, amx_wide_weights(m, r, steps), left * TILE_ROWS * sizeof *rest);
                amx_written();
            }
            amx_wide_steps(&a, kind, steps * i / parts, steps * (i + 1) / parts, last, r,
                           r1 - r < TILE_ROWS ? r1 - r : TILE_ROWS, t0, t1, ahead,
                           strip ? strip[(r - r0) / TILE_ROWS] : NULL);
        }
    amx_end(&a, kind, AMX_WIDE_TOKENS);
}

static void amx_wide_run(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0,
                         uint32_t t1, const struct ending *end, uint32_t parts, amx_strip *strip)
{
    switch (end->kind) {
    case ENDING_STORE:
        amx_wide_of(m, p, r0, r1, t0, t1, end, ENDING_STORE, parts, strip);
        break;
    case ENDING_ADD:
        amx_wide_of(m, p, r0, r1, t0, t1, end, ENDING_ADD, parts, strip);
        break;
    case ENDING_GELU_TANH:
        amx_wide_of(m, p, r0, r1, t0, t1, end, ENDING_GELU_TANH, parts, strip);
        break;
    case ENDING_GELU_ERF:
        amx_wide_of(m, p, r0, r1, t0, t1, end, ENDING_GELU_ERF, parts, strip);
        break;
    }
}

/* Not inlined: only deep products take its memory, 240 KiB of the stack. */
static void __attribute__((noinline)) amx_deep(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1,
                                               uint32_t t0, uint32_t t1, const struct ending *end, uint32_t parts)
{
    amx_strip strip[AMX_WIDE_ROWS / TILE_ROWS];
    for (uint32_t t = t0; t < t1; t = amx_upto(t, AMX_WIDE_STRIP, t1))
        for (uint32_t r = r0; r < r1; r = amx_upto(r, AMX_WIDE_ROWS, r1))
            amx_wide_run(m, p, r, amx_upto(r, AMX_WIDE_ROWS, r1), t, amx_upto(t, AMX_WIDE_STRIP, t1), end, parts,
                         strip);
}

static void amx_wide(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0, uint32_t t1,
                     const struct ending *end)
{
    uint32_t parts = (m->cols / BF16_LINE + AMX_WIDE_STEPS - 1) / AMX_WIDE_STEPS;
    amx_configure(AMX_TOKENS, 64);
    if (parts > 1)
        amx_deep(m, p, r0, r1, t0, t1, end, parts);
    else
        amx_wide_run(m, p, r0, r1, t0, t1, end, 1, NULL);
    tile_release();
}
