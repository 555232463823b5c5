/* Whole pages of keys and values between memories: part of a kernel set (set_template.h), after attend_template.h,
 * which describes the layout of blocks. */

/* As many elements of `size` bytes as fit a word are moved together. */
typedef uint64_t page_word;

/* rows [KV_PAGE][dims] of such elements = the transpose of columns [dims][KV_PAGE]. */
static ALWAYS_INLINE void page_to_rows(char *rows, const char *columns, uint32_t dims, uint32_t size)
{
    uint32_t per = (uint32_t)sizeof(page_word) / size, whole = dims / per * per;
    for (uint32_t d = 0; d < whole; d += per) {
        page_word word[KV_PAGE];
        for (uint32_t p = 0; p < KV_PAGE; p++) word[p] = 0;
        for (uint32_t i = 0; i < per; i++) {
            const char *column = columns + (size_t)(d + i) * KV_PAGE * size;
            for (uint32_t p = 0; p < KV_PAGE; p++) {
                page_word one = size == 1   ? ((const uint8_t *)column)[p]
                                : size == 2 ? ((const uint16_t *)column)[p]
                                            : ((const uint32_t *)column)[p];
                word[p] |= one << 8 * size * i;
            }
        }
        for (uint32_t p = 0; p < KV_PAGE; p++) memcpy(rows + ((size_t)p * dims + d) * size, &word[p], sizeof *word);
    }
    for (uint32_t d = whole; d < dims; d++)
        for (uint32_t p = 0; p < KV_PAGE; p++)
            memcpy(rows + ((size_t)p * dims + d) * size, columns + ((size_t)d * KV_PAGE + p) * size, size);
}

static ALWAYS_INLINE void page_to_columns(char *columns, const char *rows, uint32_t dims, uint32_t size)
{
    uint32_t per = (uint32_t)sizeof(page_word) / size, whole = dims / per * per;
    for (uint32_t d = 0; d < whole; d += per) {
        page_word word[KV_PAGE];
        for (uint32_t p = 0; p < KV_PAGE; p++) memcpy(&word[p], rows + ((size_t)p * dims + d) * size, sizeof *word);
        for (uint32_t i = 0; i < per; i++) {
            char *column = columns + (size_t)(d + i) * KV_PAGE * size;
            for (uint32_t p = 0; p < KV_PAGE; p++) {
                page_word one = word[p] >> 8 * size * i;
                if (size == 1) ((uint8_t *)column)[p] = (uint8_t)one;
                if (size == 2) ((uint16_t *)column)[p] = (uint16_t)one;
                if (size == 4) ((uint32_t *)column)[p] = (uint32_t)one;
            }
        }
    }
    for (uint32_t d = whole; d < dims; d++)
        for (uint32_t p = 0; p < KV_PAGE; p++)
            memcpy(columns + ((size_t)d * KV_PAGE + p) * size, rows + ((size_t)p * dims + d) * size, size);
}

static void set_kv_take(enum kv_type type, uint32_t head_dim, const void *keys, const void *values, void *plain_keys,
                        void *plain_values)
{
    size_t elements = KV_PAGE * (size_t)head_dim;
    uint32_t n = kv_scales(head_dim);
    if (type == KV_F32) {
        page_to_rows(plain_keys, keys, head_dim, 4);
        memcpy(plain_values, values, 4 * elements);
    } else if (type == KV_F16) {
        page_to_rows(plain_keys, keys, head_dim, 2);
        memcpy(plain_values, values, 2 * elements);
    } else {
        const uint16_t *key_scale = (const uint16_t *)((const char *)keys + elements);
        const uint16_t *value_scale = (const uint16_t *)((const char *)values + elements);
        float *to_keys = (float *)((char *)plain_keys + elements),
              *to_values = (float *)((char *)plain_values + elements);
        page_to_rows(plain_keys, keys, head_dim, 1);
        memcpy(plain_values, values, elements);
        for (uint32_t i = 0; i < n * KV_PAGE; i++) {
            to_keys[i] = f16_widen(key_scale[i % n * KV_PAGE + i / n]);
            to_values[i] = f16_widen(value_scale[i]);
        }
    }
}

