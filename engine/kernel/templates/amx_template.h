/* Products on the matrix unit of Intel's server cores (AMX): part of the amx set (set_template.h, SET_AMX). README.md,
 * 'The matrix unit', has the pictures.
 *
 * Quantised weights with one level of scales: 16 rows and 32 columns that share a scale are, as they are packed, one
 * operand of a tile product, up to 16 tokens the other; the integer sums of 16 tokens x 16 rows leave through L1 and
 * are converted, scaled and added in the order of int8_template.h. The integers are exact, so the bits are those of the
 * vector kernels, which take few tokens. Two levels of scales: amx_fold_template.h.
 *
 * BF16: the packed layout is the operand too. Sums stay in tiles over all columns. Every number of tokens is multiplied
 * this way, since the bits of an output depend on the tile product's own order of summation.
 *
 * Tiles belong to the thread. set_matmul configures them and releases them again, so that an idle thread has no tiles
 * to save. Compilers don't see which memory a tile load reads: amx_written() stands between writing and loading it. */
#ifndef TANDEM_KERNEL_AMX_TEMPLATE_H
#define TANDEM_KERNEL_AMX_TEMPLATE_H

enum {
    AMX_TOKENS = 16, /* rows of a tile */
    AMX_SUBS = 4,    /* sub-blocks whose sums wait together */
    /* The number of tokens from which the matrix unit is worth its loads and stores; and also Q4_K's minima, or folding
     * weights to one byte; folding to two (amx_fold_template.h); folding Q4_K. */
    AMX_LEAST = 7,
    AMX_LEAST_FOLDED = 12,
    AMX_LEAST_FOLDED_TWICE = 16,
    AMX_LEAST_FOLDED_Q4_K = 33,
};

#define amx_written() __asm__ volatile("" ::: "memory")

