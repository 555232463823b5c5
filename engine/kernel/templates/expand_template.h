/* From packed weights to the operands of micro-kernels: part of a kernel set (set_template.h). One group of one half
 * (16 rows, up to 256 columns) at a time, into a buffer that stays in L1. */

typedef uint8_t bytes64 __attribute__((vector_size(64), may_alias, aligned(64)));

/* w = scale * (q - 128) - 128 * min; q: [steps][16 rows][4 columns], scale, min: [sub-blocks][16 rows]. The minimum is
 * divided by 128 (exactly) because it meets -128 times the sum of the activations. With two levels of scales the scale
 * is an integer, and `group` is its factor (int8_template.h). */
struct expanded {
    const uint8_t *q;      /* the packed weights, or buffer */
    const uint8_t *scales; /* as they are packed */
    union {
        float scale[16 * HALF_ROWS];
        int32_t whole[16 * HALF_ROWS]; /* if sums_are_whole */
    } __attribute__((aligned(64)));
    float min[16 * HALF_ROWS] __attribute__((aligned(64)));
    float group[HALF_ROWS] __attribute__((aligned(64)));
    uint8_t table[16] __attribute__((aligned(16))); /* the layout's table, in the form of dot products */
    uint8_t buffer[GROUP_COLS / 4 * STEP_BYTES] __attribute__((aligned(64)));
};

static ALWAYS_INLINE void expand_bits(uint32_t bits, uint8_t offset, const uint8_t *packed, uint8_t *out,
                                      uint32_t blocks)
{
    const bytes64 *in = (const bytes64 *)packed;
    bytes64 *step = (bytes64 *)out;
    for (uint32_t b = 0; b < blocks; b++, step += BLOCK_STEPS) {
        const bytes64 *high = in + (bits >= 4 ? 4 : 2);
        if (bits >= 4)
            for (int v = 0; v < 4; v++) {
                bytes64 x = in[v];
                bytes64 low = x & 15, top = x >> 4;
                if (bits == 5) {
                    low |= (high[0] >> v & 1) << 4;
                    top |= (high[0] >> (v + 4) & 1) << 4;
                }
                if (bits == 6) {
                    low |= (high[v % 2] >> 2 * (v / 2) & 3) << 4;
                    top |= (high[v % 2] >> (2 * (v / 2) + 4) & 3) << 4;
                }
                step[v] = low + offset;
                step[v + 4] = top + offset;
            }
        else
            for (int s = 0; s < 8; s++) {
                bytes64 x = in[s % 2] >> 2 * (s / 2) & 3;
                if (bits == 3) x |= (high[0] >> s & 1) << 2;
                step[s] = x + offset;
            }
        in += bits == 2 ? 2 : bits == 3 ? 3 : bits == 4 ? 4 : bits == 5 ? 5 : 6;
    }
}

/* Whether the parts of a sum over 128 columns are int32: true for two levels of scales in sets that prefer it. Where
 * the operands have up to 4 bits, the sum of quant times activation times integer scale is below 2^24 for any file, so
 * that floats hold it exactly: Q4_K (4 x 63 x 32 x 15 x 128), Q3_K and Q2_K. */
static ALWAYS_INLINE bool sums_are_whole(uint32_t width, bool levels)
{
    return levels && WHOLE_SUMS > (width <= 4 ? 1 : 0);
}

/* The scale of a sub-block and row as one float. */
static ALWAYS_INLINE float expanded_scale(const struct layout *l, const struct expanded *e, uint32_t at)
{
    if (!layout_has_levels(l)) return e->scale[at];
    return e->group[at % HALF_ROWS] * (sums_are_whole(l->width, true) ? (float)e->whole[at] : e->scale[at]);
}

