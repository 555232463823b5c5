/* Products of int8 activations with quantised weights: part of a kernel set (set_template.h).
 *
 * The activations of a token are quantised 128 columns at a time, x ~ d q with q = round(127 x / largest |x|). The dot
 * products of unsigned weight bytes (weight + 128) with signed q are exact integers; they start from -128 * (sum of q)
 * so that the offset cancels. For one output, in this order whatever the tile:
 *
 *   for each 256 columns: types with minima
 *     for each sub-block (16 or 32 columns that share a scale): total = fma(min / 128, d (-128 (sum of q)), total)
 *   one level of scales, for each 128 columns: part = 0
 *     for each sub-block: part = fma(sum of (weight q), scale, part)
 *     total = fma(part, d, total)
 *   two levels, for each 256 columns: the scales of sub-blocks are integers, and so is
 *     part = sum over the sub-blocks of scale (sum of (weight q)), for each half of the columns
 *     total = fma(fma(second part, its d, first part * its d), scale of the group, total)
 *
 * A part of two levels is int32 (below 2^27 for any file), converted once. If floats are faster (WHOLE_SUMS), the part
 * is a float sum instead, with the same result as long as it stays below 2^24: always for Q4_K, Q3_K and Q2_K, and for
 * the others unless it comes near the largest possible sum. */

enum { ACT_COLS = PANEL_STEP };
/* The distance (stream_on) that was fastest for several tokens, whose lines come to L2: in L1, so early, they would
 * evict lines in use. */
enum { INT8_DISTANCE = 12288 };
/* 128 columns of one token; a panel holds [cols / 128, rounded up][tokens] of them. The missing columns of the last
 * are zero. */
struct act {
    int8_t q[ACT_COLS];
    int32_t offset16[ACT_COLS / 16], offset32[ACT_COLS / 32]; /* -128 times the sum of 16 or 32 of q */
    float d;
    float unused[3];
};

static ALWAYS_INLINE void act_quantise(struct act *a, const float *x, uint32_t n)
{
    vf largest[2] = {vf_set(0), vf_set(0)};
    for (uint32_t i = 0; i < n; i += LANES)
        largest[i / LANES % 2] = vf_max(largest[i / LANES % 2], vf_abs(vf_load_n(x + i, n - i)));
    float top = vf_largest(vf_max(largest[0], largest[1]));
    vf inverse = vf_set(top > 0 ? 127 / top : 0);
    a->d = top / 127;
    for (uint32_t i = 0; i < ACT_COLS; i += LANES)
        vf_store_int8(a->q + i, i < n ? vf_mul(vf_load_n(x + i, n - i), inverse) : vf_set(0));
}

static ALWAYS_INLINE void act_sum(struct act *a)
{
    static const uint8_t ones[STEP_BYTES] = {[0 ... STEP_BYTES - 1] = 1};
    int32_t fours[ACT_COLS / 4] __attribute__((aligned(64))); /* sums of four */
    for (uint32_t i = 0; i < ACT_COLS; i += 4 * LANES)
        vi_store(fours + i / 4, vi_dot_small(vi_set(0), vb_load(ones), vx_load_bytes(a->q + i)));
    for (uint32_t i = 0; i < ACT_COLS / 16; i++)
        a->offset16[i] = -128 * (fours[4 * i] + fours[4 * i + 1] + fours[4 * i + 2] + fours[4 * i + 3]);
    for (uint32_t i = 0; i < ACT_COLS / 32; i++) a->offset32[i] = a->offset16[2 * i] + a->offset16[2 * i + 1];
    memset(a->unused, 0, sizeof a->unused);
}

