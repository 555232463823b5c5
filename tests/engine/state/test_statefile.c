/* State files: every damage is told in a line and leaves an empty state; conversion between key/value types and
 * between the orders of value heads. */
#include "engine/state/statefile.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"
#include "tests/engine/state/pretend.h"

#include <sys/stat.h>
#include <unistd.h>

static struct state_shape tiny = {
    .kinds = 1,
    .kind = {{.kv_heads = 1, .head_dim = 16, .layers = 1}, {.kv_heads = 1, .head_dim = 16, .layers = 1}},
    .linear_layers = 1,
    .key_heads = 2,
    .value_heads = 4,
    .key_dim = 4,
    .value_dim = 6,
    .conv_channels = 40,
    .conv_taps = 3,
    .vocab = 9,
    .head_width = 3};

static struct pool *open_pool(const struct state_shape *shape, enum kv_type kv, uint32_t context)
{
    const struct kernels *set;
    struct pool *pool;
    if (kernels_find(&set, NULL, NULL) || pool_new(&pool, shape, set, kv, context, NULL)) abort();
    return pool;
}

static struct state *open_state(struct pool *pool, uint32_t length)
{
    struct state *s;
    if (state_new(&s, pool, NULL) || state_fill(s, length, 1, NULL)) abort();
    s->logits_valid = length > 0;
    for (uint32_t i = 0; i < pool_shape(pool)->vocab; i++) s->logits[i] = (float)i / 3;
    return s;
}

TEST(every_damaged_byte)
{
    struct pool *pool = open_pool(&tiny, KV_Q8_0, 64);
    struct state *s = open_state(pool, 3), *loaded = open_state(pool, 5);
    struct state_bytes bytes = {0};
    tdm_error err;
    CHECK_INT(TDM_OK, state_save_memory(s, 1, &bytes, &err));
    CHECK_INT(TDM_OK, state_load_memory(loaded, 1, bytes.data, bytes.size, &err));
    CHECK(state_equal(s, loaded));
    for (size_t i = 0; i < bytes.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[i] ^= (uint8_t)(1 << bit);
            tdm_status status = state_load_memory(loaded, 1, bytes.data, bytes.size, &err);
            if ((status != TDM_E_FORMAT && status != TDM_E_CONTEXT) || loaded->length || loaded->pages[0])
                CHECK_FAIL("byte %zu, bit %d: status %d", i, bit, status);
            bytes.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    for (size_t n = 0; n < bytes.size; n++) CHECK_INT(TDM_E_FORMAT, state_load_memory(loaded, 1, bytes.data, n, &err));
    CHECK_INT(TDM_OK, state_load_memory(loaded, 1, bytes.data, bytes.size, &err));
    CHECK_INT(TDM_E_FORMAT, state_load_memory(loaded, 2, bytes.data, bytes.size, &err));
    CHECK(strstr(err.text, "another model") != NULL);
    state_free(s), state_free(loaded);
    state_bytes_free(&bytes);
    pool_free(pool);
}

/* Files of before there were pictures. */
TEST(old_versions_are_refused)
{
    struct pool *pool = open_pool(&tiny, KV_F16, 64);
    struct state *s = open_state(pool, 3);
    struct state_bytes bytes = {0};
    tdm_error err;
    CHECK_INT(TDM_OK, state_save_memory(s, 1, &bytes, &err));
    bytes.data[8] = 3;
    CHECK_INT(TDM_E_FORMAT, state_load_memory(s, 1, bytes.data, bytes.size, &err));
    CHECK_STR("state: version 3, expected 4", err.text);
    CHECK_INT(0, s->length);
    state_free(s);
    state_bytes_free(&bytes);
    pool_free(pool);
}

/* More rows that wait for the MTP head than a state has room for. */
TEST(a_head_that_does_not_fit_is_refused)
{
    enum { TOKENS = 100, ENTRIES_AT = 80 };
    struct pool *pool = pretend_pool(KV_F32, true);
    struct state *s, *t;
    struct state_bytes bytes = {0};
    tdm_id ids[TOKENS];
    tdm_error err;
    uint32_t entries;
    for (int i = 0; i < TOKENS; i++) ids[i] = i % PRETEND_VOCAB;
    REQUIRE(!state_new(&s, pool, &err) && !state_new(&t, pool, &err));
    pretend_grow(s, ids, TOKENS);
    CHECK_INT(TDM_OK, state_save_memory(s, 1, &bytes, &err));
    unsigned char *at = (unsigned char *)bytes.data + ENTRIES_AT;
    memcpy(&entries, at, sizeof entries);
    CHECK_INT(s->entries, entries);
    CHECK_INT(TDM_OK, state_load_memory(t, 1, bytes.data, bytes.size, &err));
    static const uint32_t wrong[] = {TOKENS - STATE_WAITING - 1, 0, TOKENS, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(at, &wrong[i], sizeof wrong[i]);
        CHECK_INT(TDM_E_FORMAT, state_load_memory(t, 1, bytes.data, bytes.size, &err));
        CHECK(strstr(err.text, "entries does not fit 100 tokens"));
    }
    state_free(s), state_free(t);
    state_bytes_free(&bytes);
    pool_free(pool);
}

TEST(files)
{
    struct pool *pool = open_pool(&tiny, KV_F32, 64), *small = open_pool(&tiny, KV_F32, 10);
    struct state *s = open_state(pool, 40), *loaded = open_state(pool, 2), *too_small = open_state(small, 1);
    char path[256];
    tdm_error err;
    struct stat st;
    snprintf(path, sizeof path, "%s/a", check_tmp());
    CHECK_INT(TDM_E_NOT_FOUND, statefile_load(path, loaded, 1, &err));
    CHECK_INT(TDM_OK, statefile_save(path, s, 1, &err));
    CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600);
    CHECK_INT(TDM_OK, statefile_load(path, loaded, 1, &err));
    CHECK(state_equal(s, loaded) && loaded->logits_valid);
    CHECK_INT(TDM_E_CONTEXT, statefile_load(path, too_small, 1, &err));
    CHECK_INT(0, too_small->length);
    /* A full disk or a missing folder leaves the old file alone. */
    CHECK_INT(TDM_E_IO, statefile_save("/nonexistent/a", s, 1, &err));
    CHECK(!truncate(path, 100));
    CHECK_INT(TDM_E_FORMAT, statefile_load(path, loaded, 1, &err));
    printf("# %s\n", err.text);
    CHECK_INT(TDM_E_IO, statefile_load(check_tmp(), loaded, 1, &err));
    /* An empty state is a state. */
    state_clear(s);
    CHECK_INT(TDM_OK, statefile_save(path, s, 1, &err));
    CHECK_INT(TDM_OK, statefile_load(path, loaded, 1, &err));
    CHECK(state_equal(s, loaded) && !loaded->logits_valid);
    struct state_shape other = tiny;
    other.linear_layers = 2;
    struct pool *another = open_pool(&other, KV_F32, 64);
    struct state *foreign = open_state(another, 0);
    CHECK_INT(TDM_E_FORMAT, statefile_load(path, foreign, 1, &err));
    CHECK_STR("1 linear layers, expected 2", strstr(err.text, "1 linear"));
    state_free(s), state_free(loaded), state_free(too_small), state_free(foreign);
    pool_free(pool), pool_free(small), pool_free(another);
}