/* 2^(e - 128) as the product of two powers, since the smallest are below the range of exponents. */
static ALWAYS_INLINE vf expand_power(vi e)
{
    vi low = vi_shift_right(e, 1), high = vi_shift_right(vi_add(e, vi_set(1)), 1), bias = vi_set(127 - 64);
    return vf_mul(vf_of_bits(vi_shift_left(vi_add(low, bias), 23)), vf_of_bits(vi_shift_left(vi_add(high, bias), 23)));
}

/* What follows is of LANES rows of a half, from `row` on, and of sub-block i of those that make n scales (sub-blocks
 * times rows). `form` is a constant after inlining. */

/* Two levels: the integer of a sub-block. */
static ALWAYS_INLINE vi packed_factor(enum scale_form form, const uint8_t *packed, uint32_t i, uint32_t row)
{
    if (form == SCALE_SIGNED) return vi_load_int8((const int8_t *)packed + HALF_ROWS * i + row);
    if (form == SCALE_BYTE_MIN) return vi_load_uint8(packed + HALF_ROWS * i + row);
    if (form == SCALE_PACKED_MIN) return vi_and(vi_load_uint8(packed + HALF_ROWS * i + row), vi_set(15));
    vi both = vi_load_uint8(packed + HALF_ROWS * (i / 2) + row);
    vi s = vi_and(vi_shift_right(both, (int)(i % 2 * 4)), vi_set(15));
    return vi_add(vi_add(s, s), vi_set(1));
}

static ALWAYS_INLINE vf packed_scale(enum scale_form form, const uint8_t *packed, uint32_t i, uint32_t row)
{
    if (form == SCALE_POWER) return expand_power(vi_load_uint8(packed + HALF_ROWS * i + row));
    if (form <= SCALE_F16_MIN) return vf_load_f16((const uint16_t *)packed + HALF_ROWS * i + row);
    return vf_from_int(packed_factor(form, packed, i, row));
}

/* Two levels: the factor of the group, times `unit`. */
static ALWAYS_INLINE const uint16_t *packed_floats(enum scale_form form, const uint8_t *packed, uint32_t n)
{
    return (const uint16_t *)(packed + (form == SCALE_BYTE_MIN ? 2 * n : form == SCALE_ODD ? n / 2 : n));
}

static ALWAYS_INLINE vf packed_group(enum scale_form form, float unit, const uint8_t *packed, uint32_t n, uint32_t row)
{
    vf group = vf_load_f16(packed_floats(form, packed, n) + row);
    return form == SCALE_ODD ? vf_mul(group, vf_set(unit)) : group;
}

/* A minimum, divided by 128, is packed_min of the rows' packed_least. With one level the file adds it. */
static ALWAYS_INLINE vf packed_least(enum scale_form form, const uint8_t *packed, uint32_t n, uint32_t row)
{
    if (form == SCALE_F16_MIN) return vf_set(-1.0f / 128);
    return vf_mul(vf_load_f16(packed_floats(form, packed, n) + HALF_ROWS + row), vf_set(1.0f / 128));
}

static ALWAYS_INLINE vf packed_min(enum scale_form form, const uint8_t *packed, uint32_t n, uint32_t i, uint32_t row,
                                   vf least)
{
    uint32_t at = HALF_ROWS * i + row;
    if (form == SCALE_F16_MIN) return vf_mul(least, vf_load_f16((const uint16_t *)packed + n + at));
    vi times = form == SCALE_BYTE_MIN ? vi_load_uint8(packed + n + at) : vi_shift_right(vi_load_uint8(packed + at), 4);
    return vf_mul(least, vf_from_int(times));
}

static ALWAYS_INLINE void expand_scales(enum scale_form form, bool whole, float unit, uint32_t n, struct expanded *e)
{
    for (uint32_t r = 0; r < HALF_ROWS; r += LANES) {
        vf least = vf_set(0);
        if (form_has_levels(form)) vf_store(e->group + r, packed_group(form, unit, e->scales, n, r));
        if (form_has_minima(form)) least = packed_least(form, e->scales, n, r);
        for (uint32_t i = 0; i < n / HALF_ROWS; i++) {
            uint32_t at = HALF_ROWS * i + r;
            if (whole) vi_store(e->whole + at, packed_factor(form, e->scales, i, r));
            else vf_store(e->scale + at, packed_scale(form, e->scales, i, r));
            if (form_has_minima(form)) vf_store(e->min + at, packed_min(form, e->scales, n, i, r, least));
        }
    }
}

