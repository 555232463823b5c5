/* Norms, activations, rotation, gates, convolution: part of a kernel set (set_template.h).
 * Every function computes an element in the same way wherever it stands; tails are masked, never computed by other
 * code. */

/* The code for each vector of n elements: i is its first, `left` how many it has, a constant for whole ones. */
#define EACH_VECTOR(i, left, n, ...)                                                                                   \
    do {                                                                                                               \
        uint32_t i = 0;                                                                                                \
        for (; i + LANES <= (n); i += LANES) {                                                                         \
            const uint32_t left = LANES;                                                                               \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        if (i < (n)) {                                                                                                 \
            const uint32_t left = (n) - i;                                                                             \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* exp(x) for x clamped to -87.3 .. 88.3: 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2, exp(r) by a polynomial of
 * degree 7 (that of the Cephes library). Adding 1.5 * 2^23 rounds to an integer, which is then in the lowest bits. */
static ALWAYS_INLINE vf vf_exp_clamped(vf x)
{
    vf y = vf_max(vf_min(x, vf_set(88.3f)), vf_set(-87.3f));
    vf shifted = vf_fma(y, vf_set(1.44269504f), vf_set(12582912.0f));
    vf whole = vf_sub(shifted, vf_set(12582912.0f));
    vf r = vf_fma(whole, vf_set(-0.693359375f), y); /* ln 2 in two parts, the first short so that n times it is exact */
    r = vf_fma(whole, vf_set(2.12194440e-4f), r);
    vf p = vf_set(1.9875691500e-4f);
    p = vf_fma(p, r, vf_set(1.3981999507e-3f));
    p = vf_fma(p, r, vf_set(8.3334519073e-3f));
    p = vf_fma(p, r, vf_set(4.1665795894e-2f));
    p = vf_fma(p, r, vf_set(1.6666665459e-1f));
    p = vf_fma(p, r, vf_set(5.0000001201e-1f));
    p = vf_add(vf_fma(p, vf_mul(r, r), r), vf_set(1));
    return vf_of_bits(vi_add(vf_bits(p), vi_shift_left(vf_bits(shifted), 23))); /* n to the exponent */
}

/* Below -87.3, where 2^n would be subnormal, 0. */
static ALWAYS_INLINE vf vf_exp(vf x)
{
    return vf_below(x, vf_set(-87.3f), vf_set(0), vf_exp_clamped(x));
}

static ALWAYS_INLINE vf vf_sigmoid(vf x)
{
    return vf_reciprocal(vf_add(vf_set(1), vf_exp_clamped(vf_sub(vf_set(0), x))));
}

static ALWAYS_INLINE vf vf_silu(vf x)
{
    return vf_mul(x, vf_sigmoid(x));
}

/* cap tanh(x / cap), the tanh by the sigmoid of twice its argument. */
static ALWAYS_INLINE vf vf_soft_cap(vf x, float cap)
{
    return vf_mul(vf_set(cap), vf_fma(vf_set(2), vf_sigmoid(vf_mul(x, vf_set(2 / cap))), vf_set(-1)));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + y), y = exp(-|x|) in (0, 1]. With y above sqrt(2) - 1 the logarithm is
 * ln 2 + log(1 + f), f = (y - 1) / 2, else f = y; log(1 + f) by a polynomial (Cephes again). */
static ALWAYS_INLINE vf vf_softplus(vf x)
{
    vf y = vf_exp(vf_sub(vf_set(0), vf_abs(x))), limit = vf_set(0.41421356f);
    vf f = vf_below(y, limit, y, vf_mul(vf_sub(y, vf_set(1)), vf_set(0.5f)));
    vf rest = vf_below(y, limit, vf_set(0), vf_set(0.69314718f));
    vf p = vf_set(7.0376836292e-2f);
    p = vf_fma(p, f, vf_set(-1.1514610310e-1f));
    p = vf_fma(p, f, vf_set(1.1676998740e-1f));
    p = vf_fma(p, f, vf_set(-1.2420140846e-1f));
    p = vf_fma(p, f, vf_set(1.4249322787e-1f));
    p = vf_fma(p, f, vf_set(-1.6668057665e-1f));
    p = vf_fma(p, f, vf_set(2.0000714765e-1f));
    p = vf_fma(p, f, vf_set(-2.4999993993e-1f));
    p = vf_fma(p, f, vf_set(3.3333331174e-1f));
    vf f2 = vf_mul(f, f);
    p = vf_mul(vf_mul(p, f), f2);
    p = vf_add(vf_fma(f2, vf_set(-0.5f), p), f);
    return vf_add(vf_max(x, vf_set(0)), vf_add(p, rest));
}

/* Four partial sums of LANES lanes each, joined pairwise: the order depends on n alone. */
static ALWAYS_INLINE float sum_of_products(const float *a, const float *b, uint32_t n)
{
    vf s0 = vf_set(0), s1 = s0, s2 = s0, s3 = s0;
    uint32_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        s0 = vf_fma(vf_load(a + i), vf_load(b + i), s0);
        s1 = vf_fma(vf_load(a + i + LANES), vf_load(b + i + LANES), s1);
        s2 = vf_fma(vf_load(a + i + 2 * LANES), vf_load(b + i + 2 * LANES), s2);
        s3 = vf_fma(vf_load(a + i + 3 * LANES), vf_load(b + i + 3 * LANES), s3);
    }
    for (; i < n; i += LANES) s0 = vf_fma(vf_load_n(a + i, n - i), vf_load_n(b + i, n - i), s0);
    return vf_sum(vf_add(vf_add(s0, s1), vf_add(s2, s3)));
}

static void set_rms_norm(float *out, const float *x, const float *multiplier, uint32_t n, float eps)
{
    vf scale = vf_set(1 / sqrtf(sum_of_products(x, x, n) / (float)n + eps));
    if (!multiplier)
        EACH_VECTOR(i, left, n, vf_store_n(out + i, vf_mul(vf_load_n(x + i, left), scale), left));
    else
        EACH_VECTOR(
            i, left, n,
            vf_store_n(out + i, vf_mul(vf_mul(vf_load_n(x + i, left), scale), vf_load_n(multiplier + i, left)), left));
}

/* Prefetches the row that is used ROWS_AHEAD tokens later: the rows of tokens are far apart, and too short for the
 * CPU's own prefetcher. */
enum { ROWS_AHEAD = 6 };

static ALWAYS_INLINE void fetch_row(const float *rows, size_t ld, uint32_t n, uint32_t t, uint32_t tokens)
{
    if (t + ROWS_AHEAD >= tokens) return;
    for (uint32_t i = 0; i < n; i += 64 / sizeof *rows) __builtin_prefetch(rows + (t + ROWS_AHEAD) * ld + i);
}

static void set_l2_norm(float *x, size_t ld, uint32_t n, float eps, float factor, uint32_t tokens)
{
    for (uint32_t t = 0; t < tokens; t++, x += ld) {
        vf scale = vf_set(factor / sqrtf(sum_of_products(x, x, n) + eps));
        EACH_VECTOR(i, left, n, vf_store_n(x + i, vf_mul(vf_load_n(x + i, left), scale), left));
    }
}

static void set_norm_gate(float *x, size_t ld, const float *multiplier, const float *z, size_t ldz, uint32_t n,
                          float eps, uint32_t tokens)
{
    for (uint32_t t = 0; t < tokens; t++, x += ld) {
        const float *gate = z + t * ldz;
        vf scale = vf_set(1 / sqrtf(sum_of_products(x, x, n) / (float)n + eps));
        fetch_row(z, ldz, n, t, tokens);
        EACH_VECTOR(i, left, n, {
            vf y = vf_mul(vf_mul(vf_load_n(x + i, left), scale), vf_load_n(multiplier + i, left));
            vf_store_n(x + i, vf_mul(y, vf_silu(vf_load_n(gate + i, left))), left);
        });
    }
}

static void set_silu_mul(float *out, const float *gate, const float *up, uint32_t n)
{
    EACH_VECTOR(i, left, n,
                vf_store_n(out + i, vf_mul(vf_silu(vf_load_n(gate + i, left)), vf_load_n(up + i, left)), left));
}

static void set_soft_cap(float *x, float cap, uint32_t n)
{
    EACH_VECTOR(i, left, n, vf_store_n(x + i, vf_soft_cap(vf_load_n(x + i, left), cap), left));
}

static void set_sigmoid_mul(float *out, const float *x, const float *gate, uint32_t n)
{
    EACH_VECTOR(i, left, n,
                vf_store_n(out + i, vf_mul(vf_load_n(x + i, left), vf_sigmoid(vf_load_n(gate + i, left))), left));
}

static float set_dot(const float *a, const float *b, uint32_t n)
{
    return sum_of_products(a, b, n);
}

static void set_mix(float *x, const float *const *rows, const float *weights, uint32_t n_rows, uint32_t n)
{
    EACH_VECTOR(i, left, n, {
        vf sum = vf_mul(vf_set(weights[0]), vf_load_n(rows[0] + i, left));
        for (uint32_t r = 1; r < n_rows; r++) sum = vf_fma(vf_set(weights[r]), vf_load_n(rows[r] + i, left), sum);
        vf_store_n(x + i, vf_add(vf_load_n(x + i, left), sum), left);
    });
}

static void set_rope(float *x, const float *cosine, const float *sine, uint32_t dims)
{
    uint32_t half = dims / 2;
    for (uint32_t i = 0; i < half; i += LANES) {
        vf a = vf_load_n(x + i, half - i), b = vf_load_n(x + half + i, half - i);
        vf c = vf_load_n(cosine + i, half - i), s = vf_load_n(sine + i, half - i);
        vf_store_n(x + i, vf_sub(vf_mul(a, c), vf_mul(b, s)), half - i);
        vf_store_n(x + half + i, vf_add(vf_mul(b, c), vf_mul(a, s)), half - i);
    }
}

static void set_delta_gates(float *decay, float *beta, const float *a, const float *b, size_t ld, float rate,
                            float dt_bias, uint32_t tokens)
{
    for (uint32_t t = 0; t < tokens; t += LANES) {
        uint32_t n = tokens - t < LANES ? tokens - t : LANES;
        float by_a[LANES] = {0}, by_b[LANES] = {0};
        for (uint32_t i = 0; i < n; i++) {
            by_a[i] = a[(t + i) * ld];
            by_b[i] = b[(t + i) * ld];
        }
        vf step = vf_softplus(vf_add(vf_load(by_a), vf_set(dt_bias)));
        vf_store_n(decay + t, vf_exp(vf_mul(vf_set(rate), step)), n);
        vf_store_n(beta + t, vf_sigmoid(vf_load(by_b)), n);
    }
}

/* Input at - taps of the dispatch: before its first token, from the state. */
static ALWAYS_INLINE const float *conv_input(const float *in, size_t ldi, const float *state, uint32_t channels,
                                             uint32_t taps, uint32_t at)
{
    return at >= taps ? in + (at - taps) * ldi : state + (size_t)(at - 1) * channels;
}

static void set_conv_silu(float *out, size_t ldo, const float *in, size_t ldi, const float *w, float *state,
                          uint32_t channels, uint32_t taps, uint32_t c0, uint32_t c1, uint32_t tokens)
{
    for (uint32_t t = 0; t < tokens; t++) {
        fetch_row(in + c0, ldi, c1 - c0, t, tokens);
        for (uint32_t c = c0; c < c1;) {
            vf sum[4]; /* that many vectors at a time, to hide the latency of their chains */
            uint32_t n = c1 - c;
            if (n >= 4 * LANES) {
                UNROLL for (uint32_t i = 0; i < 4; i++) sum[i] = vf_set(0);
                for (uint32_t j = 0; j < taps; j++) { /* input t - taps + 1 + j */
                    const float *x = conv_input(in, ldi, state, channels, taps, t + j + 1) + c;
                    const float *by = w + (size_t)j * channels + c;
                    UNROLL for (uint32_t i = 0; i < 4; i++)
                        sum[i] = vf_fma(vf_load(by + i * LANES), vf_load(x + i * LANES), sum[i]);
                }
                UNROLL for (uint32_t i = 0; i < 4; i++) vf_store(out + t * ldo + c - c0 + i * LANES, vf_silu(sum[i]));
                c += 4 * LANES;
                continue;
            }
            sum[0] = vf_set(0);
            for (uint32_t j = 0; j < taps; j++)
                sum[0] = vf_fma(vf_load_n(w + (size_t)j * channels + c, n),
                                vf_load_n(conv_input(in, ldi, state, channels, taps, t + j + 1) + c, n), sum[0]);
            vf_store_n(out + t * ldo + c - c0, vf_silu(sum[0]), n);
            c += LANES;
        }
    }
    /* Row i of the state becomes input tokens - (taps - 1) + i; rows are read before they are written. */
    for (uint32_t i = 0; i + 1 < taps; i++) {
        const float *x = conv_input(in, ldi, state, channels, taps, tokens + i + 1);
        memcpy(state + (size_t)i * channels + c0, x + c0, (c1 - c0) * sizeof *state);
    }
}
