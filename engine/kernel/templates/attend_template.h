/* Attention over one page of keys and values: part of a kernel set (set_template.h).
 *
 * Keys are stored [dim][KV_PAGE]: a lane is a position, a score is the sum over ascending dims. Values are stored
 * [KV_PAGE][dim]: a lane is a dim, a sum goes over ascending positions. Q8_0 blocks hold int8 in the same order and
 * then float16 scales for each 32 dims, [dims / 32][KV_PAGE] for keys, [KV_PAGE][dims / 32] for values; they are
 * widened into float32 first. */

enum { KV_MAX_DIM = 512, PAGE_VECTORS = KV_PAGE / LANES };

static ALWAYS_INLINE uint32_t kv_scales(uint32_t head_dim)
{
    return (head_dim + 31) / 32;
}

static size_t set_kv_block_bytes(enum kv_type type, uint32_t head_dim)
{
    size_t bytes = type == KV_F32   ? 4 * (size_t)KV_PAGE * head_dim
                   : type == KV_F16 ? 2 * (size_t)KV_PAGE * head_dim
                                    : KV_PAGE * ((size_t)head_dim + 2 * kv_scales(head_dim));
    return (bytes + 63) / 64 * 64;
}

/* 32 dims (or the n that are left) to int8 and a float16 scale. */
static uint16_t kv_quantise(const float *x, uint32_t n, int8_t *q)
{
    float largest = 0;
    for (uint32_t i = 0; i < n; i++) largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
    uint16_t scale = f16_narrow(largest / 127);
    float widened = f16_widen(scale), inverse = widened > 0 ? 1 / widened : 0;
    for (uint32_t i = 0; i < n; i++) {
        float y = x[i] * inverse; /* the scale's rounding can carry it past 127 */
        q[i] = (int8_t)__builtin_lrintf(y > 127 ? 127 : y < -127 ? -127 : y);
    }
    return scale;
}

static void set_kv_store(enum kv_type type, uint32_t head_dim, void *keys, void *values, uint32_t position,
                         const float *k, const float *v)
{
    uint32_t n = kv_scales(head_dim);
    if (type == KV_F32) {
        for (uint32_t d = 0; d < head_dim; d++) ((float *)keys)[d * KV_PAGE + position] = k[d];
        memcpy((float *)values + (size_t)position * head_dim, v, head_dim * sizeof *v);
    } else if (type == KV_F16) {
        uint16_t *row = (uint16_t *)values + (size_t)position * head_dim;
        for (uint32_t d = 0; d < head_dim; d++) ((uint16_t *)keys)[d * KV_PAGE + position] = f16_narrow(k[d]);
        for (uint32_t d = 0; d < head_dim; d++) row[d] = f16_narrow(v[d]);
    } else {
        uint16_t *key_scale = (uint16_t *)((int8_t *)keys + KV_PAGE * (size_t)head_dim);
        uint16_t *value_scale = (uint16_t *)((int8_t *)values + KV_PAGE * (size_t)head_dim);
        for (uint32_t b = 0; b < n; b++) {
            uint32_t left = head_dim - 32 * b < 32 ? head_dim - 32 * b : 32;
            int8_t q[32];
            key_scale[b * KV_PAGE + position] = kv_quantise(k + 32 * b, left, q);
            for (uint32_t i = 0; i < left; i++) ((int8_t *)keys)[(32 * b + i) * KV_PAGE + position] = q[i];
            value_scale[position * n + b] =
                kv_quantise(v + 32 * b, left, (int8_t *)values + (size_t)position * head_dim + 32 * b);
        }
    }
}

static void set_kv_load(enum kv_type type, uint32_t head_dim, const void *keys, const void *values, uint32_t position,
                        float *k, float *v)
{
    uint32_t n = kv_scales(head_dim);
    const uint16_t *key_scale = (const uint16_t *)((const int8_t *)keys + KV_PAGE * (size_t)head_dim);
    const uint16_t *value_scale = (const uint16_t *)((const int8_t *)values + KV_PAGE * (size_t)head_dim);
    for (uint32_t d = 0; d < head_dim; d++) {
        size_t key = (size_t)d * KV_PAGE + position, value = (size_t)position * head_dim + d;
        if (type == KV_F32) {
            k[d] = ((const float *)keys)[key];
            v[d] = ((const float *)values)[value];
        } else if (type == KV_F16) {
            k[d] = f16_widen(((const uint16_t *)keys)[key]);
            v[d] = f16_widen(((const uint16_t *)values)[value]);
        } else {
            k[d] = (float)((const int8_t *)keys)[key] * f16_widen(key_scale[d / 32 * KV_PAGE + position]);
            v[d] = (float)((const int8_t *)values)[value] * f16_widen(value_scale[position * n + d / 32]);
        }
    }
}

static ALWAYS_INLINE vf kv_vector(bool half, const void *block, size_t i)
{
    return half ? vf_load_f16((const uint16_t *)block + i) : vf_load((const float *)block + i);
}

