/* Crossing to another pool: the bits are those that bytes give, whatever crossed before, and whoever shares the work.
 */
#include "engine/state/crossing.h"

#include "engine/state/statefile.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"

static struct state_shape small = {
    .kinds = 1,
    .kind = {{.kv_heads = 2, .head_dim = 40, .layers = 2}, {.kv_heads = 2, .head_dim = 40, .layers = 1}},
    .linear_layers = 3,
    .key_heads = 2,
    .value_heads = 6,
    .key_dim = 8,
    .value_dim = 72,
    .conv_channels = 2 * 2 * 8 + 6 * 72,
    .conv_taps = 4,
    .vocab = 11,
    .head_width = 5};

static struct pool *open_pool(enum kv_type kv, bool tiled, bool head)
{
    const struct kernels *set;
    struct pool *pool;
    struct state_shape shape = small;
    shape.value_heads_tiled = tiled;
    if (!head) shape.head_width = 0;
    if (kernels_find(&set, NULL, NULL) || pool_new(&pool, &shape, set, kv, 400, NULL)) abort();
    return pool;
}

static struct state *filled(struct pool *pool, uint32_t length, uint64_t seed)
{
    struct state *s;
    if (state_new(&s, pool, NULL) || state_fill(s, length, seed, NULL)) abort();
    s->logits_valid = length > 0;
    for (uint32_t i = 0; i < small.vocab; i++) s->logits[i] = (float)(seed + i) / 3;
    return s;
}

/* What the bytes of s make of an empty state of this pool. */
static struct state *by_bytes(const struct state *s, struct pool *pool)
{
    struct state_bytes bytes = {0};
    struct state *made;
    if (state_new(&made, pool, NULL) || state_save_memory(s, 1, &bytes, NULL) ||
        state_load_memory(made, 1, bytes.data, bytes.size, NULL))
        abort();
    state_bytes_free(&bytes);
    return made;
}

static void cross(const struct state *from, struct state *to, struct crossing x)
{
    tdm_error err;
    if (state_cross(to, from, &x, &err)) CHECK_FAIL("%s", err.text);
    CHECK((x.bytes > 0) == (crossing_length(from, &x) > x.kept * KV_PAGE || !x.sealed));
}

TEST(the_bits_are_those_of_bytes)
{
    static const uint32_t lengths[] = {0, 1, 31, 32, 33, 100, 128};
    struct team *team;
    REQUIRE(team_open(&team, 3, NULL, NULL) == TDM_OK);
    for (int from = 0; from < 6; from++)
        for (int to = 0; to < 6; to++)
            for (int i = 0; i < 7 && !check_failures; i++) {
                struct pool *a = open_pool((enum kv_type)(from / 2), from % 2, true),
                            *b = open_pool((enum kv_type)(to / 2), to % 2, true);
                struct state *s = filled(a, lengths[i], 1), *wanted = by_bytes(s, b), *t = filled(b, 70, 9);
                cross(s, t, (struct crossing){.team = i % 2 ? team : NULL});
                CHECK(state_equal(wanted, t) && !t->broken && t->logits_valid == (lengths[i] > 0));
                for (uint32_t kept = 0; kept <= lengths[i] / KV_PAGE; kept++) { /* page by page, then all */
                    struct state *u = filled(b, 35, 7);
                    for (uint32_t k = 0; k < kept; k++) {
                        struct state *shorter = filled(a, (k + 1) * KV_PAGE, 1); /* the same first tokens and pages */
                        cross(shorter, u, (struct crossing){.team = team, .kept = k, .sealed = true});
                        CHECK(u->broken && u->length == (k + 1) * KV_PAGE);
                        state_free(shorter);
                    }
                    cross(s, u, (struct crossing){.team = team, .kept = kept});
                    CHECK(state_equal(wanted, u) && !u->broken);
                    state_free(u);
                }
                state_free(s), state_free(t), state_free(wanted);
                pool_free(a), pool_free(b);
            }
    team_close(team);
}

TEST(a_head_stays_behind_where_there_is_none)
{
    struct pool *a = open_pool(KV_F16, false, true), *b = open_pool(KV_F16, false, false);
    struct state *s = filled(a, 50, 1), *t = filled(b, 3, 2), *back = filled(a, 40, 3);
    cross(s, t, (struct crossing){0});
    CHECK(t->headless && t->length == 50 && !t->entries);
    cross(t, back, (struct crossing){0});
    CHECK(back->headless && back->length == 50 && !back->entries && back->logits_valid);
    state_free(s), state_free(t), state_free(back);
    pool_free(a), pool_free(b);
}

/* Pages that others share are left to them. */
TEST(what_is_shared_stays)
{
    struct pool *a = open_pool(KV_F16, false, true), *b = open_pool(KV_F32, false, true);
    struct state *s = filled(a, 100, 1), *t = filled(b, 100, 2), *fork, *wanted = filled(b, 100, 2);
    REQUIRE(state_fork(&fork, t, NULL) == TDM_OK);
    cross(s, t, (struct crossing){0});
    CHECK(state_equal(fork, wanted) && state_shared_pages(fork, t) == 0);
    cross(s, t, (struct crossing){.kept = 3});
    struct state *again = by_bytes(s, b);
    CHECK(state_equal(t, again));
    state_free(s), state_free(t), state_free(fork), state_free(wanted), state_free(again);
    pool_free(a), pool_free(b);
}

TEST(what_does_not_fit_leaves_nothing)
{
    const struct kernels *set;
    struct pool *a = open_pool(KV_F16, false, true), *b;
    tdm_error err;
    REQUIRE(!kernels_find(&set, NULL, NULL) && !pool_new(&b, &small, set, KV_F16, 40, NULL));
    struct state *s = filled(a, 50, 1), *t = filled(b, 10, 2);
    CHECK_INT(TDM_E_CONTEXT, state_cross(t, s, &(struct crossing){0}, &err));
    CHECK_STR("a state of 50 tokens in a context of 40", err.text);
    CHECK(t->length == 0 && !t->broken && !t->pages[0]);
    state_free(s), state_free(t);
    pool_free(a), pool_free(b);
}

TEST_MAIN(T(the_bits_are_those_of_bytes), T(a_head_stays_behind_where_there_is_none), T(what_is_shared_stays),
          T(what_does_not_fit_leaves_nothing))