/* The form of expanded quants: they stay packed (SCALES), or each becomes a byte: of the layout's width, the weight +
 * 128, or the weight itself. */
enum expand_to { EXPAND_SCALES, EXPAND_QUANTS, EXPAND_RAISED, EXPAND_SIGNED };

/* The layout's table, if it has one, in this form. */
static ALWAYS_INLINE void expand_table(const struct layout *l, enum expand_to to, uint8_t *table)
{
    if (!l->table) return;
    uint8_t more = to == EXPAND_SIGNED ? 0 : to == EXPAND_RAISED ? 128 : (uint8_t)(1 << (l->width - 1));
    for (int i = 0; i < 16; i++) table[i] = (uint8_t)(l->table[i] + more);
}

static void expand_scales_of(const struct layout *l, uint32_t blocks, struct expanded *e)
{
    const uint32_t n = blocks * (BLOCK_COLS / l->sub) * HALF_ROWS; /* sub-blocks times rows */
    const bool whole = sums_are_whole(l->width, true);
    switch (l->form) {
    case SCALE_F16: expand_scales(SCALE_F16, false, 1, n, e); break;
    case SCALE_POWER: expand_scales(SCALE_POWER, false, 1, n, e); break;
    case SCALE_F16_MIN: expand_scales(SCALE_F16_MIN, false, 1, n, e); break;
    case SCALE_SIGNED: expand_scales(SCALE_SIGNED, whole, 1, n, e); break;
    case SCALE_ODD: expand_scales(SCALE_ODD, whole, l->unit, n, e); break;
    case SCALE_PACKED_MIN: expand_scales(SCALE_PACKED_MIN, whole, 1, n, e); break;
    default: expand_scales(SCALE_BYTE_MIN, whole, 1, n, e); break;
    }
}

/* One half's group of `blocks` blocks. */
static void expand(const struct layout *l, const uint8_t *quants, const uint8_t *scales, uint32_t blocks,
                   enum expand_to to, struct expanded *e)
{
    e->scales = scales;
    expand_scales_of(l, blocks, e);
    uint8_t raised = to == EXPAND_RAISED ? 128 : 0;
    uint8_t offset =
        l->table || to == EXPAND_QUANTS ? 0 : (uint8_t)(raised - (l->bits == 8 ? QUANTS_RAISED : l->offset));
    expand_table(l, to, e->table);
    if (to == EXPAND_SCALES || (l->bits == 8 && !offset)) {
        e->q = quants;
        return;
    }
    e->q = e->buffer;
    switch (l->bits) {
    case 8:
        for (uint32_t s = 0; s < blocks * BLOCK_STEPS; s++)
            ((bytes64 *)e->buffer)[s] = ((const bytes64 *)quants)[s] + offset;
        break;
    case 6: expand_bits(6, offset, quants, e->buffer, blocks); break;
    case 5: expand_bits(5, offset, quants, e->buffer, blocks); break;
    case 4: expand_bits(4, offset, quants, e->buffer, blocks); break;
    case 3: expand_bits(3, offset, quants, e->buffer, blocks); break;
    default: expand_bits(2, offset, quants, e->buffer, blocks); break;
    }
    if (l->table) {
        vt values = vt_load(e->table);
        for (uint32_t i = 0; i < blocks * BLOCK_STEPS * STEP_BYTES; i += 4 * LANES)
            vb_store(e->buffer + i, vb_look_up(values, vb_load(e->buffer + i)));
    }
}
