/* Products of quantised and F16 weights in bfloat16: part of the set amx-bf16 (set_template.h, SET_WIDENED).
 *
 * A scale for every 32 columns interrupts the matrix unit's sums after half a tile's depth (amx_template.h). Here the
 * weights of a tile are widened to bfloat16 instead, a group of up to 256 columns at a time, into 16 KiB that stay in
 * L1 while all tokens pass; sums stay in float32 tiles over all columns. While the unit multiplies a group, the vector
 * units widen the next one, and what comes after that is fetched.
 *
 * A weight is scale times quant, minimum added, as float32, rounded to bfloat16. The product of scale and quant is
 * exact: at most 24 bits for any type. So outputs have the bits of amx_bf16_product for a BF16 matrix of the same
 * weights, whatever the number of tokens. */

enum { WIDEN_STEPS = GROUP_COLS / BF16_LINE };

/* A group of weights as the unit takes them: [blocks][pairs of columns][rows of the tile]. */
typedef uint32_t widened_group[WIDEN_STEPS * AMX_BF16_STEP] __attribute__((aligned(64)));

/* The widening of a group, half a block of the tile (16 rows, 32 columns) at a time. */
struct widening {
    const uint8_t *quants[2], *scales[2]; /* of its halves; F16: quants[0] are the columns */
    uint32_t cols;                        /* of the group */
    uint32_t next, units;                 /* half blocks: the next one, all */
    uint32_t *out;
    vt values; /* the layout's table */
    const struct layout *layout;
};

