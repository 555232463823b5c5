#include "tests/engine/kernel/sample.h"

#include <stdlib.h>
#include <string.h>

#include "engine/model/half.h"
#include "tests/check.h"

static uint64_t state = 1;

void sample_seed(uint64_t seed)
{
    state = seed * 2 + 1;
}

uint64_t sample_bits(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

float sample_normal(void)
{
    uint64_t b = sample_bits();
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += (float)(b >> 16 * i & 0xffff) / 65536 - 0.5f;
    return sum * 1.7320508f;
}

void sample_floats(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = sample_normal();
}

/* Where the float16 fields of a block are; -1: none. */
static const int halves[TYPE_COUNT][2] = {
    [TYPE_F32] = {-1, -1},  [TYPE_F16] = {-1, -1},  [TYPE_BF16] = {-1, -1},  [TYPE_Q8_0] = {0, -1},
    [TYPE_Q4_0] = {0, -1},  [TYPE_Q4_1] = {0, 2},   [TYPE_Q5_0] = {0, -1},   [TYPE_Q5_1] = {0, 2},
    [TYPE_Q4_K] = {0, 2},   [TYPE_Q5_K] = {0, 2},   [TYPE_Q6_K] = {208, -1}, [TYPE_Q3_K] = {108, -1},
    [TYPE_Q2_K] = {80, 82}, [TYPE_IQ4_NL] = {0, -1}, [TYPE_IQ4_XS] = {0, -1}, [TYPE_IQ2_XXS] = {0, -1},
    [TYPE_IQ2_XS] = {0, -1}, [TYPE_IQ2_S] = {0, -1}, [TYPE_IQ3_XXS] = {0, -1}, [TYPE_IQ3_S] = {0, -1},
    [TYPE_MXFP4] = {-1, -1},
};

void *sample_rows(enum type type, uint32_t rows, uint32_t cols)
{
    const struct type_info *info = type_info(type);
    size_t row_bytes = type_row_bytes(type, cols), total = row_bytes * rows;
    uint8_t *raw = malloc(total);
    if (info->block == 1) {
        for (size_t i = 0; i < (size_t)rows * cols; i++) {
            float x = sample_normal() / 16;
            uint16_t h = type == TYPE_F16 ? f16_narrow(x) : bf16_narrow(x);
            if (type == TYPE_F32) memcpy(raw + 4 * i, &x, 4);
            else memcpy(raw + 2 * i, &h, 2);
        }
        return raw;
    }
    for (size_t i = 0; i < total; i++) raw[i] = (uint8_t)(sample_bits() >> 20);
    for (size_t b = 0; b < total; b += info->block_bytes)
        for (int k = 0; k < 2; k++)
            if (halves[type][k] >= 0) {
                uint16_t h = f16_narrow(sample_normal() / 64);
                memcpy(raw + b + halves[type][k], &h, 2);
            }
    for (size_t b = 0; type == TYPE_MXFP4 && b < total; b += info->block_bytes) raw[b] = (uint8_t)(114 + raw[b] % 16);
    return raw;
}

float *sample_unaligned(size_t n, unsigned shift)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, (n + shift) * sizeof(float))) abort();
    return (float *)p + shift;
}

void sample_free(float *p, unsigned shift)
{
    free(p - shift);
}