static void int8_fill(const struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, uint32_t c0,
                      uint32_t c1)
{
    struct act *first = (struct act *)p->data + (size_t)(c0 / ACT_COLS) * p->tokens;
    uint32_t chunks = (c1 - c0 + ACT_COLS - 1) / ACT_COLS, some = chunks < 4 ? 4 : 1; /* tokens at a time */
    for (uint32_t from = t0; from < t1; from += some) {
        uint32_t to = t1 - from < some ? t1 : from + some;
        for (uint32_t t = from; t < to; t++)
            for (uint32_t i = 0; i < chunks; i++) {
                uint32_t c = i * ACT_COLS, n = c1 - c0 - c < ACT_COLS ? c1 - c0 - c : ACT_COLS;
                struct act *a = first + (size_t)i * p->tokens + t;
                /* Whole ones, the most, are unrolled. */
                if (n == ACT_COLS) act_quantise(a, x + t * ldx + c, ACT_COLS);
                else act_quantise(a, x + t * ldx + c, n);
            }
        /* Summed later, when the stored bytes are in the cache: a wide load right after narrow stores would wait for
         * them. */
        for (uint32_t t = from; t < to; t++)
            for (uint32_t i = 0; i < chunks; i++) act_sum(first + (size_t)i * p->tokens + t);
    }
}

static void int8_copy(struct panel *to, uint32_t t, const struct panel *from, uint32_t t_from)
{
    struct act *out = (struct act *)to->data + t;
    const struct act *in = (const struct act *)from->data + t_from;
    for (uint32_t c = 0; c < to->cols; c += ACT_COLS, out += to->tokens, in += from->tokens) *out = *in;
}

/* Step k of a block as it is packed: LANES rows, unsigned quants of `bits` bits. */
static ALWAYS_INLINE vb packed_step(uint32_t bits, const uint8_t *block, uint32_t k)
{
    const uint8_t *high = block + STEP_BYTES * (bits >= 4 ? 4 : 2);
    vb q = bits >= 4 ? vb_field(vb_load(block + STEP_BYTES * (k % 4)), 4 * (k / 4), 0, 15)
                     : vb_field(vb_load(block + STEP_BYTES * (k % 2)), 2 * (k / 2), 0, 3);
    if (bits == 6) return vb_or(q, vb_field(vb_load(high + STEP_BYTES * (k % 2)), 2 * (k / 2), 4, 3));
    if (bits == 5) return vb_or(q, vb_field(vb_load(high), k, 4, 1));
    if (bits == 3) return vb_or(q, vb_field(vb_load(high), k, 2, 1));
    return q;
}

/* A step of bytes as the dot product takes them, 128 added. */
static ALWAYS_INLINE vb raised_step(const uint8_t *step)
{
#ifdef SET_AMX
    return _mm512_xor_si512(vb_load(step), _mm512_set1_epi8((char)128));
#else
    return vb_load(step);
#endif
}

/* Step k of a block for a dot product: see int8_tile for bits and width. */
static ALWAYS_INLINE vb weight_step(uint32_t bits, uint32_t width, vt values, const uint8_t *block, uint32_t k)
{
    if (bits) return bits < width ? vb_look_up(values, packed_step(bits, block, k)) : packed_step(bits, block, k);
    return width == 8 ? raised_step(block + STEP_BYTES * k) : vb_load(block + STEP_BYTES * k);
}

#if DOT_WORDS
/* Steps whose products fit 16 bits together, both columns of a pair at their largest; none for whole bytes. */
static ALWAYS_INLINE uint32_t steps_in_words(uint32_t width)
{
    return width == 8 ? 0 : INT16_MAX / (2 * 128 * ((1u << width) - 1));
}
#endif

/* dot[token][vector] += the products of steps [step, step + steps) of a block, whose columns begin at `column` of the
 * record. The constants of int8_tile are constants here too. Where the set multiplies two rows by two tokens at once
 * (DOT_PAIRS), two steps make a vector of 8 columns of two rows; an odd last token is used twice. */
