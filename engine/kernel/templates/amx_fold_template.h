/* Products on the matrix unit with weights of two levels of scales (the K types, IQ2 to IQ4_XS): part of the amx set
 * (set_template.h, SET_AMX). README.md, 'Folded weights', has the arithmetic.
 *
 * A weight is a float of its row and group times an integer, quant times the scale of its sub-block. These integers are
 * made once for each group and dispatch and cut into one or two planes of bytes, so that whole tile products of 64
 * columns add up 128 of them, and a sum of 128 columns takes one conversion whatever its sub-blocks.
 *
 *   FOLD_BYTE     one signed byte: Q2_K up to 15 x 3; Q3_K negated, as its 32 x 4 fits as -128 only
 *   FOLD_EIGHTHS  8 high + low, both unsigned: high = (scale / 8) quant, low = (scale % 8) quant, up to 7 x 31
 *   FOLD_WORD     256 high + low: the upper signed, the lower unsigned byte of up to 128 x 32 (Q6_K),
 *                 32 x 127 (IQ4_XS), 31 x 62 (the codebook types)
 *
 * A sum of 128 products with activations of up to 128 is below 2^27 for all of them, so int32 holds it for any file. */
#ifndef TANDEM_KERNEL_AMX_FOLD_TEMPLATE_H
#define TANDEM_KERNEL_AMX_FOLD_TEMPLATE_H

enum fold { FOLD_BYTE, FOLD_EIGHTHS, FOLD_WORD };

/* One half and group as operands of tile products, 64 columns being 1 KiB. */
struct amx_folded {
    uint8_t high[GROUP_COLS * HALF_ROWS] __attribute__((aligned(64)));
    uint8_t low[GROUP_COLS * HALF_ROWS] __attribute__((aligned(64)));
    float group[HALF_ROWS] __attribute__((aligned(64)));
};

static ALWAYS_INLINE enum fold amx_fold_of(const struct layout *l)
{
    return l->bits <= 3 && !l->table ? FOLD_BYTE : l->form == SCALE_BYTE_MIN ? FOLD_EIGHTHS : FOLD_WORD;
}

/* Bytes of one 16-bit lane out of two: the first of `even`, the first of `odd` as the second; the second ones. */
static ALWAYS_INLINE __m512i amx_first_bytes(__m512i even, __m512i odd)
{
    return _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, even, _mm512_slli_epi16(odd, 8));
}

static ALWAYS_INLINE __m512i amx_second_bytes(__m512i even, __m512i odd)
{
    return _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, _mm512_srli_epi16(even, 8), odd);
}

/* The folded weights of one block of 32 columns, from quants as they are packed; scales: [sub-blocks][16 rows]. bits,
 * sub, offset (quants have 2 to its power added; 0: nothing) and whether there is a table are constants after
 * inlining. */
static ALWAYS_INLINE void amx_fold_block(enum fold fold, uint32_t bits, uint32_t sub, int offset, const int8_t *table,
                                         const uint8_t *quants, const uint8_t *scales, uint8_t *high, uint8_t *low)
{
    /* Scales four times each, as a row has four columns in a step. */
    const __m512i four = _mm512_broadcast_i32x4(_mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0));
    __m512i values = _mm512_setzero_si512(); /* of the table, 128 added */
    if (table)
        values = _mm512_xor_si512(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table)),
                                  _mm512_set1_epi8((char)128));
    UNROLL for (uint32_t k = 0; k < BLOCK_STEPS; k++) {
        const __m128i *rows = (const __m128i *)(scales + HALF_ROWS * (4 * k / sub));
        __m512i scale = _mm512_shuffle_epi8(_mm512_cvtepu8_epi32(_mm_loadu_si128(rows)), four);
        __m512i q = packed_step(bits, quants, k), first, second;
        if (table) q = _mm512_shuffle_epi8(values, q);
        if (!offset) { /* products of unsigned bytes that are bytes again: one multiplication of 16 bits makes two */
            __m512i less = _mm512_and_si512(scale, _mm512_set1_epi16(fold == FOLD_BYTE ? 15 : 7));
            first = _mm512_mullo_epi16(q, less);
            second = _mm512_mullo_epi16(q, _mm512_and_si512(_mm512_srli_epi16(scale, 3), _mm512_set1_epi16(7)));
        } else { /* columns of even and odd numbers */
            __m512i left = _mm512_maskz_mov_epi8(0x5555555555555555, scale);
            __m512i right = _mm512_maskz_mov_epi8(0xaaaaaaaaaaaaaaaa, scale),
                    more = _mm512_srai_epi16(right, 8 - offset);
            __m512i even = _mm512_sub_epi16(_mm512_maddubs_epi16(q, left), more);
            __m512i odd = _mm512_sub_epi16(_mm512_maddubs_epi16(q, right), more);
            if (fold == FOLD_BYTE) {
                even = _mm512_sub_epi16(_mm512_setzero_si512(), even);
                odd = _mm512_sub_epi16(_mm512_setzero_si512(), odd);
            }
            first = amx_first_bytes(even, odd);
            second = amx_second_bytes(even, odd);
        }
        _mm512_store_si512(low + STEP_BYTES * k, first);
        if (fold != FOLD_BYTE) _mm512_store_si512(high + STEP_BYTES * k, second);
    }
}

