/* From packed weights to what the micro-kernels take: part of a kernel set (set_template.h).
 * One group of one half (16 rows, up to 256 columns) at a time, into a buffer that stays in L1. */

typedef uint8_t bytes64 __attribute__((vector_size(64), may_alias, aligned(64)));

/* w = scale * (q - 128) - min; q: [steps][16 rows][4 columns], scale, min: [sub-blocks][16 rows]. */
struct expanded {
    const uint8_t *q; /* into the packed weights, or buffer */
    float scale[16 * HALF_ROWS] __attribute__((aligned(64)));
    float min[16 * HALF_ROWS] __attribute__((aligned(64)));
    uint8_t buffer[GROUP_COLS / 4 * STEP_BYTES] __attribute__((aligned(64)));
};

static ALWAYS_INLINE void expand_bits(uint32_t bits, uint8_t offset, const uint8_t *packed, uint8_t *out, uint32_t blocks)
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

static ALWAYS_INLINE void expand_halves(float *out, const uint16_t *in, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += LANES) vf_store(out + i, vf_load_f16(in + i));
}

static void expand_scales(const struct layout *l, const uint8_t *packed, uint32_t blocks, struct expanded *e)
{
    uint32_t n = blocks * (BLOCK_COLS / l->sub) * HALF_ROWS; /* sub-blocks times rows */
    const uint16_t *halves = (const uint16_t *)packed;
    if (l->form == SCALE_F16 || l->form == SCALE_F16_MIN) {
        expand_halves(e->scale, halves, n);
        if (l->form == SCALE_F16_MIN)
            for (uint32_t i = 0; i < n; i += LANES)
                vf_store(e->min + i, vf_sub(vf_set(0), vf_load_f16(halves + n + i)));
        return;
    }
    const uint16_t *d = (const uint16_t *)(packed + n * (l->form == SCALE_BYTE_MIN ? 2 : 1));
    for (uint32_t r = 0; r < HALF_ROWS; r += LANES) {
        vf scale = vf_load_f16(d + r), min = l->form == SCALE_SIGNED ? vf_set(0) : vf_load_f16(d + HALF_ROWS + r);
        for (uint32_t i = r; i < n; i += HALF_ROWS) {
            if (l->form == SCALE_SIGNED) {
                vf_store(e->scale + i, vf_mul(scale, vf_from_int(vi_load_int8((const int8_t *)packed + i))));
            } else if (l->form == SCALE_BYTE_MIN) {
                vf_store(e->scale + i, vf_mul(scale, vf_from_int(vi_load_uint8(packed + i))));
                vf_store(e->min + i, vf_mul(min, vf_from_int(vi_load_uint8(packed + n + i))));
            } else {
                vi both = vi_load_uint8(packed + i);
                vf_store(e->scale + i, vf_mul(scale, vf_from_int(vi_and(both, vi_set(15)))));
                vf_store(e->min + i, vf_mul(min, vf_from_int(vi_shift_right(both, 4))));
            }
        }
    }
}

/* One half's group of `blocks` blocks: its quants and its scales. */
static void expand(const struct layout *l, const uint8_t *quants, const uint8_t *scales, uint32_t blocks,
                   struct expanded *e)
{
    uint8_t offset = (uint8_t)(128 - l->offset);
    e->q = e->buffer;
    switch (l->bits) {
    case 8: e->q = quants; break;
    case 6: expand_bits(6, offset, quants, e->buffer, blocks); break;
    case 5: expand_bits(5, offset, quants, e->buffer, blocks); break;
    case 4: expand_bits(4, l->table ? 0 : offset, quants, e->buffer, blocks); break;
    case 3: expand_bits(3, offset, quants, e->buffer, blocks); break;
    case 2: expand_bits(2, offset, quants, e->buffer, blocks); break;
    }
    if (l->table) {
        uint8_t table[16] __attribute__((aligned(16)));
        for (int i = 0; i < 16; i++) table[i] = (uint8_t)(layout_iq4_values[i] + 128);
        for (uint32_t s = 0; s < blocks * BLOCK_STEPS; s++)
            bytes_look_up(e->buffer + STEP_BYTES * s, e->buffer + STEP_BYTES * s, table);
    }
    expand_scales(l, scales, blocks, e);
}