static ALWAYS_INLINE void sub_block_dots(const uint8_t *const *q, uint32_t bits, uint32_t width, vt values,
                                         uint32_t step, uint32_t steps, uint32_t vectors, uint32_t tokens,
                                         const struct act *a, uint32_t column, vi (*dot)[INT8_VECTORS])
{
#if DOT_WORDS
    if (width < 8) {
        const uint32_t most = steps_in_words(width);
        UNROLL for (uint32_t k = 0; k < steps; k += most) {
            vw words[INT8_TOKENS][INT8_VECTORS];
            const uint32_t some = steps - k < most ? steps - k : most;
            UNROLL for (uint32_t i = 0; i < some; i++) {
                vb w[INT8_VECTORS];
                UNROLL for (uint32_t v = 0; v < vectors; v++)
                    w[v] = weight_step(bits, width, values, q[v], step + k + i);
                UNROLL for (uint32_t t = 0; t < tokens; t++) {
                    vx x = vx_load(a[t].q + column + 4 * (step + k + i));
                    UNROLL for (uint32_t v = 0; v < vectors; v++)
                        words[t][v] = i ? vw_add(words[t][v], vw_dot(w[v], x)) : vw_dot(w[v], x);
                }
            }
            UNROLL for (uint32_t t = 0; t < tokens; t++)
                UNROLL for (uint32_t v = 0; v < vectors; v++) dot[t][v] = vi_add_words(dot[t][v], words[t][v]);
        }
        return;
    }
#endif
#if DOT_PAIRS
    if (!bits && tokens > 1) {
        vi low[(INT8_TOKENS + 1) / 2][INT8_VECTORS], high[(INT8_TOKENS + 1) / 2][INT8_VECTORS];
        UNROLL for (uint32_t p = 0; p < (tokens + 1) / 2; p++)
            UNROLL for (uint32_t v = 0; v < vectors; v++) low[p][v] = high[p][v] = vi_set(0);
        UNROLL for (uint32_t k = step; k < step + steps; k += 2) {
            vb w[INT8_VECTORS][2];
            UNROLL for (uint32_t v = 0; v < vectors; v++) {
                vb even = vb_load(q[v] + STEP_BYTES * k), odd = vb_load(q[v] + STEP_BYTES * (k + 1));
                w[v][0] = vb_rows_low(even, odd);
                w[v][1] = vb_rows_high(even, odd);
            }
            UNROLL for (uint32_t p = 0; p < (tokens + 1) / 2; p++) {
                uint32_t t = 2 * p, other = t + 1 < tokens ? t + 1 : t;
                vx x = vx_load_pair(a[t].q + column + 4 * k, a[other].q + column + 4 * k);
                UNROLL for (uint32_t v = 0; v < vectors; v++) {
                    low[p][v] = vi_dot_pair(low[p][v], w[v][0], x);
                    high[p][v] = vi_dot_pair(high[p][v], w[v][1], x);
                }
            }
        }
        UNROLL for (uint32_t t = 0; t < tokens; t++)
            UNROLL for (uint32_t v = 0; v < vectors; v++)
                dot[t][v] = vi_add(dot[t][v], t % 2 ? vi_second(low[t / 2][v], high[t / 2][v])
                                                    : vi_first(low[t / 2][v], high[t / 2][v]));
        return;
    }
#endif
    if (HIGH_NIBBLES && bits == 4 && width == 4 && tokens == 1) {
        UNROLL for (uint32_t v = 0; v < vectors; v++) {
            vi high = vi_set(0); /* 16 times the sum */
            UNROLL for (uint32_t k = 0; k < BLOCK_STEPS / 2; k++) {
                vb both = vb_load(q[v] + STEP_BYTES * k);
                vx low_x = vx_load(a->q + column + 4 * k), high_x = vx_load(a->q + column + 4 * (k + BLOCK_STEPS / 2));
                dot[0][v] = vi_dot(dot[0][v], vb_field(both, 0, 0, 15), low_x);
                high = vi_dot(high, vb_field(both, 4, 4, 15), high_x);
            }
            dot[0][v] = vi_add(dot[0][v], vi_shift_right(high, 4));
        }
        return;
    }
    UNROLL for (uint32_t k = step; k < step + steps; k++) {
        vb w[INT8_VECTORS];
        UNROLL for (uint32_t v = 0; v < vectors; v++) w[v] = weight_step(bits, width, values, q[v], k);
        UNROLL for (uint32_t t = 0; t < tokens; t++) {
            vx x = vx_load(a[t].q + column + 4 * k);
            UNROLL for (uint32_t v = 0; v < vectors; v++)
                dot[t][v] = width == 8 ? vi_dot(dot[t][v], w[v], x) : vi_dot_small(dot[t][v], w[v], x);
        }
    }
}

