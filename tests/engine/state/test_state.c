/* Pool and states: sharing, copying, recycling, and two threads on one pool. */
#include "engine/state/state.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"

#include <pthread.h>

static struct pool *open_pool(uint32_t context)
{
    const struct kernels *set;
    struct pool *pool;
    struct state_shape shape = {.kinds = 1,
                                .kind = {{.kv_heads = 2, .head_dim = 48, .layers = 2}},
                                .linear_layers = 3,
                                .key_heads = 2,
                                .value_heads = 4,
                                .key_dim = 16,
                                .value_dim = 48,
                                .conv_channels = 256,
                                .conv_taps = 4,
                                .vocab = 100};
    if (kernels_find(&set, NULL, NULL) || pool_new(&pool, &shape, set, KV_F16, context, NULL)) abort();
    return pool;
}

static struct state *open_state(struct pool *pool, uint32_t length, uint64_t seed)
{
    struct state *s;
    if (state_new(&s, pool, NULL) || state_fill(s, length, seed, NULL)) abort();
    return s;
}

static bool all_free(struct pool *pool)
{
    struct pool_stats stats = pool_stats(pool);
    return stats.pages == stats.free_pages && stats.buffers == stats.free_buffers;
}

TEST(fork_shares_sealed_pages)
{
    struct pool *pool = open_pool(200);
    struct state *s = open_state(pool, 75, 1), *fork = rig_fork(s);
    CHECK(fork->pages[0] == s->pages[0] && fork->pages[1] == s->pages[1] && fork->pages[2] != s->pages[2]);
    CHECK(page_is_shared(s->pages[0]) && !page_is_shared(s->pages[2]));
    CHECK(state_equal(s, fork));
    fork->recurrent[5] += 1;
    CHECK(!state_equal(s, fork));
    state_free(s);
    CHECK(!page_is_shared(fork->pages[0]) && fork->length == 75);
    state_free(fork);
    CHECK(all_free(pool));
    pool_free(pool);
}

TEST(equal_looks_at_everything)
{
    struct pool *pool = open_pool(100);
    struct state *a = open_state(pool, 40, 1), *b = open_state(pool, 40, 1);
    CHECK(state_equal(a, b));
    b->conv[0] += 1;
    CHECK(!state_equal(a, b));
    state_copy(b, a, NULL);
    b->tokens[3]++;
    CHECK(!state_equal(a, b));
    state_copy(b, a, NULL);
    CHECK(state_equal(a, b));
    float k[48] = {0}, v[48] = {0};
    struct state *c = open_state(pool, 40, 1); /* pages of its own */
    pool_kernels(pool)->kv_store(KV_F16, 48, pool_keys(pool, 0, c->pages[1], 1, 1),
                                 pool_values(pool, 0, c->pages[1], 1, 1), 7, k, v);
    CHECK(!state_equal(a, c));
    a->logits_valid = b->logits_valid = true;
    memset(a->logits, 0, 400);
    memset(b->logits, 0, 400);
    CHECK(state_equal(a, b));
    b->logits[99] = 1;
    CHECK(!state_equal(a, b));
    state_free(a), state_free(b), state_free(c);
    pool_free(pool);
}

/* Every pair of lengths, so that the partial page of either is missing, owned, shared or recycled. */
TEST(copy_between_lengths)
{
    static const uint32_t lengths[] = {0, 1, 31, 32, 33, 64, 70, 100};
    struct pool *pool = open_pool(100);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            struct state *src = open_state(pool, lengths[i], 1), *dst = open_state(pool, lengths[j], 2);
            struct state *fork = rig_fork(dst), *before = open_state(pool, lengths[j], 2);
            CHECK_INT(TDM_OK, state_copy(dst, src, NULL));
            CHECK(state_equal(dst, src) && state_equal(fork, before));
            CHECK_INT(TDM_OK, state_copy(dst, fork, NULL));
            CHECK(state_equal(dst, before));
            state_free(src), state_free(dst), state_free(fork), state_free(before);
            CHECK(all_free(pool));
        }
    pool_free(pool);
}

TEST(prefixes)
{
    struct pool *pool = open_pool(100);
    struct state *s = open_state(pool, 50, 3);
    tdm_id ids[60];
    memcpy(ids, s->tokens, 50 * sizeof *ids);
    memset(ids + 50, 0, 10 * sizeof *ids);
    CHECK(state_is_prefix(s, ids, 50) && state_is_prefix(s, ids, 60) && !state_is_prefix(s, ids, 49));
    ids[20]++;
    CHECK(!state_is_prefix(s, ids, 60));
    state_clear(s);
    CHECK(state_is_prefix(s, ids, 0) && s->recurrent[0] == 0);
    state_free(s);
    pool_free(pool);
}

TEST(room_and_warmth)
{
    struct pool *pool = open_pool(70);
    tdm_error err;
    CHECK_INT(TDM_OK, pool_warm(pool, 3000, 5, &err));
    struct pool_stats before = pool_stats(pool);
    CHECK(before.free_pages >= 3000 && before.free_buffers >= 5 && before.bytes >= 3000 * pool_page_bytes(pool));
    struct state *s = open_state(pool, 70, 1);
    CHECK_INT(TDM_E_CONTEXT, state_make_room(s, 1, &err));
    CHECK_STR("the context of 70 tokens is full: 70 are there, 1 more wanted", err.text);
    CHECK_INT(TDM_OK, state_make_room(s, 0, &err));
    CHECK(pool_stats(pool).bytes == before.bytes);
    CHECK_INT(before.free_pages - 3, pool_stats(pool).free_pages);
    state_free(s);
    pool_free(pool);
    CHECK_INT(TDM_E_ARG, pool_new(&pool, &(struct state_shape){.vocab = 16}, NULL, KV_F16, 0, &err));
}

/* Two units fork, copy and free states of one pool, sharing sealed pages; run under SANITIZER=thread as well. */
static struct state *shared_origin;

static void *churn(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    struct state *own = rig_fork(shared_origin);
    for (int i = 0; i < 300; i++) {
        struct state *fork = rig_fork(rig_random(&seed) % 2 ? own : shared_origin);
        if (rig_random(&seed) % 2) state_copy(own, fork, NULL);
        if (!state_equal(fork, shared_origin)) abort();
        state_free(fork);
    }
    state_free(own);
    return NULL;
}

TEST(two_threads)
{
    struct pool *pool = open_pool(200);
    shared_origin = open_state(pool, 100, 1);
    pthread_t thread[2];
    for (uintptr_t i = 0; i < 2; i++) REQUIRE(!pthread_create(&thread[i], NULL, churn, (void *)(i + 1)));
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    CHECK(!page_is_shared(shared_origin->pages[0]));
    state_free(shared_origin);
    CHECK(all_free(pool));
    pool_free(pool);
}

TEST_MAIN(T(fork_shares_sealed_pages), T(equal_looks_at_everything), T(copy_between_lengths), T(prefixes),
          T(room_and_warmth), T(two_threads))