static void set_kv_give(enum kv_type type, uint32_t head_dim, void *keys, void *values, const void *plain_keys,
                        const void *plain_values)
{
    size_t elements = KV_PAGE * (size_t)head_dim;
    uint32_t n = kv_scales(head_dim);
    if (type == KV_F32) {
        page_to_columns(keys, plain_keys, head_dim, 4);
        memcpy(values, plain_values, 4 * elements);
    } else if (type == KV_F16) {
        page_to_columns(keys, plain_keys, head_dim, 2);
        memcpy(values, plain_values, 2 * elements);
    } else {
        uint16_t *key_scale = (uint16_t *)((char *)keys + elements);
        uint16_t *value_scale = (uint16_t *)((char *)values + elements);
        const float *from_keys = (const float *)((const char *)plain_keys + elements),
                    *from_values = (const float *)((const char *)plain_values + elements);
        page_to_columns(keys, plain_keys, head_dim, 1);
        memcpy(values, plain_values, elements);
        for (uint32_t i = 0; i < n * KV_PAGE; i++) {
            key_scale[i % n * KV_PAGE + i / n] = f16_narrow(from_keys[i]);
            value_scale[i] = f16_narrow(from_values[i]);
        }
    }
}

/* Keys: the positions of 32 dims (or the n that are left), each of which has a scale, side by side. */
static void page_quantise_columns(const float *x, uint32_t n, int8_t *q, uint16_t *scale)
{
    float largest[KV_PAGE] = {0}, inverse[KV_PAGE];
    for (uint32_t d = 0; d < n; d++)
        for (uint32_t p = 0; p < KV_PAGE; p++) {
            float y = fabsf(x[d * KV_PAGE + p]);
            largest[p] = y > largest[p] ? y : largest[p];
        }
    for (uint32_t p = 0; p < KV_PAGE; p++) {
        scale[p] = f16_narrow(largest[p] / 127);
        float widened = f16_widen(scale[p]);
        inverse[p] = widened > 0 ? 1 / widened : 0;
    }
    for (uint32_t d = 0; d < n; d++)
        for (uint32_t p = 0; p < KV_PAGE; p++) {
            float y = x[d * KV_PAGE + p] * inverse[p];
            q[d * KV_PAGE + p] = (int8_t)__builtin_lrintf(y > 127 ? 127 : y < -127 ? -127 : y);
        }
}

static void page_widen(enum kv_type type, uint32_t head_dim, const char *block, bool columns, float *x)
{
    uint32_t elements = KV_PAGE * head_dim, n = kv_scales(head_dim);
    const uint16_t *scale = (const uint16_t *)(block + elements);
    if (type == KV_F32) memcpy(x, block, elements * sizeof *x);
    for (uint32_t i = 0; type == KV_F16 && i < elements; i++) x[i] = f16_widen(((const uint16_t *)block)[i]);
    for (uint32_t d = 0; type == KV_Q8_0 && columns && d < head_dim; d++)
        for (uint32_t p = 0; p < KV_PAGE; p++)
            x[d * KV_PAGE + p] =
                (float)((const int8_t *)block)[d * KV_PAGE + p] * f16_widen(scale[d / 32 * KV_PAGE + p]);
    for (uint32_t p = 0; type == KV_Q8_0 && !columns && p < KV_PAGE; p++)
        for (uint32_t d = 0; d < head_dim; d++)
            x[p * head_dim + d] = (float)((const int8_t *)block)[p * head_dim + d] * f16_widen(scale[p * n + d / 32]);
}

static void page_narrow(enum kv_type type, uint32_t head_dim, char *block, bool columns, const float *x)
{
    uint32_t elements = KV_PAGE * head_dim, n = kv_scales(head_dim);
    uint16_t *scale = (uint16_t *)(block + elements);
    if (type == KV_F32) memcpy(block, x, elements * sizeof *x);
    for (uint32_t i = 0; type == KV_F16 && i < elements; i++) ((uint16_t *)block)[i] = f16_narrow(x[i]);
    for (uint32_t b = 0; type == KV_Q8_0 && b < n; b++) {
        uint32_t left = head_dim - 32 * b < 32 ? head_dim - 32 * b : 32;
        if (columns)
            page_quantise_columns(x + 32 * b * KV_PAGE, left, (int8_t *)block + 32 * b * KV_PAGE, scale + b * KV_PAGE);
        for (uint32_t p = 0; !columns && p < KV_PAGE; p++)
            scale[p * n + b] = kv_quantise(x + p * head_dim + 32 * b, left, (int8_t *)block + p * head_dim + 32 * b);
    }
}

static void set_kv_convert(uint32_t head_dim, enum kv_type from, const void *keys, const void *values, enum kv_type to,
                           void *to_keys, void *to_values)
{
    float x[KV_PAGE * KV_MAX_DIM] __attribute__((aligned(64)));
    page_widen(from, head_dim, keys, true, x);
    page_narrow(to, head_dim, to_keys, true, x);
    page_widen(from, head_dim, values, false, x);
    page_narrow(to, head_dim, to_values, false, x);
}