/* The positions that a row sees: from `passed` on, below `visible`. */
struct seen {
    uint32_t passed, visible;
};

static ALWAYS_INLINE struct seen attend_seen(const struct attend *a, uint32_t row)
{
    return (struct seen){a->passed ? a->passed[row] : 0, a->visible[row]};
}

/* Scores of `rows` query rows that all see the same positions, their maximum, exponentials and sum. */
static ALWAYS_INLINE void attend_scores(const struct attend *a, bool half, const void *keys, uint32_t row,
                                        uint32_t rows, struct seen seen, float (*weight)[KV_PAGE])
{
    vf score[ATTEND_ROWS][PAGE_VECTORS];
    const float *q = a->q + (size_t)row * a->head_dim;
    UNROLL for (uint32_t r = 0; r < rows; r++)
        UNROLL for (uint32_t p = 0; p < PAGE_VECTORS; p++) score[r][p] = vf_set(0);
    for (uint32_t d = 0; d < a->head_dim; d++) {
        vf key[PAGE_VECTORS];
        UNROLL for (uint32_t p = 0; p < PAGE_VECTORS; p++) key[p] = kv_vector(half, keys, d * KV_PAGE + p * LANES);
        UNROLL for (uint32_t r = 0; r < rows; r++) {
            vf by = vf_set(q[r * a->head_dim + d]);
            UNROLL for (uint32_t p = 0; p < PAGE_VECTORS; p++) score[r][p] = vf_fma(key[p], by, score[r][p]);
        }
    }
    UNROLL for (uint32_t r = 0; r < rows; r++) {
        vf most = vf_set(-INFINITY), sum = vf_set(0), limit = vf_set((float)seen.visible);
        UNROLL for (uint32_t p = 0; p < PAGE_VECTORS; p++) {
            if (a->cap > 0) score[r][p] = vf_soft_cap(score[r][p], a->cap);
            score[r][p] = vf_below(vf_load(page_positions + p * LANES), limit, score[r][p], vf_set(-INFINITY));
            if (seen.passed)
                score[r][p] = vf_below(vf_load(page_positions + p * LANES), vf_set((float)seen.passed),
                                       vf_set(-INFINITY), score[r][p]);
            most = vf_max(most, score[r][p]);
        }
        float max = vf_largest(most);
        UNROLL for (uint32_t p = 0; p < PAGE_VECTORS; p++) {
            vf y = vf_exp(vf_sub(score[r][p], vf_set(max)));
            sum = vf_add(sum, y);
            vf_store(weight[r] + p * LANES, y);
        }
        a->max[row + r] = max;
        a->sum[row + r] = vf_sum(sum);
    }
}

static ALWAYS_INLINE void attend_values(const struct attend *a, bool half, const void *values, uint32_t row,
                                        uint32_t rows, struct seen seen, float (*weight)[KV_PAGE])
{
    enum { STEP = VALUE_VECTORS * LANES };
    float *out = a->acc + (size_t)row * a->head_dim;
    for (uint32_t d = 0; d < a->head_dim; d += STEP) {
        vf sum[ATTEND_ROWS][VALUE_VECTORS];
        UNROLL for (uint32_t r = 0; r < rows; r++)
            UNROLL for (uint32_t c = 0; c < VALUE_VECTORS; c++) sum[r][c] = vf_set(0);
        for (uint32_t p = seen.passed; p < seen.visible; p++) {
            vf value[VALUE_VECTORS];
            UNROLL for (uint32_t c = 0; c < VALUE_VECTORS; c++)
                value[c] = kv_vector(half, values, (size_t)p * a->head_dim + d + c * LANES);
            UNROLL for (uint32_t r = 0; r < rows; r++) {
                vf by = vf_set(weight[r][p]);
                UNROLL for (uint32_t c = 0; c < VALUE_VECTORS; c++) sum[r][c] = vf_fma(value[c], by, sum[r][c]);
            }
        }
        UNROLL for (uint32_t r = 0; r < rows; r++)
            UNROLL for (uint32_t c = 0; c < VALUE_VECTORS; c++)
                vf_store(out + r * a->head_dim + d + c * LANES, sum[r][c]);
    }
}

/* Head sizes that aren't whole steps of vectors are rare and small: one dim at a time, in the same order. */
static void attend_values_odd(const struct attend *a, bool half, const void *values, uint32_t row, uint32_t rows,
                              struct seen seen, float (*weight)[KV_PAGE])
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t d = 0; d < a->head_dim; d++) {
            float sum = 0;
            for (uint32_t p = seen.passed; p < seen.visible; p++) {
                size_t at = (size_t)p * a->head_dim + d;
                float value = half ? f16_widen(((const uint16_t *)values)[at]) : ((const float *)values)[at];
                sum += value * weight[r][p];
            }
            a->acc[(size_t)(row + r) * a->head_dim + d] = sum;
        }
}

