/* Products of int8 activations with quantised weights: part of a kernel set (set_template.h).
 *
 * The activations of a token are quantised 128 columns at a time, x ~ d q with q = round(127 x / largest |x|). The dot
 * products of unsigned weight bytes (weight + 128) with signed q are exact integers; they start from -128 * (sum of q)
 * so that the offset cancels. For one output, in this order whatever the tile:
 *
 *   for each 128 columns: part = 0
 *     for each sub-block (16 or 32 columns that share a scale):
 *       part = fma(sum of q, -min, part)                    types with minima
 *       part = fma(sum of (weight q), scale, part)
 *     total = fma(part, d, total)
 */

enum { ACT_COLS = 128 };

/* 128 columns of one token; a panel holds [cols / 128, rounded up][tokens] of them. The missing columns of the last
 * are zero. */
struct act {
    int8_t q[ACT_COLS];
    int32_t offset16[ACT_COLS / 16], offset32[ACT_COLS / 32]; /* -128 times the sum of 16 or 32 of q */
    float d;
    float unused[3];
};

static void act_fill(struct act *a, const float *x, uint32_t n)
{
    vf largest = vf_set(0);
    uint32_t i;
    for (i = 0; i < n; i += LANES) largest = vf_max(largest, vf_abs(vf_load_n(x + i, n - i)));
    float top = vf_largest(largest);
    vf inverse = vf_set(top > 0 ? 127 / top : 0);
    a->d = top / 127;
    for (i = 0; i < ACT_COLS; i += LANES)
        vf_store_int8(a->q + i, i < n ? vf_mul(vf_load_n(x + i, n - i), inverse) : vf_set(0));
    for (i = 0; i < ACT_COLS / 16; i++) {
        int32_t sum = 0;
        for (int j = 0; j < 16; j++) sum += a->q[16 * i + j];
        a->offset16[i] = -128 * sum;
    }
    for (i = 0; i < ACT_COLS / 32; i++) a->offset32[i] = a->offset16[2 * i] + a->offset16[2 * i + 1];
    memset(a->unused, 0, sizeof a->unused);
}

static void int8_fill(const struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1)
{
    for (uint32_t c = 0; c < p->cols; c += ACT_COLS) {
        struct act *a = (struct act *)p->data + (size_t)(c / ACT_COLS) * p->tokens;
        uint32_t n = p->cols - c < ACT_COLS ? p->cols - c : ACT_COLS;
        for (uint32_t t = t0; t < t1; t++) act_fill(a + t, x + t * ldx + c, n);
    }
}

/* acc[token][row] += one group, for `tokens` tokens and `vectors` vectors of rows from row r of a half. All but e, a,
 * stride and acc are constants after inlining. acc: [tokens][TILE_ROWS]. */
static ALWAYS_INLINE void int8_tile(const struct expanded *const *e, uint32_t r, uint32_t blocks, uint32_t sub, bool minima,
                                    uint32_t vectors, uint32_t tokens, const struct act *a, size_t stride, float *acc)
{
    const uint8_t *q[INT8_VECTORS];
    const float *scale[INT8_VECTORS], *min[INT8_VECTORS];
    UNROLL for (uint32_t v = 0; v < vectors; v++) {
        uint32_t row = r + v * LANES;
        const struct expanded *half = e[row / HALF_ROWS];
        q[v] = half->q + 4 * (row % HALF_ROWS);
        scale[v] = half->scale + row % HALF_ROWS;
        min[v] = half->min + row % HALF_ROWS;
    }
    uint32_t at = 0; /* sub-block of the group */
    for (uint32_t b = 0; b < blocks; b += ACT_COLS / BLOCK_COLS, a += stride) {
        vf part[INT8_TOKENS][INT8_VECTORS];
        UNROLL for (uint32_t t = 0; t < tokens; t++) UNROLL for (uint32_t v = 0; v < vectors; v++) part[t][v] = vf_set(0);
        uint32_t subs = (blocks - b < 4 ? blocks - b : 4) * (BLOCK_COLS / sub);
        for (uint32_t s = 0; s < subs; s++, at++) {
            vi dot[INT8_TOKENS][INT8_VECTORS];
            UNROLL for (uint32_t t = 0; t < tokens; t++) {
                vi offset = vi_set(sub == 16 ? a[t].offset16[s] : a[t].offset32[s]);
                UNROLL for (uint32_t v = 0; v < vectors; v++) dot[t][v] = offset;
                if (minima) { /* the minimum counts once for each q: offset / -128 is their sum, and exact */
                    vf sum = vf_mul(vf_from_int(offset), vf_set(1.0f / 128));
                    UNROLL for (uint32_t v = 0; v < vectors; v++)
                        part[t][v] = vf_fma(sum, vf_load(min[v] + HALF_ROWS * at), part[t][v]);
                }
            }
            UNROLL for (uint32_t k = 0; k < sub / 4; k++) {
                vb w[INT8_VECTORS];
                UNROLL for (uint32_t v = 0; v < vectors; v++) w[v] = vb_load(q[v] + STEP_BYTES * (at * (sub / 4) + k));
                UNROLL for (uint32_t t = 0; t < tokens; t++) {
                    vx x = vx_load(a[t].q + s * sub + 4 * k);
                    UNROLL for (uint32_t v = 0; v < vectors; v++) dot[t][v] = vi_dot(dot[t][v], w[v], x);
                }
            }
            UNROLL for (uint32_t v = 0; v < vectors; v++) {
                vf by = vf_load(scale[v] + HALF_ROWS * at);
                UNROLL for (uint32_t t = 0; t < tokens; t++) part[t][v] = vf_fma(vf_from_int(dot[t][v]), by, part[t][v]);
            }
        }
        UNROLL for (uint32_t t = 0; t < tokens; t++) {
            vf d = vf_set(a[t].d);
            UNROLL for (uint32_t v = 0; v < vectors; v++) {
                float *out = acc + t * TILE_ROWS + r + v * LANES;
                vf_store(out, vf_fma(part[t][v], d, vf_load(out)));
            }
        }
    }
}