/* Tiles 0-3: sums [tokens][16]; 4 and 7: activations [tokens][bytes]; 5 and 6: weights [bytes / 4][16][4]. */
static void amx_configure(uint32_t tokens, uint32_t bytes)
{
    struct {
        uint8_t palette, start_row, unused[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        bool activations = i == 4 || i == 7, weights = i == 5 || i == 6;
        config.row_bytes[i] = (uint16_t)(activations ? bytes : 64);
        config.rows[i] = (uint8_t)(weights ? bytes / 4 : tokens);
    }
    amx_written();
    tile_configure(&config);
}

/* Whether a product with a panel of this kind is made on tiles. */
static ALWAYS_INLINE bool amx_takes(enum panel_kind kind, enum type type, uint32_t tokens)
{
    const struct layout *l = &layouts[type];
    if (kind != PANEL_INT8) return kind == PANEL_BF16;
    if (!layout_has_levels(l)) return tokens >= AMX_LEAST;
    return tokens >= ((l->bits <= 3 && !l->table) || type == TYPE_Q4_K ? AMX_LEAST_FOLDED : AMX_LEAST_FOLDED_TWICE);
}

/* Whether its weights are folded first (amx_fold_template.h). Those of Q4_K need not be, as floats hold its sums
 * (sums_are_whole). */
static ALWAYS_INLINE bool amx_folds(enum type type, uint32_t tokens)
{
    return layout_has_levels(&layouts[type]) && (type != TYPE_Q4_K || tokens >= AMX_LEAST_FOLDED_Q4_K);
}

/* Bytes of a row of activations in one tile product. */
static ALWAYS_INLINE uint32_t amx_bytes(enum panel_kind kind, enum type type, uint32_t tokens)
{
    return kind == PANEL_BF16 || amx_folds(type, tokens) ? 64 : BLOCK_COLS;
}

static ALWAYS_INLINE uint32_t amx_pieces(uint32_t tokens)
{
    return (tokens + AMX_TOKENS - 1) / AMX_TOKENS;
}

/* Rows of the tiles. Tokens are cut into pieces of nearly the same size; the operands of bfloat16 are cut already. */
static ALWAYS_INLINE uint32_t amx_rows(enum panel_kind kind, uint32_t tokens)
{
    if (kind == PANEL_BF16) return tokens < AMX_TOKENS ? tokens : AMX_TOKENS;
    return (tokens + amx_pieces(tokens) - 1) / amx_pieces(tokens);
}

/* ---- Quantised weights ------------------------------------------------------------------------------------------ */

typedef int32_t amx_sums[AMX_SUBS][AMX_TOKENS][HALF_ROWS] __attribute__((aligned(64)));

/* An instance computes `most` tokens, the piece's number rounded up to a multiple of four; results beyond `tokens` are
 * dropped. */
static ALWAYS_INLINE bool amx_is_token(uint32_t t, uint32_t most, uint32_t tokens)
{
    return t + 3 < most || t < tokens;
}

/* part[token] += the sums of one sub-block of 16 rows, scaled. */
static ALWAYS_INLINE void amx_add(vf *part, uint32_t most, const int32_t (*sums)[HALF_ROWS], const float *scale)
{
    vf by = vf_load(scale);
    UNROLL for (uint32_t t = 0; t < most; t++)
        part[t] = vf_fma(vf_from_int(_mm512_load_si512(sums[t])), by, part[t]);
}

/* acc[token] += part * d. With two levels of scales the first 128 columns of a group wait in `first` for the others. */
static ALWAYS_INLINE void amx_total(const vf *part, uint32_t most, uint32_t tokens, const struct act *a, float *acc,
                                    bool levels, uint32_t chunk, float (*first)[HALF_ROWS], const float *group)
{
    UNROLL for (uint32_t t = 0; t < most; t++) {
        float *out = acc + t * TILE_ROWS;
        if (!amx_is_token(t, most, tokens)) continue;
        vf d = vf_set(a[t].d);
        if (!levels) vf_store(out, vf_fma(part[t], d, vf_load(out)));
        else if (!chunk) vf_store(first[t], vf_mul(part[t], d));
        else vf_store(out, vf_fma(vf_fma(part[t], d, vf_load(first[t])), vf_load(group), vf_load(out)));
    }
}

/* The sums of sub-block b of both halves to tiles LOW and HIGH; X holds the activations. */
#define AMX_MULTIPLY(b, LOW, HIGH, X)                                                                                  \
    tile_zero(LOW);                                                                                                    \
    tile_zero(HIGH);                                                                                                   \
    tile_load(X, x + BLOCK_COLS * (b), sizeof(struct act));                                                            \
    tile_load(5, low + BLOCK_STEPS * STEP_BYTES * (b), STEP_BYTES);                                                    \
    tile_dot_signed(LOW, X, 5);                                                                                        \
    tile_load(6, high + BLOCK_STEPS * STEP_BYTES * (b), STEP_BYTES);                                                   \
    tile_dot_signed(HIGH, X, 6);                                                                                       \
    fetch(&next)

/* acc[tokens][TILE_ROWS] += one group of up to 256 columns whose scales cover 32, less its minima. While the matrix
 * unit makes the sums of 128 columns, those of the 128 before are scaled. levels (two, of scales) and most (4, 8, 12 or
 * 16) are constants after inlining. */
static ALWAYS_INLINE void amx_piece(const struct expanded *const *e, uint32_t blocks, bool levels, uint32_t most,
                                    uint32_t tokens, const struct act *a, size_t stride, float *acc, struct ahead next)
{
    float first[2][AMX_TOKENS][HALF_ROWS] __attribute__((aligned(64)));
    amx_sums sums[2][2]; /* [turn][half] */
    vf part[AMX_TOKENS];
    uint32_t chunks = (blocks + AMX_SUBS - 1) / AMX_SUBS;
    /* not zeroed, but the compiler is told that they are written: rows beyond the tokens are dropped */
    __asm__("" : "=m"(sums), "=m"(first));
    for (uint32_t c = 0; c <= chunks; c++) {
        bool more = c < chunks;
        uint32_t here = more ? blocks - AMX_SUBS * c : 0; /* sub-blocks to multiply: four, or those that are left */
        uint32_t done = c ? c - 1 : 0, left = c ? blocks - AMX_SUBS * done : 0; /* sub-blocks to scale */
        amx_sums *now = sums[c % 2], *before = sums[(c + 1) % 2];
        const struct act *records = a + done * stride;
        const int8_t *x = a[c * stride].q;
        const uint8_t *low = e[0]->q + ACT_COLS * HALF_ROWS * c, *high = e[1]->q + ACT_COLS * HALF_ROWS * c;
#define AMX_ADD(half, b)                                                                                               \
    if (b < left)                                                                                                      \
    amx_add(part, most, before[half][b], e[half]->scale + HALF_ROWS * (AMX_SUBS * done + b))
        UNROLL for (uint32_t t = 0; t < most; t++) part[t] = vf_set(0);
        if (here > 0) {
            AMX_MULTIPLY(0, 0, 1, 4);
        }
        AMX_ADD(0, 0);
        if (here > 1) {
            AMX_MULTIPLY(1, 2, 3, 7);
        }
        AMX_ADD(0, 1);
        if (more) tile_store(0, now[0][0], 64);
        AMX_ADD(0, 2);
        if (more) tile_store(1, now[1][0], 64);
        if (here > 2) {
            AMX_MULTIPLY(2, 0, 1, 4);
        }
        AMX_ADD(0, 3);
        if (more) tile_store(2, now[0][1], 64);
        if (left) amx_total(part, most, tokens, records, acc, levels, done, first[0], e[0]->group);
        UNROLL for (uint32_t t = 0; t < most; t++) part[t] = vf_set(0);
        AMX_ADD(1, 0);
        if (more) tile_store(3, now[1][1], 64);
        if (here > 3) {
            AMX_MULTIPLY(3, 2, 3, 7);
        }
        AMX_ADD(1, 1);
        if (more) tile_store(0, now[0][2], 64);
        AMX_ADD(1, 2);
        if (more) tile_store(1, now[1][2], 64);
        AMX_ADD(1, 3);
        if (more) {
            tile_store(2, now[0][3], 64);
            tile_store(3, now[1][3], 64);
        }
        if (left) amx_total(part, most, tokens, records, acc + HALF_ROWS, levels, done, first[1], e[1]->group);
    }
#undef AMX_ADD
}

/* int8_group_fn */
#define AMX_GROUP(name, levels)                                                                                        \
    static void name(const struct expanded *const *e, uint32_t blocks, uint32_t tokens, const struct act *a,           \
                     size_t stride, float *acc, struct ahead next)                                                     \
    {                                                                                                                  \
        amx_written();                                                                                                 \
        switch ((tokens + 3) / 4) {                                                                                    \
        case 1: amx_piece(e, blocks, levels, 4, tokens, a, stride, acc, next); break;                                  \
        case 2: amx_piece(e, blocks, levels, 8, tokens, a, stride, acc, next); break;                                  \
        case 3: amx_piece(e, blocks, levels, 12, tokens, a, stride, acc, next); break;                                 \
        default: amx_piece(e, blocks, levels, 16, tokens, a, stride, acc, next); break;                                \
        }                                                                                                              \
    }

AMX_GROUP(amx_group, false)
AMX_GROUP(amx_group_levels, true)

/* A piece may have one token fewer than the tiles have rows, except the last: tiles don't reach beyond the panel. */
static void amx_int8_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0, uint32_t tokens,
                             struct stream *stream, float *acc)
{
    int8_group_fn *group = layout_has_levels(&layouts[m->type]) ? amx_group_levels : amx_group;
    int8_groups(m, p, tile, t0, tokens, stream, group, amx_pieces(tokens), EXPAND_SIGNED, acc);
}