static ALWAYS_INLINE void attend_rows(const struct attend *a, bool half, const void *keys, const void *values,
                                      uint32_t row, uint32_t rows)
{
    float weight[ATTEND_ROWS][KV_PAGE] __attribute__((aligned(64)));
    struct seen seen = attend_seen(a, row);
    attend_scores(a, half, keys, row, rows, seen, weight);
    if (a->head_dim % (VALUE_VECTORS * LANES))
        attend_values_odd(a, half, values, row, rows, seen, weight);
    else
        attend_values(a, half, values, row, rows, seen, weight);
}

static ALWAYS_INLINE void attend_block(const struct attend *a, bool half, const void *keys, const void *values)
{
    enum { SOME = ATTEND_ROWS >= 2 ? ATTEND_ROWS / 2 : 1 };
    for (uint32_t row = 0; row < a->rows;) {
        uint32_t n = 1; /* rows that see as much share each key and value; garbage beyond is never touched */
        struct seen seen = attend_seen(a, row);
        while (n < ATTEND_ROWS && row + n < a->rows && a->visible[row + n] == seen.visible &&
               attend_seen(a, row + n).passed == seen.passed)
            n++;
        if (!seen.visible) {
            n = 1;
            a->max[row] = -INFINITY;
            a->sum[row] = 0;
            memset(a->acc + (size_t)row * a->head_dim, 0, a->head_dim * sizeof *a->acc);
        } else if (n == ATTEND_ROWS) {
            attend_rows(a, half, keys, values, row, ATTEND_ROWS);
        } else if (n >= SOME) {
            n = SOME;
            attend_rows(a, half, keys, values, row, SOME);
        } else if (SOME > 1) {
            n = 1;
            attend_rows(a, half, keys, values, row, 1);
        }
        row += n;
    }
}

static void set_attend(const struct attend *a)
{
    if (a->type == KV_F16) {
        attend_block(a, true, a->keys, a->values);
        return;
    }
    if (a->type == KV_F32) {
        attend_block(a, false, a->keys, a->values);
        return;
    }
    float keys[KV_MAX_DIM * KV_PAGE] __attribute__((aligned(64))),
        values[KV_MAX_DIM * KV_PAGE] __attribute__((aligned(64)));
    uint32_t most = 0, dims = a->head_dim, n = kv_scales(dims);
    const int8_t *key = a->keys, *value = a->values;
    const uint16_t *key_scale = (const uint16_t *)(key + KV_PAGE * (size_t)dims);
    const uint16_t *value_scale = (const uint16_t *)(value + KV_PAGE * (size_t)dims);
    for (uint32_t r = 0; r < a->rows; r++) most = a->visible[r] > most ? a->visible[r] : most;
    for (uint32_t d = 0; d < dims; d++)
        for (uint32_t p = 0; p < KV_PAGE; p += LANES)
            vf_store(keys + d * KV_PAGE + p, vf_mul(vf_from_int(vi_load_int8(key + d * KV_PAGE + p)),
                                                   vf_load_f16(key_scale + d / 32 * KV_PAGE + p)));
    for (uint32_t p = 0; p < most; p++)
        for (uint32_t d = 0; d < dims; d++)
            values[p * dims + d] = (float)value[p * dims + d] * f16_widen(value_scale[p * n + d / 32]);
    attend_block(a, false, keys, values);
}

static void set_attend_merge(float *max_a, float *sum_a, float *acc_a, const float *max_b, const float *sum_b,
                             const float *acc_b, uint32_t rows, uint32_t head_dim)
{
    for (uint32_t r = 0; r < rows; r++, acc_a += head_dim, acc_b += head_dim) {
        if (max_b[r] == -INFINITY) continue;
        float max = max_a[r] > max_b[r] ? max_a[r] : max_b[r];
        vf by_a = vf_exp(vf_set(max_a[r] - max)), by_b = vf_exp(vf_set(max_b[r] - max)); /* exp(-inf) is 0 */
        float sums[2] = {sum_a[r], sum_b[r]};
        vf_store_n(sum_a + r, vf_fma(vf_set(sums[1]), by_b, vf_mul(vf_set(sums[0]), by_a)), 1);
        max_a[r] = max;
        for (uint32_t d = 0; d < head_dim; d += LANES) {
            uint32_t n = head_dim - d;
            vf old = vf_mul(vf_load_n(acc_a + d, n), by_a);
            vf_store_n(acc_a + d, vf_fma(vf_load_n(acc_b + d, n), by_b, old), n);
        }
    }
}

static void set_attend_finish(float *out, const float *acc, float sum, uint32_t head_dim)
{
    vf by = vf_set(1 / sum);
    for (uint32_t d = 0; d < head_dim; d += LANES)
        vf_store_n(out + d, vf_mul(vf_load_n(acc + d, head_dim - d), by), head_dim - d);
}