typedef int32_t four_ints __attribute__((vector_size(16), may_alias));
typedef float four_floats __attribute__((vector_size(16), may_alias));

/* acc[tokens][TILE_ROWS] += the minima of `subs` of a group's sub-blocks of `sub` columns, from one on, which a record
 * begins. They are expanded, or with a form of scales still packed, those of n scales. form, subs and sub are constants
 * after inlining. */
static ALWAYS_INLINE void int8_minima(const struct expanded *const *e, enum scale_form form, uint32_t n, uint32_t one,
                                      uint32_t subs, uint32_t sub, uint32_t tokens, const struct act *a, size_t stride,
                                      float *acc)
{
    enum { SOME = 16 }; /* tokens at a time, so that a sum has long been written when it is loaded into all lanes */
    const uint32_t each = ACT_COLS / sub; /* of a record */
    float sums[SOME][GROUP_COLS / 16] __attribute__((aligned(64))); /* of activations, -128 times */
    a += one / each * stride;
    for (uint32_t t0 = 0; t0 < tokens; t0 += SOME, a += SOME, acc += SOME * TILE_ROWS) {
        uint32_t some = tokens - t0 < SOME ? tokens - t0 : SOME;
        for (uint32_t t = 0; t < some; t++)
            for (uint32_t i = 0; i < subs; i += 4) {
                const struct act *record = a + i / each * stride + t;
                const int32_t *offset = (sub == 16 ? record->offset16 : record->offset32) + i % each;
                *(four_floats *)&sums[t][i] =
                    __builtin_convertvector(*(const four_ints *)offset, four_floats) * record->d;
            }
        for (uint32_t r = 0; r < TILE_ROWS; r += INT8_VECTORS * LANES) {
            vf min[GROUP_COLS / 16][INT8_VECTORS];
            UNROLL for (uint32_t v = 0; v < INT8_VECTORS; v++) {
                const struct expanded *half = e[(r + v * LANES) / HALF_ROWS];
                const uint32_t row = (r + v * LANES) % HALF_ROWS;
                vf least = form ? packed_least(form, half->scales, n, row) : vf_set(0);
                UNROLL for (uint32_t i = 0; i < subs; i++)
                    min[i][v] = form ? packed_min(form, half->scales, n, one + i, row, least)
                                     : vf_load(half->min + HALF_ROWS * (one + i) + row);
            }
            for (uint32_t t = 0; t < some; t++) {
                float *out = acc + t * TILE_ROWS + r;
                vf total[INT8_VECTORS];
                UNROLL for (uint32_t v = 0; v < INT8_VECTORS; v++) total[v] = vf_load(out + v * LANES);
                UNROLL for (uint32_t i = 0; i < subs; i++) {
                    vf sum = vf_set(sums[t][i]);
                    UNROLL for (uint32_t v = 0; v < INT8_VECTORS; v++) total[v] = vf_fma(min[i][v], sum, total[v]);
                }
                UNROLL for (uint32_t v = 0; v < INT8_VECTORS; v++) vf_store(out + v * LANES, total[v]);
            }
        }
    }
}

/* The same for all sub-blocks of `blocks` blocks. */
static ALWAYS_INLINE void int8_all_minima(const struct expanded *const *e, enum scale_form form, uint32_t sub,
                                          uint32_t blocks, uint32_t tokens, const struct act *a, size_t stride,
                                          float *acc)
{
    const uint32_t n = blocks * (BLOCK_COLS / sub) * HALF_ROWS;
    if (sub == 16) {
        int8_minima(e, form, n, 0, GROUP_COLS / 16, 16, tokens, a, stride, acc);
    } else if (blocks == GROUP_COLS / 32) {
        int8_minima(e, form, n, 0, GROUP_COLS / 32, 32, tokens, a, stride, acc);
    } else {
        uint32_t whole = blocks / 4 * 4;
        if (whole) int8_minima(e, form, n, 0, 4, 32, tokens, a, stride, acc);
        if (blocks % 4 == 1) int8_minima(e, form, n, whole, 1, 32, tokens, a, stride, acc);
        if (blocks % 4 == 2) int8_minima(e, form, n, whole, 2, 32, tokens, a, stride, acc);
        if (blocks % 4 == 3) int8_minima(e, form, n, whole, 3, 32, tokens, a, stride, acc);
    }
}

