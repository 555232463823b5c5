/* Functions for the blocks of vision towers, and for some language models: LayerNorm, GELU in its two forms, the
 * running softmax of full attention. Part of a kernel set (set_template.h). */

/* Lanes of the elements of a vector that has `left` of them: x, beyond them y. */
static ALWAYS_INLINE vf vf_first(vf x, uint32_t left, vf y)
{
    return left >= LANES ? x : vf_below(vf_load(page_positions), vf_set((float)left), x, y);
}

static ALWAYS_INLINE float sum_of(const float *x, uint32_t n)
{
    vf s0 = vf_set(0), s1 = s0;
    uint32_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        s0 = vf_add(s0, vf_load(x + i));
        s1 = vf_add(s1, vf_load(x + i + LANES));
    }
    for (; i < n; i += LANES) s0 = vf_add(s0, vf_load_n(x + i, n - i));
    return vf_sum(vf_add(s0, s1));
}

static void set_layer_norm(float *out, const float *x, const float *multiplier, const float *bias, uint32_t n,
                           float eps)
{
    vf mean = vf_set(sum_of(x, n) / (float)n), squares = vf_set(0);
    EACH_VECTOR(i, left, n, {
        vf y = vf_first(vf_sub(vf_load_n(x + i, left), mean), left, vf_set(0));
        squares = vf_fma(y, y, squares);
    });
    vf scale = vf_set(1 / sqrtf(vf_sum(squares) / (float)n + eps));
    EACH_VECTOR(i, left, n, {
        vf y = vf_mul(vf_sub(vf_load_n(x + i, left), mean), scale);
        vf_store_n(out + i, vf_fma(y, vf_load_n(multiplier + i, left), vf_load_n(bias + i, left)), left);
    });
}

static void set_add(float *x, const float *y, uint32_t n)
{
    EACH_VECTOR(i, left, n, vf_store_n(x + i, vf_add(vf_load_n(x + i, left), vf_load_n(y + i, left)), left));
}

static void set_scale(float *x, float by, uint32_t n)
{
    EACH_VECTOR(i, left, n, vf_store_n(x + i, vf_mul(vf_load_n(x + i, left), vf_set(by)), left));
}

static void scale_add(float *x, float by, const float *y, uint32_t n)
{
    EACH_VECTOR(i, left, n,
                vf_store_n(x + i, vf_fma(vf_load_n(x + i, left), vf_set(by), vf_load_n(y + i, left)), left));
}

/* y / 2 (1 + tanh(sqrt(2 / pi) (y + 0.044715 y^3))), the tanh by the sigmoid of twice its argument. */
static ALWAYS_INLINE vf vf_gelu_tanh(vf y)
{
    vf inner = vf_mul(y, vf_fma(vf_mul(y, y), vf_set(0.0713548162726f), vf_set(1.59576912161f)));
    return vf_mul(y, vf_sigmoid(inner));
}

/* y / 2 (1 + erf(y / sqrt(2))): with half = erfc(|y| / sqrt(2)) / 2, y half below 0 and y - y half above, so that
 * nothing is lost where the sum would be nearly 0. erfc by 7.1.26 of Abramowitz and Stegun, to 1.5e-7. */
static ALWAYS_INLINE vf vf_gelu_erf(vf y)
{
    vf a = vf_mul(vf_abs(y), vf_set(0.707106781f)), t = vf_reciprocal(vf_fma(a, vf_set(0.3275911f), vf_set(1)));
    vf p = vf_set(1.061405429f);
    p = vf_fma(p, t, vf_set(-1.453152027f));
    p = vf_fma(p, t, vf_set(1.421413741f));
    p = vf_fma(p, t, vf_set(-0.284496736f));
    p = vf_fma(p, t, vf_set(0.254829592f));
    vf half = vf_mul(vf_mul(vf_mul(p, t), vf_exp(vf_sub(vf_set(0), vf_mul(a, a)))), vf_set(0.5f));
    vf small = vf_mul(y, half);
    return vf_below(y, vf_set(0), small, vf_sub(y, small));
}