/* Two columns of 16 rows as a pair: the first in the low bits. */
static ALWAYS_INLINE void widened_store(uint32_t *out, vf first, vf second)
{
    vi low = _mm512_cvtepu16_epi32(vf_bf16(first)), high = _mm512_cvtepu16_epi32(vf_bf16(second));
    vi_store((int32_t *)out, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

/* Column j of a step, whose bytes are signed. */
static ALWAYS_INLINE vf widened_column(vb step, uint32_t j)
{
    return vf_from_int(_mm512_srai_epi32(_mm512_slli_epi32(step, 24 - 8 * j), 24));
}

/* Widens the half blocks before `upto`. */
typedef void widen_fn(struct widening *w, uint32_t upto);

/* The next half block. form, bits, width, sub: those of INT8_ONE_TOKEN, constants after inlining. */
static ALWAYS_INLINE void widen_half_block(struct widening *w, enum scale_form form, uint32_t bits, uint32_t width,
                                           uint32_t sub)
{
    const uint32_t half = w->next % 2, b = w->next / 2, each = BLOCK_COLS / sub, n = w->cols / sub * HALF_ROWS;
    const uint8_t *block = w->quants[half] + b * STEP_BYTES * (bits ? bits : 8), *scales = w->scales[half];
    const vb offset = _mm512_set1_epi8((char)w->layout->offset);
    uint32_t *out = w->out + b * AMX_BF16_STEP + half * HALF_ROWS;
    vf group = vf_set(1), least = vf_set(0);
    if (form_has_levels(form)) group = packed_group(form, w->layout->unit, scales, n, 0);
    if (form_has_minima(form)) least = vf_mul(vf_set(-128), packed_least(form, scales, n, 0));
    UNROLL for (uint32_t s = 0; s < each; s++) {
        const uint32_t i = b * each + s;
        vf scale = packed_scale(form, scales, i, 0), min = vf_set(0);
        if (form_has_levels(form)) scale = vf_mul(group, scale);
        if (form_has_minima(form)) min = packed_min(form, scales, n, i, 0, least);
        UNROLL for (uint32_t k = s * (sub / 4); k < (s + 1) * (sub / 4); k++) {
            vb step = bits ? packed_step(bits, block, k) : vb_load(block + STEP_BYTES * k);
            if (bits && bits < width) step = vb_look_up(w->values, step);
            else if (bits) step = _mm512_sub_epi8(step, offset);
            vf column[4];
            UNROLL for (uint32_t j = 0; j < 4; j++)
                column[j] = form_has_minima(form) ? vf_fma(widened_column(step, j), scale, min)
                                                  : vf_mul(widened_column(step, j), scale);
            widened_store(out + 2 * k * TILE_ROWS, column[0], column[1]);
            widened_store(out + (2 * k + 1) * TILE_ROWS, column[2], column[3]);
        }
    }
    w->next++;
}

#define WIDEN(form, bits, width, sub)                                                                                  \
    static void widen_##form##_##bits##_##width##_##sub(struct widening *w, uint32_t upto)                             \
    {                                                                                                                  \
        while (w->next < upto) widen_half_block(w, form, bits, width, sub);                                            \
    }
INT8_ONE_TOKEN(WIDEN)
#undef WIDEN

/* F16, whose last block may lack columns: they are zero. */
static void widen_f16(struct widening *w, uint32_t upto)
{
    for (; w->next < upto; w->next++) {
        const uint32_t half = w->next % 2, b = w->next / 2;
        uint32_t *out = w->out + b * AMX_BF16_STEP + half * HALF_ROWS;
        for (uint32_t c = BF16_LINE * b; c < BF16_LINE * (b + 1); c += 2, out += TILE_ROWS) {
            const uint16_t *in = (const uint16_t *)w->quants[0] + (size_t)c * TILE_ROWS + half * HALF_ROWS;
            widened_store(out, c < w->cols ? vf_load_f16(in) : vf_set(0),
                          c + 1 < w->cols ? vf_load_f16(in + TILE_ROWS) : vf_set(0));
        }
    }
}

static widen_fn *widen_of(const struct layout *l)
{
#define WIDEN(form, bits, width, sub)                                                                                  \
    if (INT8_HAS(l, form, bits, width, sub)) return widen_##form##_##bits##_##width##_##sub;
    INT8_ONE_TOKEN(WIDEN)
#undef WIDEN
    return widen_f16;
}

/* Begins with the group from column c on, at `packed`; returns its bytes. */
static size_t widen_begin(struct widening *w, const uint8_t *packed, uint32_t cols, uint32_t *out)
{
    uint32_t blocks = (cols + BF16_LINE - 1) / BF16_LINE;
    w->cols = cols;
    w->next = 0;
    w->units = 2 * blocks;
    w->out = out;
    w->quants[0] = packed;
    if (w->layout->form == SCALE_NONE) return (size_t)cols * TILE_ROWS * sizeof(uint16_t);
    const struct layout_group at = layout_group(w->layout, blocks);
    for (int half = 0; half < 2; half++) {
        w->quants[half] = packed + at.quants[half];
        w->scales[half] = packed + at.scales[half];
    }
    return at.bytes;
}

/* As amx_bf16_product. */
static void amx_widened_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0,
                                uint32_t tokens, struct stream *stream, float *acc)
{
    widened_group group[2];
    uint8_t table[16] __attribute__((aligned(16))) = {0};
    struct widening w = {.layout = &layouts[m->type]};
    widen_fn *widen = widen_of(w.layout);
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    size_t step, piece = AMX_TOKENS * bf16_stride(p->cols);
    const uint16_t *x = bf16_row(p, t0, &step);
    const uint32_t pieces = amx_pieces(tokens), pairs = (pieces + 1) / 2;
    uint32_t left = m->cols, some = left < GROUP_COLS ? left : GROUP_COLS, g = 0;

    expand_table(w.layout, EXPAND_SIGNED, table);
    w.values = vt_load(table);
    packed += widen_begin(&w, packed, some, group[0]);
    widen(&w, w.units);
    amx_bf16_zero();
    for (; some; g++, x += WIDEN_STEPS * step) {
        const uint32_t steps = (some + BF16_LINE - 1) / BF16_LINE, *at = group[g % 2];
        uint32_t done = 0;
        struct ahead next = {0};
        left -= some;
        some = left < GROUP_COLS ? left : GROUP_COLS;
        w.units = w.next = 0;
        if (some) {
            const uint8_t *from = packed;
            packed += widen_begin(&w, packed, some, group[(g + 1) % 2]);
            next = stream_on(stream, from, (size_t)(packed - from), INT8_DISTANCE, false, steps * pairs);
        }
        amx_written();
        for (uint32_t pair = 0; pair < pairs; pair++) {
            bool two = 2 * pair + 1 < pieces;
            const uint16_t *from = x + 2 * pair * piece;
            float *sums = acc + (size_t)2 * pair * AMX_TOKENS * TILE_ROWS;
            if (pairs > 1) {
                if (g) amx_bf16_load(two, sums);
                else amx_bf16_zero();
            }
            for (uint32_t i = 0; i < steps; i++, from += step) {
                if (two) amx_bf16_steps(at + (size_t)AMX_BF16_STEP * i, 1, true, from, from + piece, step, &next);
                else amx_bf16_steps(at + (size_t)AMX_BF16_STEP * i, 1, false, from, from, step, &next);
                widen(&w, w.units * ++done / (steps * pairs));
            }
            if (!some || pairs > 1) amx_bf16_store(two, sums);
        }
    }
}

static enum panel_kind widened_panel_of(enum type type)
{
    return type == TYPE_F32 ? PANEL_F32 : PANEL_BF16;
}