/* out[2 pairs][16 rows] = 2 s + 1 of a half's SCALE_ODD. */
static void amx_odd_scales(const uint8_t *packed, uint32_t pairs, uint8_t *out)
{
    typedef uint8_t bytes16 __attribute__((vector_size(16), may_alias, aligned(16)));
    for (uint32_t i = 0; i < pairs; i++) {
        bytes16 both = *(const bytes16 *)(packed + HALF_ROWS * i);
        *(bytes16 *)(out + 2 * HALF_ROWS * i) = (both & 15) * 2 + 1;
        *(bytes16 *)(out + 2 * HALF_ROWS * i + HALF_ROWS) = (both >> 4) * 2 + 1;
    }
}

/* One half's group, and its scales and minima. */
static void amx_fold(const struct layout *l, const uint8_t *quants, const uint8_t *scales, struct expanded *e,
                     struct amx_folded *out)
{
    expand(l, quants, scales, GROUP_COLS / BLOCK_COLS, EXPAND_SCALES, e);
    vf group = vf_load(e->group);
    if (l->bits == 3 && !l->table) group = vf_sub(vf_set(0), group); /* see FOLD_BYTE */
    vf_store(out->group, group);
#define AMX_FOLD(fold, bits, sub, offset, table)                                                                       \
    for (uint32_t b = 0; b < GROUP_COLS / BLOCK_COLS; b++)                                                             \
        amx_fold_block(fold, bits, sub, offset, table, quants + STEP_BYTES * (bits) * b,                               \
                       scales + HALF_ROWS * (BLOCK_COLS / (sub)) * b, out->high + STEP_BYTES * BLOCK_STEPS * b,        \
                       out->low + STEP_BYTES * BLOCK_STEPS * b)
    uint8_t odd[16 * HALF_ROWS] __attribute__((aligned(64)));
    if (l->form == SCALE_ODD) {
        amx_odd_scales(scales, GROUP_COLS / l->sub / 2, odd);
        scales = odd;
    }
    switch (l->bits) {
    case 2: AMX_FOLD(FOLD_BYTE, 2, 16, 0, NULL); break;
    case 3:
        if (!l->table) AMX_FOLD(FOLD_BYTE, 3, 16, 2, NULL);
        else if (l->sub == 16) AMX_FOLD(FOLD_WORD, 3, 16, 7, l->table);
        else AMX_FOLD(FOLD_WORD, 3, 32, 7, l->table);
        break;
    case 5: AMX_FOLD(FOLD_EIGHTHS, 5, 32, 0, NULL); break;
    case 6: AMX_FOLD(FOLD_WORD, 6, 16, 5, NULL); break;
    default:
        if (l->table) AMX_FOLD(FOLD_WORD, 4, 32, 7, l->table);
        else AMX_FOLD(FOLD_EIGHTHS, 4, 32, 0, NULL);
    }
#undef AMX_FOLD
}

enum { AMX_CHUNKS = GROUP_COLS / ACT_COLS };

/* Sums of 128 columns: [low and high plane][tokens][16 rows]. */
typedef int32_t amx_folded_sums[2][AMX_TOKENS][HALF_ROWS] __attribute__((aligned(64)));

/* The sums of a piece and group. Those of rows 0-15 are in tiles 0 and 1, of rows 16-31 in 2 and 3, and are stored
 * while the unit makes the others: a product's result comes 52 cycles after its beginning, each product begins 16 after
 * another. */
