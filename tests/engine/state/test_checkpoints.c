#include "engine/state/checkpoints.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"

/* States with made-up contents serve: checkpoints look at tokens, lengths and pages alone. */
static struct rig *rig;
enum { ANY = 1 << 30 };

static struct checkpoints *open_store(uint64_t budget)
{
    struct checkpoints *c;
    if (checkpoints_new(&c, budget, NULL)) abort();
    return c;
}

/* Grows s to `length` tokens, whose ids are base + position. */
static void grow(struct state *s, uint32_t length, tdm_id base)
{
    tdm_id id[64];
    while (s->length < length) {
        uint32_t n = length - s->length < 64 ? length - s->length : 64;
        for (uint32_t i = 0; i < n; i++) id[i] = (base + (tdm_id)(s->length + i)) % 512;
        rig_all_logits(rig, s, id, n, NULL, NULL);
    }
}

TEST(longest_prefix)
{
    REQUIRE(rig = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1));
    struct checkpoints *c = open_store(ANY);
    struct state *s = rig_state(rig);
    tdm_error err;
    static const uint32_t at[] = {10, 40, 64, 100};
    for (int i = 0; i < 4; i++) {
        grow(s, at[i], 0);
        CHECK_INT(TDM_OK, checkpoints_add(c, s, CHECKPOINT_DISPATCH, NULL, &err));
    }
    CHECK(checkpoints_find(c, s->tokens, 9).state == NULL);
    CHECK_INT(10, checkpoints_find(c, s->tokens, 39).length);
    CHECK_INT(100, checkpoints_find(c, s->tokens, 100).length);
    tdm_id other[100];
    memcpy(other, s->tokens, sizeof other);
    other[70]++;
    const struct state *found = checkpoints_find(c, other, 100).state;
    CHECK_INT(64, found->length);
    /* Pages are shared with the state, and what is found continues like the original. */
    CHECK(found->pages[0] == s->pages[0] && found->pages[1] == s->pages[1]);
    struct state *again = rig_fork(found);
    grow(again, 100, 0);
    CHECK(state_equal(again, s));
    state_free(again);

    /* The same tokens once more: no second checkpoint, but the logits. */
    tdm_id last = s->tokens[99];
    struct state *t = rig_fork(checkpoints_find(c, s->tokens, 64).state);
    for (uint32_t i = 64; i < 99; i++) rig_all_logits(rig, t, &s->tokens[i], 1, NULL, NULL);
    rig_eval(rig, t, &last, 1, 1);
    CHECK_INT(TDM_OK, checkpoints_add(c, t, CHECKPOINT_TURN, NULL, &err));
    CHECK_INT(4, checkpoints_stats(c).count);
    CHECK(checkpoints_find(c, s->tokens, 100).state->logits_valid);
    state_free(t);

    state_free(s);
    checkpoints_free(c);
    rig_close(rig);
}

TEST(thinning)
{
    REQUIRE(rig = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1));
    struct state *s = rig_state(rig);
    size_t own = pool_buffer_bytes(rig->pool) + pool_page_bytes(rig->pool);
    /* Some 16 buffers and pages of their own, beside the pages that all share. */
    struct checkpoints *c = open_store(16 * own + 400 / KV_PAGE * pool_page_bytes(rig->pool));
    bool kept;
    tdm_error err;
    for (uint32_t n = 4; n <= 400; n += 4) {
        grow(s, n, 0);
        CHECK_INT(TDM_OK, checkpoints_add(c, s, n == 200 ? CHECKPOINT_TURN : CHECKPOINT_DISPATCH, &kept, &err));
        struct checkpoints_stats stats = checkpoints_stats(c);
        CHECK(kept && stats.bytes <= stats.budget && stats.count >= 1);
    }
    /* Dense near the end, sparse far back: from any place the way back is in proportion to its distance. */
    uint32_t worst = 0;
    for (uint32_t n = 8; n <= 400; n += 4) {
        uint32_t from = checkpoints_find(c, s->tokens, n).length, distance = 400 - n + 16;
        if ((n - from) * 100 / distance > worst) worst = (n - from) * 100 / distance;
    }
    printf("# %u checkpoints; at worst %u %% of the distance to the end is evaluated again\n",
           checkpoints_stats(c).count, worst);
    CHECK(worst <= 100);
    const struct state *turn = checkpoints_find(c, s->tokens, 203).state;
    CHECK(turn && turn->length == 200); /* a turn's end is worth more than its neighbours */

    /* All memory comes back. */
    checkpoints_free(c);
    state_free(s);
    struct pool_stats stats = pool_stats(rig->pool);
    CHECK(stats.pages == stats.free_pages && stats.buffers == stats.free_buffers);
    rig_close(rig);
}