static void int8_add_minima(const struct layout *l, const struct expanded *const *e, uint32_t blocks, uint32_t tokens,
                            const struct act *a, size_t stride, float *acc)
{
    if (!layout_has_minima(l)) return;
    if (l->sub == 16) int8_all_minima(e, SCALE_NONE, 16, blocks, tokens, a, stride, acc);
    else int8_all_minima(e, SCALE_NONE, 32, blocks, tokens, a, stride, acc);
}

/* An output's sum over 128 columns: int32, or a float with one level of scales or if floats are faster. */
struct int8_part {
    vi whole;
    vf scaled;
};

/* acc[tokens][TILE_ROWS] += one group less its minima, for `vectors` vectors of rows from row r of the tile. form,
 * bits, width, sub, levels (two, of scales), whole (sums_are_whole), centred, vectors and tokens are constants after
 * inlining. The scales are expanded, or with a form still packed (unit: that of the type). width 8: the dot products
 * take bytes with 128 added; else what has this many bits, as in the file. bits 0: they are bytes; else packed in this
 * many bits, taken apart here in registers and, where that is less than the width, looked up, which is best for a few
 * tokens. The integers are the same either way, as the activations' offset is scaled to match (centred: what is
 * multiplied stands for itself less half its range). */
static ALWAYS_INLINE void int8_tile(const struct expanded *const *e, enum scale_form form, float unit, uint32_t r,
                                    uint32_t blocks, uint32_t bits, uint32_t width, uint32_t sub, bool levels,
                                    bool whole, bool centred, uint32_t vectors, uint32_t tokens, const struct act *a,
                                    size_t stride, float *acc, struct ahead next)
{
    const size_t block_bytes = STEP_BYTES * (bits ? bits : 8);
    const uint32_t each = BLOCK_COLS / sub; /* sub-blocks */
    const vt values = vt_load(e[0]->table);
    const uint8_t *q[INT8_VECTORS];
    const float *scale[INT8_VECTORS];
    const int32_t *factor[INT8_VECTORS];
    const uint8_t *packed[INT8_VECTORS];
    vf group[INT8_VECTORS];
    /* Two levels: the first half of the group. */
    float before[INT8_TOKENS][INT8_VECTORS][LANES] __attribute__((aligned(64)));
    UNROLL for (uint32_t v = 0; v < vectors; v++) {
        uint32_t row = r + v * LANES;
        const struct expanded *half = e[row / HALF_ROWS];
        q[v] = half->q + 4 * (row % HALF_ROWS);
        scale[v] = half->scale + row % HALF_ROWS;
        factor[v] = half->whole + row % HALF_ROWS;
        packed[v] = half->scales;
        if (levels)
            group[v] = form ? packed_group(form, unit, half->scales, blocks * each * HALF_ROWS, row % HALF_ROWS)
                            : vf_load(half->group + row % HALF_ROWS);
    }
    __asm__("" : "=m"(before));
    for (uint32_t first = 0; first < blocks; first += ACT_COLS / BLOCK_COLS, a += stride) {
        uint32_t n = blocks - first < ACT_COLS / BLOCK_COLS ? blocks - first : ACT_COLS / BLOCK_COLS;
        if (sub == 16) __asm__("" : "+m"(before));
        struct int8_part part[INT8_TOKENS][INT8_VECTORS];
        UNROLL for (uint32_t t = 0; t < tokens; t++)
            UNROLL for (uint32_t v = 0; v < vectors; v++) part[t][v] = (struct int8_part){vi_set(0), vf_set(0)};
        for (uint32_t b = 0; b < n; b++) {
            if (r == 0) fetch(&next);
            UNROLL for (uint32_t s = 0; s < each; s++) {
                vi dot[INT8_TOKENS][INT8_VECTORS];
                UNROLL for (uint32_t t = 0; t < tokens; t++) {
                    int32_t sum = sub == 16 ? a[t].offset16[2 * b + s] : a[t].offset32[b];
                    vi offset = vi_set(width == 8 ? (DOT_UNSIGNED ? sum : 0)
                                       : centred  ? sum / (128 >> (width - 1))
                                                  : 0);
                    UNROLL for (uint32_t v = 0; v < vectors; v++) dot[t][v] = offset;
                }
                sub_block_dots(q, bits, width, values, s * (sub / 4), sub / 4, vectors, tokens, a, BLOCK_COLS * b, dot);
                UNROLL for (uint32_t v = 0; v < vectors; v++) {
                    const uint32_t i = (first + b) * each + s, row = (r + v * LANES) % HALF_ROWS;
                    vf by = whole ? vf_set(0)
                            : form ? packed_scale(form, packed[v], i, row)
                                   : vf_load(scale[v] + HALF_ROWS * s);
                    vi times = !whole ? vi_set(0)
                               : form ? packed_factor(form, packed[v], i, row)
                                      : vi_load(factor[v] + HALF_ROWS * s);
                    UNROLL for (uint32_t t = 0; t < tokens; t++) {
                        struct int8_part *p = &part[t][v];
                        if (whole) p->whole = vi_add(p->whole, vi_mul(dot[t][v], times));
                        else p->scaled = vf_fma(vf_from_int(dot[t][v]), by, p->scaled);
                    }
                }
            }
            UNROLL for (uint32_t v = 0; v < vectors; v++) {
                q[v] += block_bytes;
                scale[v] += HALF_ROWS * each;
                factor[v] += HALF_ROWS * each;
            }
        }
        UNROLL for (uint32_t t = 0; t < tokens; t++) {
            vf d = vf_set(a[t].d);
            UNROLL for (uint32_t v = 0; v < vectors; v++) {
                float *out = acc + t * TILE_ROWS + r + v * LANES;
                vf sum = whole ? vf_from_int(part[t][v].whole) : part[t][v].scaled;
                if (!levels) vf_store(out, vf_fma(sum, d, vf_load(out)));
                else if (!first) vf_store(before[t][v], vf_mul(sum, d));
                else vf_store(out, vf_fma(vf_fma(sum, d, vf_load(before[t][v])), group[v], vf_load(out)));
            }
        }
    }
}