static void set_gelu_tanh(float *x, const float *bias, uint32_t n)
{
    EACH_VECTOR(i, left, n,
                vf_store_n(x + i, vf_gelu_tanh(vf_add(vf_load_n(x + i, left), vf_load_n(bias + i, left))), left));
}

static void set_gelu_erf(float *x, const float *bias, uint32_t n)
{
    EACH_VECTOR(i, left, n,
                vf_store_n(x + i, vf_gelu_erf(vf_add(vf_load_n(x + i, left), vf_load_n(bias + i, left))), left));
}

/* 2^x for x from -126 up to 0: the whole part to the exponent, the rest by a polynomial, the best of its degree, to
 * 2.9e-6 of the value. Below, 2^-126. */
static ALWAYS_INLINE vf vf_exp2(vf x)
{
    vf y = vf_max(x, vf_set(-126));
    vf shifted = vf_add(y, vf_set(12582912.0f)), r = vf_sub(y, vf_sub(shifted, vf_set(12582912.0f)));
    vf p = vf_set(9.582886561e-3f);
    p = vf_fma(p, r, vf_set(5.590651128e-2f));
    p = vf_fma(p, r, vf_set(2.402409856e-1f));
    p = vf_fma(p, r, vf_set(6.931241835e-1f));
    p = vf_fma(p, r, vf_set(1));
    return vf_of_bits(vi_add(vf_bits(p), vi_shift_left(vf_bits(shifted), 23)));
}

/* Several at a time: the largest so far is known only some cycles later. */
static ALWAYS_INLINE float largest_of(const float *x, uint32_t n)
{
    vf most[4];
    uint32_t i = 0;
    UNROLL for (int v = 0; v < 4; v++) most[v] = vf_set(-INFINITY);
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        UNROLL for (int v = 0; v < 4; v++) most[v] = vf_max(most[v], vf_load(x + i + v * LANES));
    for (; i < n; i += LANES) most[0] = vf_max(most[0], vf_first(vf_load_n(x + i, n - i), n - i, vf_set(-INFINITY)));
    return vf_largest(vf_max(vf_max(most[0], most[1]), vf_max(most[2], most[3])));
}

static float soften(float *x, uint32_t n, float by, float *max, float *sum)
{
    vf total = vf_set(0);
    float old = *max, here = largest_of(x, n) * by, now = here > old ? here : old, factor[LANES];
    EACH_VECTOR(i, left, n, {
        vf y = vf_exp2(vf_fma(vf_load_n(x + i, left), vf_set(by), vf_set(-now)));
        vf_store_n(x + i, y, left);
        total = vf_add(total, vf_first(y, left, vf_set(0)));
    });
    vf_store(factor, old == -INFINITY ? vf_set(0) : vf_exp2(vf_set(old - now)));
    *max = now;
    *sum = *sum * factor[0] + vf_sum(total);
    return factor[0];
}

/* The layout of BF16 is the same in all sets: [tile][column pair][32 rows][2] (layout.h). */

static ALWAYS_INLINE void round_floats(uint16_t *out, const float *x, uint32_t n)
{
#ifdef PANELS_OF_BF16
    EACH_VECTOR(
        i, left, n,
        _mm256_mask_storeu_epi16(out + i, first_lanes(left), vf_bf16(vf_load_n(x + i, left))));
#else
    for (uint32_t i = 0; i < n; i++) out[i] = bf16_narrow(x[i]);
#endif
}

/* The number of the key, of 32, in a row of a tile. */
static ALWAYS_INLINE uint32_t key_place(uint32_t row)
{
#ifdef SET_AMX
    return row < HALF_ROWS ? 2 * row : 2 * (row - HALF_ROWS) + 1;
#else
    return row;
#endif
}