TEST(shared_pages_count_once)
{
    REQUIRE(rig = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1));
    struct checkpoints *c = open_store(ANY);
    struct state *s = rig_state(rig), *branch;
    tdm_error err;
    size_t page = pool_page_bytes(rig->pool), buffer = pool_buffer_bytes(rig->pool);
    grow(s, 96, 0);
    CHECK_INT(TDM_OK, checkpoints_add(c, s, CHECKPOINT_TURN, NULL, &err));
    CHECK_INT(buffer + 3 * page, checkpoints_stats(c).bytes);
    branch = rig_fork(s);
    grow(s, 130, 0);
    CHECK_INT(TDM_OK, checkpoints_add(c, s, CHECKPOINT_TURN, NULL, &err));
    CHECK_INT(2 * buffer + 5 * page, checkpoints_stats(c).bytes);
    grow(branch, 130, 7);
    CHECK_INT(TDM_OK, checkpoints_add(c, branch, CHECKPOINT_TURN, NULL, &err));
    CHECK_INT(3 * buffer + 7 * page, checkpoints_stats(c).bytes);
    state_free(s);
    state_free(branch);
    checkpoints_free(c);
    rig_close(rig);
}

/* Whatever is added, dropped and replaced: the bytes in the statistics are those that the pool has handed out. */
TEST(bytes_are_those_of_the_pool)
{
    REQUIRE(rig = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1));
    size_t page = pool_page_bytes(rig->pool), buffer = pool_buffer_bytes(rig->pool);
    uint64_t budget = 10 * buffer + 30 * page;
    struct checkpoints *c = open_store(budget);
    tdm_error err;
    uint64_t seed = 1;
    tdm_id path[RIG_CONTEXT] = {0};
    for (int round = 0; round < 300 && !check_failures; round++) {
        /* From the longest checkpoint of a path that branches off somewhere, some tokens further. */
        uint32_t r[4];
        for (int i = 0; i < 4; i++)
            r[i] = (uint32_t)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40);
        for (uint32_t i = r[0] % 300; i < 400; i++) path[i] = (tdm_id)((i * 7 + r[1] % 3) % 512);
        const struct state *from = checkpoints_find(c, path, r[0] % 300 + 40).state;
        struct state *s = from ? rig_fork(from) : rig_state(rig);
        uint32_t n = s->length < 350 ? r[2] % 45 : 0;
        if (n) rig_eval(rig, s, path + s->length, n, 32); /* has logits, which a checkpoint may lack */
        if (s->length) CHECK_INT(TDM_OK, checkpoints_add(c, s, (enum checkpoint_kind)(r[3] % 4), NULL, &err));
        state_free(s);
        if (round % 50 == 49) checkpoints_set_budget(c, budget / 3);
        struct checkpoints_stats stats = checkpoints_stats(c);
        struct pool_stats pool = pool_stats(rig->pool);
        CHECK_INT((pool.buffers - pool.free_buffers) * buffer + (pool.pages - pool.free_pages) * page, stats.bytes);
        CHECK_INT(stats.count, pool.buffers - pool.free_buffers);
        CHECK(stats.bytes <= stats.budget);
        checkpoints_set_budget(c, budget);
    }
    struct checkpoints_stats stats = checkpoints_stats(c);
    CHECK(stats.dropped > 20 && stats.added > stats.dropped);
    checkpoints_set_budget(c, 0);
    CHECK(checkpoints_stats(c).bytes == 0 && checkpoints_stats(c).count == 0);
    checkpoints_free(c);
    rig_close(rig);
}

/* The longer the conversation, the more often: what can't be kept anyhow must cost nothing that is. */
TEST(one_that_is_too_large_alone_drops_no_other)
{
    REQUIRE(rig = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1));
    size_t page = pool_page_bytes(rig->pool), buffer = pool_buffer_bytes(rig->pool);
    struct checkpoints *c = open_store(3 * (buffer + page) + 4 * page);
    struct state *s = rig_state(rig);
    tdm_error err;
    bool kept;
    static const uint32_t at[] = {10, 40, 70};
    for (int i = 0; i < 3; i++) {
        grow(s, at[i], 0);
        CHECK_INT(TDM_OK, checkpoints_add(c, s, CHECKPOINT_TURN, &kept, &err));
        CHECK(kept);
    }
    grow(s, 400, 0);
    CHECK(buffer + 400 / KV_PAGE * page > checkpoints_stats(c).budget);
    CHECK_INT(TDM_OK, checkpoints_add(c, s, CHECKPOINT_TURN, &kept, &err));
    CHECK(!kept);
    CHECK_INT(3, checkpoints_stats(c).count);
    CHECK_INT(70, checkpoints_find(c, s->tokens, 400).length);
    state_free(s);
    checkpoints_free(c);
    rig_close(rig);
}