/* ---- BF16 ------------------------------------------------------------------------------------------------------- */

enum {
    AMX_BF16_STEP = BF16_LINE / 2 * TILE_ROWS, /* pairs of weights that a step of 32 columns takes */
    AMX_BF16_STEPS = 8, /* of a block: 16 KiB of weights, which stay in L1 while the tokens pass */
};

/* Some steps for one or two pieces of activations: sums in tiles 0, 1 and 2, 3. x, y: their operands, `step` elements a
 * step; each step fetches the lines of `next`. */
static ALWAYS_INLINE void amx_bf16_steps(const uint32_t *w, uint32_t steps, bool two, const uint16_t *x,
                                         const uint16_t *y, size_t step, struct ahead *next)
{
    const size_t stride = TILE_ROWS * sizeof *w, line = BF16_LINE * sizeof *x;
    for (uint32_t i = 0; i < steps; i++, w += AMX_BF16_STEP, x += step, y += step) {
        tile_load(4, x, line);
        tile_load(5, w, stride);
        tile_dot_bf16(0, 4, 5);
        tile_load(6, w + HALF_ROWS, stride);
        tile_dot_bf16(1, 4, 6);
        if (two) {
            tile_load(7, y, line);
            tile_dot_bf16(2, 7, 5);
            tile_dot_bf16(3, 7, 6);
        }
        fetch(next);
    }
}