/* One instance for each number of tokens, so that everything stays in registers. */
#define INT8_CASE(n, width, sub, levels, whole, centred)                                                               \
    case n:                                                                                                            \
        if (n <= INT8_TOKENS)                                                                                          \
            for (uint32_t r = 0; r < TILE_ROWS; r += INT8_VECTORS * LANES)                                             \
                int8_tile(e, SCALE_NONE, 1, r, blocks, 0, width, sub, levels, whole, centred, INT8_VECTORS,            \
                          n <= INT8_TOKENS ? n : 1, a, stride, acc, next);                                             \
        break;

#define INT8_GROUP(name, width, sub, levels, whole, centred)                                                           \
    static void name(const struct expanded *const *e, uint32_t blocks, uint32_t tokens, const struct act *a,           \
                     size_t stride, float *acc, struct ahead next)                                                     \
    {                                                                                                                  \
        switch (tokens) {                                                                                              \
            INT8_CASE(1, width, sub, levels, whole, centred) INT8_CASE(2, width, sub, levels, whole, centred)          \
            INT8_CASE(3, width, sub, levels, whole, centred) INT8_CASE(4, width, sub, levels, whole, centred)          \
            INT8_CASE(5, width, sub, levels, whole, centred) INT8_CASE(6, width, sub, levels, whole, centred)          \
        }                                                                                                              \
    }