TEST(between_types)
{
    static const double tolerance[] = {0, 3e-4, 2.5e-3}; /* of values within 0.5 */
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            struct pool *a = open_pool(&tiny, (enum kv_type)from, 64), *b = open_pool(&tiny, (enum kv_type)to, 64);
            struct state *s = open_state(a, 50), *t = open_state(b, 0), *again = open_state(b, 0);
            struct state_bytes bytes = {0};
            tdm_error err;
            CHECK_INT(TDM_OK, state_save_memory(s, 1, &bytes, &err));
            CHECK_INT(TDM_OK, state_load_memory(t, 1, bytes.data, bytes.size, &err));
            double worst = 0;
            for (uint32_t i = 0; i < 50; i++) {
                float k[2][16], v[2][16];
                pool_kernels(a)->kv_load((enum kv_type)from, 16, pool_keys(a, 0, s->pages[i / 32], 0, 0),
                                         pool_values(a, 0, s->pages[i / 32], 0, 0), i % 32, k[0], v[0]);
                pool_kernels(b)->kv_load((enum kv_type)to, 16, pool_keys(b, 0, t->pages[i / 32], 0, 0),
                                         pool_values(b, 0, t->pages[i / 32], 0, 0), i % 32, k[1], v[1]);
                for (int d = 0; d < 16; d++)
                    worst = fmax(worst, fmax(fabsf(k[0][d] - k[1][d]), fabsf(v[0][d] - v[1][d])));
            }
            CHECK(worst <= tolerance[to]);
            /* What was converted once stays. */
            CHECK_INT(TDM_OK, state_save_memory(t, 1, &bytes, &err));
            CHECK_INT(TDM_OK, state_load_memory(again, 1, bytes.data, bytes.size, &err));
            CHECK(state_equal(t, again));
            state_free(s), state_free(t), state_free(again);
            state_bytes_free(&bytes);
            pool_free(a), pool_free(b);
        }
    }
}

/* The same model in both orders of value heads: evaluated here, continued there. */
TEST(between_head_orders)
{
    struct rig *hf = rig_open("tests/goldens/tiny-a", "reference", KV_F32, 1);
    struct rig *gguf = rig_open("tests/goldens/gguf/tiny-a-bf16.gguf", "reference", KV_F32, 1);
    REQUIRE(hf && gguf);
    CHECK(!hf->weights->config.delta.value_heads_tiled && gguf->weights->config.delta.value_heads_tiled);
    tdm_id ids[60];
    rig_ids(ids, 60, 512, 5);
    struct state *a = rig_state(hf), *b = rig_state(gguf);
    struct state_bytes bytes = {0};
    tdm_error err;
    rig_eval(hf, a, ids, 50, 32);
    CHECK_INT(TDM_OK, state_save_memory(a, 1, &bytes, &err));
    CHECK_INT(TDM_OK, state_load_memory(b, 1, bytes.data, bytes.size, &err));
    rig_eval(hf, a, ids + 50, 10, 32);
    rig_eval(gguf, b, ids + 50, 10, 32);
    for (int i = 0; i < 512; i++) CHECK_NEAR(a->logits[i], b->logits[i], 1e-3);
    state_free(a), state_free(b);
    state_bytes_free(&bytes);
    rig_close(hf), rig_close(gguf);
}

TEST_MAIN(T(every_damaged_byte), T(old_versions_are_refused), T(a_head_that_does_not_fit_is_refused), T(files),
          T(between_types), T(between_head_orders))