/* A smaller budget counts at once: what is too large to be kept will not bring it about. */
TEST(a_smaller_budget_is_kept_to_at_once)
{
    REQUIRE(rig = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1));
    struct checkpoints *c = open_store(ANY);
    struct state *s = rig_state(rig);
    for (uint32_t n = 10; n <= 200; n += 10) {
        grow(s, n, 0);
        CHECK_INT(TDM_OK, checkpoints_add(c, s, CHECKPOINT_TURN, NULL, NULL));
    }
    CHECK_INT(20, checkpoints_stats(c).count);
    checkpoints_set_budget(c, checkpoints_stats(c).bytes / 2);
    struct checkpoints_stats stats = checkpoints_stats(c);
    CHECK(stats.bytes <= stats.budget && stats.count >= 5);
    CHECK_INT(200, checkpoints_find(c, s->tokens, 200).length);
    state_free(s);
    checkpoints_free(c);
    rig_close(rig);
}

/* Short conversations that have nothing in common, number 0, 1 and so on: nothing but kind and use tells them apart. */
enum { SHORT = 20, APART = 50 };

static void add_short(struct checkpoints *c, int number, enum checkpoint_kind kind)
{
    struct state *s = rig_state(rig);
    grow(s, SHORT, number * APART);
    CHECK_INT(TDM_OK, checkpoints_add(c, s, kind, NULL, NULL));
    state_free(s);
}

static bool find_short(struct checkpoints *c, int number)
{
    tdm_id ids[SHORT];
    for (int i = 0; i < SHORT; i++) ids[i] = number * APART + i;
    return checkpoints_find(c, ids, SHORT).state;
}

TEST(what_costs_least_is_dropped)
{
    enum { ROOM = 3, NONE = -1, ALL = -2 };
    static const struct {
        enum checkpoint_kind kind[ROOM];
        int again; /* this one is added once more, as a turn's end or as what it was */
        enum checkpoint_kind as;
        int found; /* then these are found */
        int dropped;
    } rows[] = {
        {{CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH}, NONE, 0, NONE, 0},
        {{CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH}, NONE, 0, 0, 1},
        {{CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH}, 0, CHECKPOINT_DISPATCH, NONE, 1},
        {{CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH, CHECKPOINT_DISPATCH}, 0, CHECKPOINT_TURN, ALL, 1},
        {{CHECKPOINT_TURN, CHECKPOINT_DISPATCH, CHECKPOINT_TURN}, NONE, 0, ALL, 1},
        {{CHECKPOINT_DRAFT, CHECKPOINT_TURN, CHECKPOINT_TURN}, NONE, 0, ALL, 1},
        {{CHECKPOINT_SUFFIX, CHECKPOINT_TURN, CHECKPOINT_TURN}, NONE, 0, ALL, 1},
        /* Age counts more than the end of a turn. */
        {{CHECKPOINT_TURN, CHECKPOINT_SUFFIX, CHECKPOINT_DISPATCH}, NONE, 0, NONE, 0},
    };
    REQUIRE(rig = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct checkpoints *c = open_store(ROOM * (pool_buffer_bytes(rig->pool) + pool_page_bytes(rig->pool)));
        for (int k = 0; k < ROOM; k++) add_short(c, k, rows[i].kind[k]);
        if (rows[i].again != NONE) add_short(c, rows[i].again, rows[i].as);
        for (int k = 0; k < ROOM; k++)
            if (rows[i].found == ALL || rows[i].found == k) CHECK(find_short(c, k));
        CHECK_INT(0, checkpoints_stats(c).dropped);
        add_short(c, ROOM, CHECKPOINT_DISPATCH);
        for (int k = 0; k <= ROOM; k++)
            if (find_short(c, k) == (k == rows[i].dropped)) CHECK_FAIL("row %zu: number %d", i, k);
        checkpoints_free(c);
    }
    rig_close(rig);
}

TEST_MAIN(T(longest_prefix), T(thinning), T(shared_pages_count_once), T(bytes_are_those_of_the_pool),
          T(one_that_is_too_large_alone_drops_no_other), T(a_smaller_budget_is_kept_to_at_once),
          T(what_costs_least_is_dropped))