INT8_GROUP(int8_group_32, 8, 32, false, false, true)
INT8_GROUP(int8_group_32_levels, 8, 32, true, false, true)
INT8_GROUP(int8_group_16_levels, 8, 16, true, false, true)
INT8_GROUP(int8_group_32_whole, 8, 32, true, true, true)
INT8_GROUP(int8_group_16_whole, 8, 16, true, true, true)

#define INT8_IS(l, is_width, is_sub, levels, centred)                                                                  \
    ((l)->width == (is_width) && (l)->sub == (is_sub) && layout_has_levels(l) == (levels) &&                           \
     !layout_has_minima(l) == (centred))

#if DOT_WORDS
/* The products with quants of less than a byte: bits, width, sub, levels, centred. The last three are the codebook
 * types'. */
#define INT8_SMALL(X)                                                                                                  \
    X(2, 2, 16, true, false)                                                                                           \
    X(3, 3, 16, true, true)                                                                                            \
    X(4, 4, 32, true, false)                                                                                           \
    X(4, 4, 32, false, true)                                                                                           \
    X(4, 4, 32, false, false)                                                                                          \
    X(5, 5, 32, true, false)                                                                                           \
    X(5, 5, 32, false, true)                                                                                           \
    X(5, 5, 32, false, false)                                                                                          \
    X(6, 6, 16, true, true)                                                                                            \
    X(3, 7, 16, true, true)                                                                                            \
    X(3, 7, 32, true, true)                                                                                            \
    X(4, 5, 32, true, true)
#define INT8_QUANTS(bits, width, sub, levels, centred)                                                                 \
    INT8_GROUP(int8_quants_##width##_##sub##_##levels##_##centred, width, sub, levels, sums_are_whole(width, levels),  \
               centred)
INT8_SMALL(INT8_QUANTS)
#undef INT8_QUANTS
#endif

/* The types whose quants stay packed for a few tokens: those of most files. */
#define INT8_FEW(X)                                                                                                    \
    X(4, 4, 32, true, false)                                                                                           \
    X(4, 4, 32, false, true)                                                                                           \
    X(5, 5, 32, true, false)                                                                                           \
    X(6, 6, 16, true, true)

/* Whether several tokens take the quants as they are packed. Each piece of tokens unpacks them again, in registers, up
 * to the number of tokens where storing them once and loading them for each piece is cheaper. */
static bool int8_stays_packed(const struct layout *l, uint32_t tokens)
{
    bool few = false;
#define INT8_PACKED(is_bits, width, sub, levels, centred)                                                              \
    few |= l->bits == is_bits && INT8_IS(l, width, sub, levels, centred);
    INT8_FEW(INT8_PACKED)
#undef INT8_PACKED
    return few && tokens <= PACKED_TOKENS;
}

/* One piece of tokens on packed quants. */
static void int8_group_packed(const struct layout *l, const struct expanded *const *e, uint32_t blocks,
                              uint32_t tokens, const struct act *a, size_t stride, float *acc, struct ahead next)
{
#define INT8_PACKED(n, is_bits, width, sub, levels, centred)                                                           \
    if (tokens == n && n <= INT8_TOKENS && n <= PACKED_TOKENS && l->bits == is_bits &&                                 \
        INT8_IS(l, width, sub, levels, centred)) {                                                                     \
        for (uint32_t r = 0; r < TILE_ROWS; r += INT8_VECTORS * LANES)                                                 \
            int8_tile(e, SCALE_NONE, 1, r, blocks, is_bits, width, sub, levels, sums_are_whole(width, levels),         \
                      centred, INT8_VECTORS, n <= INT8_TOKENS ? n : 1, a, stride, acc, next);                          \
        return;                                                                                                        \
    }
#define INT8_NUMBERS(...)                                                                                              \
    INT8_PACKED(1, __VA_ARGS__)                                                                                        \
    INT8_PACKED(2, __VA_ARGS__)                                                                                        \
    INT8_PACKED(3, __VA_ARGS__)                                                                                        \
    INT8_PACKED(4, __VA_ARGS__)                                                                                        \
    INT8_PACKED(5, __VA_ARGS__)                                                                                        \
    INT8_PACKED(6, __VA_ARGS__)
    INT8_FEW(INT8_NUMBERS)
#undef INT8_NUMBERS
#undef INT8_PACKED
}