/* The first n pairs of columns of a tile of keys: to[pair][TILE_ROWS], whose rows are in their places. */
static ALWAYS_INLINE void turn_keys(uint32_t (*rounded)[HALF_ROWS], uint32_t n, uint32_t *to)
{
#ifdef PANELS_OF_BF16
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (uint32_t half = 0; half < TILE_ROWS; half += HALF_ROWS) {
        __m512i x[HALF_ROWS];
        UNROLL for (uint32_t r = 0; r < HALF_ROWS; r++) x[r] = _mm512_loadu_si512(rounded[key_place(half + r)]);
        /* Of two rows so far apart, the first's upper lanes change places with the second's lower ones. */
        UNROLL for (uint32_t apart = 1; apart < HALF_ROWS; apart *= 2)
        {
            __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32((int)apart));
            __m512i first = _mm512_mask_add_epi32(lane, upper, lane, _mm512_set1_epi32(HALF_ROWS - (int)apart));
            __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32((int)apart));
            UNROLL for (uint32_t r = 0; r < HALF_ROWS; r++) if (!(r & apart))
            {
                __m512i low = x[r], high = x[r + apart];
                x[r] = _mm512_permutex2var_epi32(low, first, high);
                x[r + apart] = _mm512_permutex2var_epi32(low, second, high);
            }
        }
        UNROLL for (uint32_t i = 0; i < HALF_ROWS; i++) if (i < n)
            _mm512_storeu_si512(to + (size_t)i * TILE_ROWS + half, x[i]);
    }
#else
    for (uint32_t i = 0; i < n; i++, to += TILE_ROWS)
        for (uint32_t r = 0; r < TILE_ROWS; r++) to[r] = rounded[key_place(r)][i];
#endif
}

static void set_pack_keys(struct matrix *m, const float *x, size_t ldx, uint32_t row0, uint32_t n)
{
    enum { SOME = 32 }; /* columns */
    uint32_t pairs = (m->cols + 1) / 2, rounded[TILE_ROWS][SOME / 2];
    for (uint32_t tile = 0; tile < n; tile += TILE_ROWS)
        for (uint32_t c = 0; c < m->cols; c += SOME) {
            uint32_t *to = (uint32_t *)m->data + (size_t)(row0 + tile) * pairs + (size_t)(c / 2) * TILE_ROWS;
            uint32_t some = m->cols - c < SOME ? m->cols - c : SOME, rows = n - tile < TILE_ROWS ? n - tile : TILE_ROWS;
            if (some < SOME || rows < TILE_ROWS) memset(rounded, 0, sizeof rounded);
            for (uint32_t r = 0; r < rows; r++) round_floats((uint16_t *)rounded[r], x + (tile + r) * ldx + c, some);
            turn_keys(rounded, (some + 1) / 2, to);
        }
}

static void set_pack_values(struct matrix *m, const float *x, size_t ldx)
{
    uint16_t even[TILE_ROWS] = {0}, odd[TILE_ROWS] = {0};
    uint32_t pairs = (m->cols + 1) / 2;
    for (uint32_t tile = 0; tile < m->rows; tile += TILE_ROWS) {
        uint32_t rows = m->rows - tile < TILE_ROWS ? m->rows - tile : TILE_ROWS;
        uint32_t *to = (uint32_t *)m->data + (size_t)tile * pairs;
        if (rows < TILE_ROWS) memset(even, 0, sizeof even), memset(odd, 0, sizeof odd);
        for (uint32_t c = 0; c < m->cols; c += 2, to += TILE_ROWS) {
            round_floats(even, x + c * ldx + tile, rows);
            if (c + 1 < m->cols)
                round_floats(odd, x + (c + 1) * ldx + tile, rows);
            else
                memset(odd, 0, sizeof odd);
            for (uint32_t r = 0; r < TILE_ROWS; r++) to[r] = even[r] | (uint32_t)odd[r] << 16;
        }
    }
}