/* One instance for each number of tokens, so that everything stays in registers. */
#define INT8_CASE(n, sub, minima)                                                                                       \
    case n:                                                                                                             \
        if (n <= INT8_TOKENS)                                                                                           \
            for (uint32_t r = 0; r < TILE_ROWS; r += INT8_VECTORS * LANES)                                              \
                int8_tile(e, r, blocks, sub, minima, INT8_VECTORS, n <= INT8_TOKENS ? n : 1, a, stride, acc);           \
        break;

#define INT8_GROUP(name, sub, minima)                                                                                   \
    static void name(const struct expanded *const *e, uint32_t blocks, uint32_t tokens, const struct act *a,            \
                     size_t stride, float *acc)                                                                         \
    {                                                                                                                   \
        switch (tokens) {                                                                                               \
            INT8_CASE(1, sub, minima) INT8_CASE(2, sub, minima) INT8_CASE(3, sub, minima)                               \
            INT8_CASE(4, sub, minima) INT8_CASE(5, sub, minima) INT8_CASE(6, sub, minima)                               \
        }                                                                                                               \
    }

INT8_GROUP(int8_group_32, 32, false)
INT8_GROUP(int8_group_32_min, 32, true)
INT8_GROUP(int8_group_16, 16, false)
INT8_GROUP(int8_group_16_min, 16, true)

/* acc[tokens][TILE_ROWS] = one tile of the matrix times tokens [t0, t0 + tokens) of the panel. */
static void int8_tile_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0, uint32_t tokens,
                              float *acc)
{
    const struct layout *l = &layouts[m->type];
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    void (*group)(const struct expanded *const *, uint32_t, uint32_t, const struct act *, size_t, float *) =
        l->sub == 32 ? (layout_has_minima(l) ? int8_group_32_min : int8_group_32)
                     : (layout_has_minima(l) ? int8_group_16_min : int8_group_16);
    struct expanded low, high;
    const struct expanded *const halves[2] = {&low, &high};
    uint32_t pieces = (tokens + INT8_TOKENS - 1) / INT8_TOKENS;

    memset(acc, 0, sizeof *acc * tokens * TILE_ROWS);
    for (uint32_t c = 0; c < m->cols; c += GROUP_COLS) {
        uint32_t blocks = (m->cols - c < GROUP_COLS ? m->cols - c : GROUP_COLS) / BLOCK_COLS;
        size_t bits = blocks * (size_t)l->block_bytes, scale_bytes = layout_scale_bytes(l, blocks);
        const uint8_t *next = packed + 2 * (bits + scale_bytes);
        expand(l, packed, packed + 2 * bits, blocks, &low);
        expand(l, packed + bits, packed + 2 * bits + scale_bytes, blocks, &high);
        const struct act *a = (const struct act *)p->data + (size_t)(c / ACT_COLS) * p->tokens + t0;
        for (uint32_t i = 0; i < pieces; i++) { /* pieces of nearly the same size */
            uint32_t from = tokens * i / pieces, to = tokens * (i + 1) / pieces;
            group(halves, blocks, to - from, a + from, p->tokens, acc + from * TILE_ROWS);
        }
        packed = next;
    }
}