/* acc[tokens][TILE_ROWS] += one group of up to 256 columns. */
typedef void int8_group_fn(const struct expanded *const *e, uint32_t blocks, uint32_t tokens, const struct act *a,
                           size_t stride, float *acc, struct ahead next);

/* acc[tokens][TILE_ROWS] = one tile of the matrix times tokens [t0, t0 + tokens) of the panel, by groups that are
 * expanded to `form` (EXPAND_SCALES: the tokens take them packed, without `group`). */
static void int8_groups(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0, uint32_t tokens,
                        struct stream *stream, int8_group_fn *group, uint32_t pieces, enum expand_to form, float *acc)
{
    const struct layout *l = &layouts[m->type];
    const uint8_t *packed = (const uint8_t *)m->data + tile * layout_tile_bytes(m->type, m->cols);
    struct expanded low, high;
    const struct expanded *const halves[2] = {&low, &high};

    memset(acc, 0, sizeof *acc * tokens * TILE_ROWS);
    for (uint32_t c = 0; c < m->cols; c += GROUP_COLS) {
        uint32_t blocks = (m->cols - c < GROUP_COLS ? m->cols - c : GROUP_COLS) / BLOCK_COLS;
        const struct layout_group at = layout_group(l, blocks);
        const struct act *a = (const struct act *)p->data + (size_t)(c / ACT_COLS) * p->tokens + t0;
        struct ahead next = stream_on(stream, packed, at.bytes, INT8_DISTANCE, false, blocks * pieces);
        expand(l, packed + at.quants[0], packed + at.scales[0], blocks, form, &low);
        expand(l, packed + at.quants[1], packed + at.scales[1], blocks, form, &high);
        int8_add_minima(l, halves, blocks, tokens, a, p->tokens, acc);
        for (uint32_t i = 0; i < pieces; i++) { /* pieces of nearly the same size, none larger than the last */
            uint32_t from = tokens * i / pieces, n = tokens * (i + 1) / pieces - from;
            float *out = acc + from * TILE_ROWS;
            if (form == EXPAND_SCALES) int8_group_packed(l, halves, blocks, n, a + from, p->tokens, out, next);
            else group(halves, blocks, n, a + from, p->tokens, out, next);
            next = ahead_after(next, blocks);
        }
        packed += at.bytes;
    }
}

static int8_group_fn *int8_group_of(const struct layout *l, enum expand_to form)
{
#if DOT_WORDS
#define INT8_QUANTS(bits, width, sub, levels, centred)                                                                 \
    if (form == EXPAND_QUANTS && INT8_IS(l, width, sub, levels, centred))                                              \
        return int8_quants_##width##_##sub##_##levels##_##centred;
    INT8_SMALL(INT8_QUANTS)
#undef INT8_QUANTS
#endif
    (void)form;
    if (sums_are_whole(l->width, layout_has_levels(l))) return l->sub == 32 ? int8_group_32_whole : int8_group_16_whole;
    if (layout_has_levels(l)) return l->sub == 32 ? int8_group_32_levels : int8_group_16_levels;
    return int8_group_32;
}

static void int8_tile_product(const struct matrix *m, const struct panel *p, uint32_t tile, uint32_t t0,
                              uint32_t tokens, struct stream *stream, float *acc)
{
    const struct layout *l = &layouts[m->type];
    enum expand_to form = int8_stays_packed(l, tokens) ? EXPAND_SCALES
                          : l->width < 8 && DOT_WORDS ? EXPAND_QUANTS
                          : QUANTS_RAISED             ? EXPAND_RAISED
                                                      : EXPAND_SIGNED;
    int8_groups(m, p, tile, t0, tokens, stream, int8_group_of(l, form), (tokens + INT8_TOKENS - 1) / INT8_TOKENS, form,
                acc);
}