/* Sums of one or two pieces between tiles and acc[piece][16][TILE_ROWS]. */
static ALWAYS_INLINE void amx_bf16_load(bool two, const float *acc)
{
    const size_t stride = TILE_ROWS * sizeof *acc;
    tile_load(0, acc, stride);
    tile_load(1, acc + HALF_ROWS, stride);
    if (!two) return;
    tile_load(2, acc + AMX_TOKENS * TILE_ROWS, stride);
    tile_load(3, acc + AMX_TOKENS * TILE_ROWS + HALF_ROWS, stride);
}

static ALWAYS_INLINE void amx_bf16_store(bool two, float *acc)
{
    const size_t stride = TILE_ROWS * sizeof *acc;
    tile_store(0, acc, stride);
    tile_store(1, acc + HALF_ROWS, stride);
    if (!two) return;
    tile_store(2, acc + AMX_TOKENS * TILE_ROWS, stride);
    tile_store(3, acc + AMX_TOKENS * TILE_ROWS + HALF_ROWS, stride);
}

static ALWAYS_INLINE void amx_bf16_zero(void)
{
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
}

/* As amx_int8_product, for tokens of one piece or of pieces that begin with the panel's: the rows that the last one
 * lacks are there, and their sums are dropped. Blocks of columns pass all tokens, two pieces at a time, whose sums
 * wait in acc; those of a single pair stay in tiles. */
static void amx_bf16_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0, uint32_t tokens,
                             struct stream *stream, float *acc)
{
    const uint32_t *w = (const uint32_t *)((const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols));
    size_t step, piece = AMX_TOKENS * bf16_stride(p->cols);
    const uint16_t *x = bf16_row(p, t0, &step);
    uint32_t steps = m->cols / BF16_LINE, left = (m->cols % BF16_LINE + 1) / 2; /* left: pairs */
    uint32_t rest[AMX_BF16_STEP] __attribute__((aligned(64)));
    uint32_t pieces = amx_pieces(tokens), pairs = (pieces + 1) / 2;

    if (left) { /* the panel's columns beyond the last are zero, and so must be the weights' */
        memcpy(rest, w + (size_t)AMX_BF16_STEP * steps, left * TILE_ROWS * sizeof *w);
        memset(rest + left * TILE_ROWS, 0, (AMX_BF16_STEP - left * TILE_ROWS) * sizeof *w);
    }
    amx_written();
    amx_bf16_zero();
    for (uint32_t i = 0, n; i < steps + (left > 0); i += n) {
        bool tail = i == steps;
        n = tail ? 1 : steps - i < AMX_BF16_STEPS ? steps - i : AMX_BF16_STEPS;
        bool more = i + n < steps + (left > 0);
        const uint32_t *at = tail ? rest : w + (size_t)AMX_BF16_STEP * i;
        size_t bytes = n * sizeof *w * AMX_BF16_STEP;
        struct ahead next = {0};
        if (!tail) next = stream_on(stream, (const uint8_t *)at, bytes, AMX_BF16_STEPS * 2048, pieces == 1, n * pairs);
        for (uint32_t pair = 0; pair < pairs; pair++) {
            bool two = 2 * pair + 1 < pieces;
            const uint16_t *from = x + 2 * pair * piece + i * step;
            float *sums = acc + (size_t)2 * pair * AMX_TOKENS * TILE_ROWS;
            if (pairs > 1) {
                if (i) amx_bf16_load(two, sums);
                else amx_bf16_zero();
            }
            if (two) amx_bf16_steps(at, n, true, from, from + piece, step, &next);
            else amx_bf16_steps(at, n, false, from, from, step, &next);
            if (!more || pairs > 1) amx_bf16_store(two, sums);
        }
    }
}

/* ---- Ceiling ---------------------------------------------------------------------------------------------------- */

static uint64_t amx_peak(enum panel_kind kind, uint64_t rounds)
{
    if (kind == PANEL_F32) return 0;
    amx_configure(AMX_TOKENS, 64);
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
    tile_zero(4);
    tile_zero(5);
    for (uint64_t n = 0; n < rounds; n++) {
        if (kind == PANEL_BF16) {
            tile_dot_bf16(0, 4, 5);
            tile_dot_bf16(1, 4, 5);
            tile_dot_bf16(2, 4, 5);
            tile_dot_bf16(3, 4, 5);
        } else {
            tile_dot_signed(0, 4, 5);
            tile_dot_signed(1, 4, 5);
            tile_dot_signed(2, 4, 5);
            tile_dot_signed(3, 4, 5);
        }
    }
    tile_release();
    return rounds * 4 * AMX_TOKENS * HALF_ROWS * (kind == PANEL_BF16 ? 32 : 64) * 2;
}

#endif