static ALWAYS_INLINE void amx_fold_multiply(enum fold fold, const struct amx_folded *w, const struct act *a,
                                            size_t stride, amx_folded_sums (*sums)[2], struct ahead next)
{
    const bool two = fold != FOLD_BYTE;
#define AMX_FOLD_STEP(LOW, HIGH, X, half, k)                                                                           \
    tile_load(5, w[half].low + 1024 * (2 * c + k), STEP_BYTES);                                                        \
    if (two) tile_dot_mixed(LOW, X, 5);                                                                                \
    else tile_dot_signed(LOW, X, 5);                                                                                   \
    if (two) {                                                                                                         \
        tile_load(6, w[half].high + 1024 * (2 * c + k), STEP_BYTES);                                                   \
        if (fold == FOLD_WORD) tile_dot_signed(HIGH, X, 6);                                                            \
        else tile_dot_mixed(HIGH, X, 6);                                                                               \
    }                                                                                                                  \
    fetch(&next)
#define AMX_FOLD_STORE(LOW, HIGH, c, half)                                                                             \
    tile_store(LOW, sums[c][half][0], 64);                                                                             \
    if (two) tile_store(HIGH, sums[c][half][1], 64)
    UNROLL for (uint32_t c = 0; c < AMX_CHUNKS; c++) {
        const int8_t *x = a[c * stride].q;
        tile_zero(0);
        tile_zero(1);
        tile_load(4, x, sizeof(struct act));
        AMX_FOLD_STEP(0, 1, 4, 0, 0);
        if (c) {
            AMX_FOLD_STORE(2, 3, c - 1, 1);
        }
        tile_zero(2);
        tile_zero(3);
        AMX_FOLD_STEP(2, 3, 4, 1, 0);
        tile_load(7, x + 64, sizeof(struct act));
        AMX_FOLD_STEP(0, 1, 7, 0, 1);
        AMX_FOLD_STORE(0, 1, c, 0);
        AMX_FOLD_STEP(2, 3, 7, 1, 1);
    }
    AMX_FOLD_STORE(2, 3, AMX_CHUNKS - 1, 1);
#undef AMX_FOLD_STORE
#undef AMX_FOLD_STEP
}

static ALWAYS_INLINE vf amx_fold_sum(enum fold fold, const amx_folded_sums sums, uint32_t t)
{
    vi low = _mm512_load_si512(sums[0][t]);
    if (fold == FOLD_BYTE) return vf_from_int(low);
    return vf_from_int(vi_add(low, _mm512_slli_epi32(_mm512_load_si512(sums[1][t]), fold == FOLD_WORD ? 8 : 3)));
}

/* acc[tokens][TILE_ROWS] += one group less its minima. fold is a constant after inlining. */
static ALWAYS_INLINE void amx_fold_piece(enum fold fold, const struct amx_folded *w, uint32_t tokens,
                                         const struct act *a, size_t stride, float *acc, struct ahead next)
{
    amx_folded_sums sums[AMX_CHUNKS][2];
    amx_fold_multiply(fold, w, a, stride, sums, next);
    amx_written();
    for (uint32_t half = 0; half < 2; half++, acc += HALF_ROWS) {
        vf group = vf_load(w[half].group);
        for (uint32_t t = 0; t < tokens; t++) {
            vf first = vf_mul(amx_fold_sum(fold, sums[0][half], t), vf_set(a[t].d));
            vf both = vf_fma(amx_fold_sum(fold, sums[1][half], t), vf_set(a[stride + t].d), first);
            vf_store(acc + t * TILE_ROWS, vf_fma(both, group, vf_load(acc + t * TILE_ROWS)));
        }
    }
}

/* As amx_int8_product. */
static void amx_folded_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0,
                               uint32_t tokens, struct stream *stream, float *acc)
{
    const struct layout *l = &layouts[m->type];
    const uint32_t blocks = GROUP_COLS / BLOCK_COLS, pieces = amx_pieces(tokens);
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    const struct layout_group at = layout_group(l, blocks);
    enum fold fold = amx_fold_of(l);
    struct expanded low, high;
    const struct expanded *const halves[2] = {&low, &high};
    struct amx_folded w[2];

    memset(acc, 0, sizeof *acc * tokens * TILE_ROWS);
    for (uint32_t c = 0; c < m->cols; c += GROUP_COLS, packed += at.bytes) {
        const struct act *a = (const struct act *)p->data + (size_t)(c / ACT_COLS) * p->tokens + t0;
        struct ahead next = stream_on(stream, packed, at.bytes, INT8_DISTANCE, false, 4 * AMX_CHUNKS * pieces);
        amx_fold(l, packed + at.quants[0], packed + at.scales[0], &low, &w[0]);
        amx_fold(l, packed + at.quants[1], packed + at.scales[1], &high, &w[1]);
        amx_written();
        int8_add_minima(l, halves, blocks, tokens, a, p->tokens, acc);
        for (uint32_t i = 0; i < pieces; i++) {
            uint32_t from = tokens * i / pieces, n = tokens * (i + 1) / pieces - from;
            float *sums = acc + from * TILE_ROWS;
            switch (fold) {
            case FOLD_BYTE: amx_fold_piece(FOLD_BYTE, w, n, a + from, p->tokens, sums, next); break;
            case FOLD_EIGHTHS: amx_fold_piece(FOLD_EIGHTHS, w, n, a + from, p->tokens, sums, next); break;
            default: amx_fold_piece(FOLD_WORD, w, n, a + from, p->tokens, sums, next);
            }
            next = ahead_after(next, 4 * AMX_CHUNKS);
        }
    }
}

#endif
