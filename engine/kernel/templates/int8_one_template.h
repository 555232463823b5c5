/* Products of a single token with quantised weights: part of a kernel set (set_template.h). The sums are those of
 * int8_template.h, in the same order.
 *
 * Such a product should take no longer than its weights take to come from memory. So nothing is expanded: quants,
 * scales and minima go from the packed bytes to registers. And the lines come to L1, a group and a quarter before their
 * use: on their way from L2 they would occupy a core's few buffers for outstanding loads a second time, and the scales,
 * which are needed first, lie at the end of the group. Sets with SET_EXPANDED do without all this. */

/* All types with quants: form, bits of a packed quant (0: it is a byte), width, sub. */
#define INT8_ONE_TOKEN(X)                                                                                              \
    X(SCALE_F16, 0, 8, 32)                                                                                             \
    X(SCALE_F16, 4, 4, 32)                                                                                             \
    X(SCALE_F16, 4, 8, 32)                                                                                             \
    X(SCALE_F16, 5, 5, 32)                                                                                             \
    X(SCALE_F16_MIN, 4, 4, 32)                                                                                         \
    X(SCALE_F16_MIN, 5, 5, 32)                                                                                         \
    X(SCALE_BYTE_MIN, 4, 4, 32)                                                                                        \
    X(SCALE_BYTE_MIN, 5, 5, 32)                                                                                        \
    X(SCALE_PACKED_MIN, 2, 2, 16)                                                                                      \
    X(SCALE_SIGNED, 3, 3, 16)                                                                                          \
    X(SCALE_SIGNED, 4, 8, 32)                                                                                          \
    X(SCALE_SIGNED, 6, 6, 16)                                                                                          \
    X(SCALE_ODD, 3, 7, 16)                                                                                             \
    X(SCALE_ODD, 3, 7, 32)                                                                                             \
    X(SCALE_ODD, 4, 5, 32)                                                                                             \
    X(SCALE_ODD, 4, 7, 32)                                                                                             \
    X(SCALE_POWER, 4, 5, 32)

/* The steps that fetch while minima are added, besides one for each block. */
enum { INT8_MINIMA_STEPS = 2 };

/* acc[TILE_ROWS] += one group of up to 256 columns; the constants are those of int8_tile. */
static ALWAYS_INLINE void int8_one_group(const struct expanded *const *e, enum scale_form form, float unit,
                                         uint32_t bits, uint32_t width, uint32_t sub, uint32_t blocks,
                                         const struct act *a, size_t stride, float *acc, struct ahead next)
{
    const bool levels = form_has_levels(form), minima = form_has_minima(form);
    if (minima) { /* INT8_MINIMA_STEPS */
        fetch(&next);
        int8_all_minima(e, form, sub, blocks, 1, a, stride, acc);
        fetch(&next);
    }
    for (uint32_t r = 0; r < TILE_ROWS; r += INT8_VECTORS * LANES)
        int8_tile(e, form, unit, r, blocks, bits, width, sub, levels, sums_are_whole(width, levels), !minima,
                  INT8_VECTORS, 1, a, stride, acc, next);
}

typedef void int8_one_fn(const struct expanded *const *e, float unit, uint32_t blocks, const struct act *a,
                         size_t stride, float *acc, struct ahead next);

#define INT8_ONE(form, bits, width, sub)                                                                               \
    static void int8_one_##form##_##bits##_##width##_##sub(const struct expanded *const *e, float unit,                \
                                                           uint32_t blocks, const struct act *a, size_t stride,        \
                                                           float *acc, struct ahead next)                              \
    {                                                                                                                  \
        int8_one_group(e, form, unit, bits, width, sub, form_has_levels(form) ? GROUP_COLS / BLOCK_COLS : blocks, a,   \
                       stride, acc, next);                                                                             \
    }
INT8_ONE_TOKEN(INT8_ONE)
#undef INT8_ONE

#define INT8_HAS(l, is_form, is_bits, is_width, is_sub)                                                                \
    ((l)->form == (is_form) && (l)->bits == (is_bits ? is_bits : 8) && (l)->width == (is_width) && (l)->sub == (is_sub))

static int8_one_fn *int8_one_of(const struct layout *l)
{
#define INT8_ONE(form, bits, width, sub)                                                                               \
    if (INT8_HAS(l, form, bits, width, sub)) return int8_one_##form##_##bits##_##width##_##sub;
    INT8_ONE_TOKEN(INT8_ONE)
#undef INT8_ONE
    return NULL;
}

/* acc[TILE_ROWS] = one tile of the matrix times token t. */
static void int8_one_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t, uint32_t tokens,
                             struct stream *stream, float *acc)
{
    const struct layout *l = &layouts[m->type];
    int8_one_fn *one = int8_one_of(l);
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    const struct act *a = (const struct act *)p->data + t;
    struct expanded low, high;
    const struct expanded *const halves[2] = {&low, &high};
    uint32_t blocks = GROUP_COLS / BLOCK_COLS;
    struct layout_group at = layout_group(l, blocks);
    const uint32_t more_steps = layout_has_minima(l) ? INT8_MINIMA_STEPS : 0;
    (void)tokens;

    memset(acc, 0, sizeof *acc * TILE_ROWS);
    expand_table(l, EXPAND_SCALES, low.table);
    for (uint32_t c = 0; c < m->cols; c += GROUP_COLS, a += GROUP_COLS / ACT_COLS * p->tokens) {
        if (m->cols - c < GROUP_COLS) {
            blocks = (m->cols - c) / BLOCK_COLS;
            at = layout_group(l, blocks);
        }
        low.q = packed + at.quants[0];
        high.q = packed + at.quants[1];
        low.scales = packed + at.scales[0];
        high.scales = packed + at.scales[1];
        struct ahead next = stream_on(stream, packed, at.bytes, at.bytes + at.bytes / 4, true, blocks + more_steps);
        one(halves, l->unit, blocks, a, p->tokens, acc, next);
        packed += at.bytes;
    }
}
