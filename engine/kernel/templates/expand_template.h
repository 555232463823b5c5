/* From packed weights to the operands of micro-kernels: part of a kernel set (set_template.h). One group of one half
 * (16 rows, up to 256 columns) at a time, into a buffer that stays in L1. */

typedef uint8_t bytes64 __attribute__((vector_size(64), may_alias, aligned(64)));

/* w = scale * (q - 128) - 128 * min; q: [steps][16 rows][4 columns], scale, min: [sub-blocks][16 rows]. The minimum is
 * divided by 128 (exactly) because it meets -128 times the sum of the activations. With two levels of scales the scale
 * is an integer, and `group` is its factor (int8_template.h). */
struct expanded {
    const uint8_t *q; /* the packed weights, or buffer */
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

/* Whether the parts of a sum over 128 columns are int32: true for two levels of scales in sets that prefer it. */
static ALWAYS_INLINE bool sums_are_whole(const struct layout *l)
{
    return layout_has_levels(l) && (WHOLE_SUMS == 2 || (WHOLE_SUMS == 1 && !layout_fits_floats(l)));
}

/* The scale of a sub-block and row as one float. */
static ALWAYS_INLINE float expanded_scale(const struct layout *l, const struct expanded *e, uint32_t at)
{
    if (!layout_has_levels(l)) return e->scale[at];
    return e->group[at % HALF_ROWS] * (sums_are_whole(l) ? (float)e->whole[at] : e->scale[at]);
}

/* 2^(e - 128) as the product of two powers, since the smallest are below the range of exponents. */
static ALWAYS_INLINE vf expand_power(vi e)
{
    vi low = vi_shift_right(e, 1), high = vi_shift_right(vi_add(e, vi_set(1)), 1), bias = vi_set(127 - 64);
    return vf_mul(vf_of_bits(vi_shift_left(vi_add(low, bias), 23)), vf_of_bits(vi_shift_left(vi_add(high, bias), 23)));
}

/* n: sub-blocks times rows; unit: of SCALE_ODD. */
static ALWAYS_INLINE void expand_scales(enum scale_form form, bool whole, float unit, const uint8_t *packed, uint32_t n,
                                        struct expanded *e)
{
    if (form == SCALE_POWER) {
        for (uint32_t i = 0; i < n; i += LANES) vf_store(e->scale + i, expand_power(vi_load_uint8(packed + i)));
        return;
    }
    const uint16_t *halves = (const uint16_t *)packed;
    if (form == SCALE_F16 || form == SCALE_F16_MIN) {
        for (uint32_t i = 0; i < n; i += LANES) vf_store(e->scale + i, vf_load_f16(halves + i));
        if (form == SCALE_F16_MIN) /* the file adds it */
            for (uint32_t i = 0; i < n; i += LANES)
                vf_store(e->min + i, vf_mul(vf_set(-1.0f / 128), vf_load_f16(halves + n + i)));
        return;
    }
    const uint16_t *d = (const uint16_t *)(packed + (form == SCALE_BYTE_MIN ? 2 * n : form == SCALE_ODD ? n / 2 : n));
    bool minima = form == SCALE_PACKED_MIN || form == SCALE_BYTE_MIN;
    for (uint32_t r = 0; r < HALF_ROWS; r += LANES) {
        vf min = vf_set(0);
        vf group = vf_load_f16(d + r);
        vf_store(e->group + r, form == SCALE_ODD ? vf_mul(group, vf_set(unit)) : group);
        if (minima) min = vf_mul(vf_load_f16(d + HALF_ROWS + r), vf_set(1.0f / 128));
        for (uint32_t i = r; i < n; i += HALF_ROWS) {
            vi scale, less = vi_set(0);
            if (form == SCALE_SIGNED) {
                scale = vi_load_int8((const int8_t *)packed + i);
            } else if (form == SCALE_ODD) {
                vi both = vi_load_uint8(packed + i / (2 * HALF_ROWS) * HALF_ROWS + r);
                vi s = i / HALF_ROWS % 2 ? vi_shift_right(both, 4) : vi_and(both, vi_set(15));
                scale = vi_add(vi_add(s, s), vi_set(1));
            } else if (form == SCALE_BYTE_MIN) {
                scale = vi_load_uint8(packed + i);
                less = vi_load_uint8(packed + n + i);
            } else {
                vi both = vi_load_uint8(packed + i);
                scale = vi_and(both, vi_set(15));
                less = vi_shift_right(both, 4);
            }
            if (whole) vi_store(e->whole + i, scale);
            else vf_store(e->scale + i, vf_from_int(scale));
            if (minima) vf_store(e->min + i, vf_mul(min, vf_from_int(less)));
        }
    }
}

/* The form of expanded quants: they stay packed (SCALES), or each becomes a byte: of the layout's width, the weight +
 * 128, or the weight itself. */
enum expand_to { EXPAND_SCALES, EXPAND_QUANTS, EXPAND_RAISED, EXPAND_SIGNED };

/* One half's group of `blocks` blocks. */
static void expand(const struct layout *l, const uint8_t *quants, const uint8_t *scales, uint32_t blocks,
                   enum expand_to to, struct expanded *e)
{
    uint32_t n = blocks * (BLOCK_COLS / l->sub) * HALF_ROWS; /* sub-blocks times rows */
    switch (l->form) {
    case SCALE_F16: expand_scales(SCALE_F16, false, 1, scales, n, e); break;
    case SCALE_POWER: expand_scales(SCALE_POWER, false, 1, scales, n, e); break;
    case SCALE_F16_MIN: expand_scales(SCALE_F16_MIN, false, 1, scales, n, e); break;
    case SCALE_SIGNED: expand_scales(SCALE_SIGNED, sums_are_whole(l), 1, scales, n, e); break;
    case SCALE_ODD: expand_scales(SCALE_ODD, sums_are_whole(l), l->unit, scales, n, e); break;
    case SCALE_PACKED_MIN: expand_scales(SCALE_PACKED_MIN, sums_are_whole(l), 1, scales, n, e); break;
    default: expand_scales(SCALE_BYTE_MIN, sums_are_whole(l), 1, scales, n, e); break;
    }
    uint8_t raised = to == EXPAND_RAISED ? 128 : 0;
    uint8_t offset =
        l->table || to == EXPAND_QUANTS ? 0 : (uint8_t)(raised - (l->bits == 8 ? QUANTS_RAISED : l->offset));
    if (l->table) {
        uint8_t more = to == EXPAND_SIGNED ? 0 : to == EXPAND_RAISED ? 128 : (uint8_t)(1 << (l->width - 1));
        for (int i = 0; i < 16; i++) e->table[i] = (uint8_t)(l->table[i] + more);
    }
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
