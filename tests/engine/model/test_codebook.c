/* The codebook types and MXFP4 against blocks that were taken apart outside this program, and against the number
 * tables. */
#include "tests/check.h"

#include "engine/model/codebook.h"
#include "engine/model/hf/safetensors.h"

/* Where a block says which entry of the grid its first elements are. */
static const struct codebook_type {
    enum type type;
    uint32_t entries, high; /* high: the byte that has the bits above the eighth, 0: none */
} types[] = {{TYPE_IQ2_XXS, 256, 0},
             {TYPE_IQ2_XS, 512, 3},
             {TYPE_IQ2_S, 1024, 66},
             {TYPE_IQ3_XXS, 256, 0},
             {TYPE_IQ3_S, 512, 66}};
enum { TYPES = sizeof types / sizeof *types };

static struct safetensors *open_golden(enum type type)
{
    char path[80];
    struct safetensors *s;
    tdm_error err;
    snprintf(path, sizeof path, "tests/goldens/types/%s.safetensors", type_info(type)->name);
    if (!safetensors_open(&s, path, &err)) return s;
    CHECK_FAIL("%s", err.text);
    return NULL;
}

static const void *tensor(const struct safetensors *s, const char *name, uint64_t bytes)
{
    const struct safetensors_tensor *t = safetensors_find(s, name);
    if (t && t->bytes == bytes) return t->data;
    CHECK_FAIL("%s: %s is missing or of another size", safetensors_path(s), name);
    return NULL;
}

static void check_values(enum type type)
{
    enum { BLOCKS = 64 };
    static float want[BLOCKS * TYPE_MAX_BLOCK], got[BLOCKS * TYPE_MAX_BLOCK];
    const struct type_info *info = type_info(type);
    size_t n = (size_t)BLOCKS * info->block;
    struct safetensors *s = open_golden(type);
    REQUIRE(s);
    const void *blocks = tensor(s, "blocks", (uint64_t)BLOCKS * info->block_bytes);
    const void *values = tensor(s, "values", n * sizeof *want);
    if (blocks && values) {
        memcpy(want, values, n * sizeof *want);
        type_widen(type, blocks, got, n);
        for (size_t i = 0; i < n; i++)
            if (want[i] != got[i]) {
                CHECK_FAIL("%s, element %zu: expected %a, found %a", info->name, i, (double)want[i], (double)got[i]);
                break;
            }
    }
    safetensors_close(s);
}

TEST(widens_as_others_do)
{
    for (int i = 0; i < TYPES; i++) check_values(types[i].type);
    check_values(TYPE_MXFP4);
}

TEST(every_entry_of_a_grid)
{
    for (int i = 0; i < TYPES; i++) {
        const struct codebook_type *t = &types[i];
        const struct codebook *book = codebook_of(t->type);
        uint32_t n = t->type == TYPE_IQ3_XXS || t->type == TYPE_IQ3_S ? 4 : 8;
        struct safetensors *s = open_golden(t->type);
        REQUIRE(s && book);
        const float *grid = tensor(s, "grid", sizeof(float) * n * t->entries);
        for (uint32_t k = 0; grid && k < t->entries; k++) {
            uint8_t block[128] = {0, 0x3c, (uint8_t)k}; /* d = 1 */
            float want[8], got[TYPE_MAX_BLOCK];
            if (t->high) block[t->high] = (uint8_t)(k >> 8);
            memcpy(want, (const uint8_t *)grid + sizeof(float) * n * k, sizeof(float) * n);
            type_widen(t->type, block, got, TYPE_MAX_BLOCK);
            for (uint32_t j = 0; j < n; j++)
                if (got[j] != want[j] * book->unit)
                    CHECK_FAIL("%s, entry %u, element %u: expected %g, found %g", type_info(t->type)->name, k, j,
                               (double)(want[j] * book->unit), (double)got[j]);
        }
        safetensors_close(s);
    }
}

TEST(seven_signs_say_the_eighth)
{
    static const struct {
        enum type type;
        uint32_t at;
    } words[] = {{TYPE_IQ2_XXS, 6}, {TYPE_IQ3_XXS, 66}};
    for (int i = 0; i < 2; i++) {
        struct safetensors *s = open_golden(words[i].type);
        REQUIRE(s);
        const uint8_t *signs = tensor(s, "signs", 128);
        for (uint8_t k = 0; signs && k < 128; k++) {
            uint8_t block[128] = {0, 0x3c};
            float got[TYPE_MAX_BLOCK];
            block[words[i].at] = k;
            type_widen(words[i].type, block, got, TYPE_MAX_BLOCK);
            for (int j = 0; j < 8; j++) CHECK_INT(signs[k] >> j & 1, got[j] < 0);
        }
        safetensors_close(s);
    }
}

TEST(every_scale_of_a_sub_block)
{
    /* Sub-block 5 of 16 or of 8 alone has another scale than 0. */
    static const struct {
        enum type type;
        uint32_t at, shift;
    } places[] = {{TYPE_IQ2_XXS, 2 + 8 * 5 + 7, 4},
                  {TYPE_IQ2_XS, 66 + 2, 4},
                  {TYPE_IQ2_S, 74 + 2, 4},
                  {TYPE_IQ3_XXS, 66 + 4 * 5 + 3, 4},
                  {TYPE_IQ3_S, 106 + 2, 4}};
    for (int i = 0; i < TYPES; i++)
        for (int scale = 0; scale < 16; scale++) {
            const struct codebook *book = codebook_of(places[i].type);
            uint8_t block[128] = {0, 0x3c};
            float got[TYPE_MAX_BLOCK];
            block[places[i].at] = (uint8_t)(scale << places[i].shift);
            type_widen(places[i].type, block, got, TYPE_MAX_BLOCK);
            for (int j = 0; j < TYPE_MAX_BLOCK; j++)
                CHECK_NEAR(book->unit * (j / book->sub == 5 ? 2 * scale + 1 : 1) * book->values[0], got[j], 0);
        }
}

TEST(every_exponent_and_level_of_mxfp4)
{
    struct safetensors *s = open_golden(TYPE_MXFP4);
    REQUIRE(s);
    const int8_t *levels = tensor(s, "levels", 16);
    for (int e = 0; levels && e < 253; e++) { /* beyond, 12 times the scale is no float */
        uint8_t block[17] = {(uint8_t)e};
        float got[32];
        for (int i = 0; i < 16; i++) block[1 + i] = (uint8_t)(i | (15 - i) << 4);
        type_widen(TYPE_MXFP4, block, got, 32);
        for (int i = 0; i < 16; i++) {
            CHECK_NEAR(ldexp(levels[i], e - 128), got[i], 0);
            CHECK_NEAR(ldexp(levels[15 - i], e - 128), got[16 + i], 0);
        }
    }
    safetensors_close(s);
}

TEST_MAIN(T(widens_as_others_do), T(every_entry_of_a_grid), T(seven_signs_say_the_eighth),
          T(every_scale_of_a_sub_block), T(every_exponent_and_level_of_mxfp4))
