/* Pages of keys and values on their way to other memories, for every kernel set that this CPU runs: the plain form and
 * back changes no bit, and another type has the bits that position by position gives. */
#include "engine/kernel/kernel.h"
#include "engine/model/half.h"

#include "tests/check.h"
#include "tests/engine/kernel/sample.h"
#include "tests/engine/kernel/tested.h"

static const struct kernels *sets[TESTED_SETS];
static int set_count;

static const uint32_t dims[] = {256, 64, 32, 16, 24, 81};
enum { DIMS = sizeof dims / sizeof *dims, DIM = 256, TYPES = 3, ROOM = KV_PAGE * DIM * 4 };

struct blocks {
    char keys[ROOM] __attribute__((aligned(64))), values[ROOM] __attribute__((aligned(64)));
};

static void fill(const struct kernels *k, enum kv_type type, uint32_t dim, struct blocks *b)
{
    float key[DIM], value[DIM];
    for (uint32_t p = 0; p < KV_PAGE; p++) {
        sample_floats(key, dim), sample_floats(value, dim);
        k->kv_store(type, dim, b->keys, b->values, p, key, value);
    }
}

/* A position of a plain form. */
static void plain_row(enum kv_type type, uint32_t dim, const char *plain, uint32_t p, float *x)
{
    const float *scale = (const float *)(plain + KV_PAGE * dim) + p * ((dim + 31) / 32);
    for (uint32_t i = 0; i < dim; i++)
        x[i] = type == KV_F32   ? ((const float *)plain)[p * dim + i]
               : type == KV_F16 ? f16_widen(((const uint16_t *)plain)[p * dim + i])
                                : (float)((const int8_t *)plain)[p * dim + i] * scale[i / 32];
}

TEST(the_plain_form_is_the_block_and_back)
{
    static struct blocks block, plain, back;
    float key[DIM], value[DIM], x[DIM];
    for (int s = 0; s < set_count; s++)
        for (int type = 0; type < TYPES; type++)
            for (int d = 0; d < DIMS; d++) {
                const struct kernels *k = sets[s];
                uint32_t dim = dims[d];
                fill(k, (enum kv_type)type, dim, &block);
                memset(&plain, 0x55, sizeof plain), memset(&back, 0x55, sizeof back);
                k->kv_take((enum kv_type)type, dim, block.keys, block.values, plain.keys, plain.values);
                for (uint32_t p = 0; p < KV_PAGE; p++) {
                    k->kv_load((enum kv_type)type, dim, block.keys, block.values, p, key, value);
                    plain_row((enum kv_type)type, dim, plain.keys, p, x);
                    CHECK(!memcmp(x, key, dim * sizeof *x));
                    plain_row((enum kv_type)type, dim, plain.values, p, x);
                    CHECK(!memcmp(x, value, dim * sizeof *x));
                }
                CHECK(dim == DIM || plain.keys[kv_plain_bytes((enum kv_type)type, dim)] == 0x55);
                k->kv_give((enum kv_type)type, dim, back.keys, back.values, plain.keys, plain.values);
                size_t bytes = KV_PAGE * (type == KV_F32   ? 4 * (size_t)dim
                                          : type == KV_F16 ? 2 * (size_t)dim
                                                           : dim + 2 * (size_t)((dim + 31) / 32));
                CHECK(!memcmp(back.keys, block.keys, bytes) && !memcmp(back.values, block.values, bytes));
            }
}

/* From any set to any type, as state files do it. */
TEST(another_type_has_the_bits_of_single_positions)
{
    static struct blocks block, whole, single;
    float key[2][DIM], value[2][DIM];
    for (int s = 0; s < set_count; s++)
        for (int from = 0; from < TYPES; from++)
            for (int to = 0; to < TYPES; to++)
                for (int d = 0; d < DIMS; d++) {
                    const struct kernels *k = sets[s];
                    uint32_t dim = dims[d];
                    fill(k, (enum kv_type)from, dim, &block);
                    k->kv_convert(dim, (enum kv_type)from, block.keys, block.values, (enum kv_type)to, whole.keys,
                                  whole.values);
                    for (uint32_t p = 0; p < KV_PAGE; p++) {
                        k->kv_load((enum kv_type)from, dim, block.keys, block.values, p, *key, *value);
                        k->kv_store((enum kv_type)to, dim, single.keys, single.values, p, *key, *value);
                    }
                    for (uint32_t p = 0; p < KV_PAGE; p++) {
                        k->kv_load((enum kv_type)to, dim, whole.keys, whole.values, p, key[0], value[0]);
                        k->kv_load((enum kv_type)to, dim, single.keys, single.values, p, key[1], value[1]);
                        CHECK(!memcmp(key[0], key[1], dim * sizeof(float)));
                        CHECK(!memcmp(value[0], value[1], dim * sizeof(float)));
                    }
                }
}

/* Blocks of one set are blocks of another. */
TEST(all_sets_have_one_layout)
{
    static struct blocks block;
    float key[2][DIM], value[2][DIM];
    for (int s = 1; s < set_count; s++)
        for (int type = 0; type < TYPES; type++)
            for (int d = 0; d < DIMS; d++) {
                uint32_t dim = dims[d];
                CHECK(sets[s]->kv_block_bytes((enum kv_type)type, dim) ==
                      sets[0]->kv_block_bytes((enum kv_type)type, dim));
                fill(sets[s], (enum kv_type)type, dim, &block);
                for (uint32_t p = 0; p < KV_PAGE; p++) {
                    for (int i = 0; i < 2; i++)
                        sets[i * s]->kv_load((enum kv_type)type, dim, block.keys, block.values, p, key[i], value[i]);
                    CHECK(!memcmp(key[0], key[1], dim * sizeof(float)));
                    CHECK(!memcmp(value[0], value[1], dim * sizeof(float)));
                }
            }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(the_plain_form_is_the_block_and_back),
                                              T(another_type_has_the_bits_of_single_positions),
                                              T(all_sets_have_one_layout)};
    set_count = tested_variants(sets);
    return check_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
