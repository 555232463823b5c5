/* Pages in kinds: what windows leave is given back, what is needed stays, whatever is forked, cut, crossed, saved or
 * kept as a checkpoint in between. */
#include "engine/state/checkpoints.h"
#include "engine/state/crossing.h"
#include "engine/state/layout.h"
#include "engine/state/statefile.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/pretend.h"

#include <pthread.h>

enum { ABOVE = 4, BELOW = 2, STATES = ABOVE + BELOW, ALPHABET = 2 };

static struct state *open_state(struct pool *pool)
{
    struct state *s;
    if (state_new(&s, pool, NULL)) abort();
    return s;
}

/* Tokens that often coincide with those of others. */
static void grow(struct state *s, uint32_t n, uint64_t *seed)
{
    tdm_id ids[PRETEND_CONTEXT];
    for (uint32_t i = 0; i < n; i++) ids[i] = rig_random(seed) % 40 ? 1 : (tdm_id)(rig_random(seed) % ALPHABET);
    pretend_grow(s, ids, n);
}

TEST(pages_of_a_window_are_given_back)
{
    struct pool *pool = pretend_pool(KV_F16, false);
    struct state *s = open_state(pool), *fork;
    uint64_t seed = 1, buffer = pool_buffer_bytes(pool);
    for (uint32_t length = 10; length <= 390; length += 10) {
        grow(s, 10, &seed);
        CHECK(pretend_holds(s, length));
        CHECK_INT(TDM_OK, state_make_room(s, 0, NULL));
        CHECK_INT(buffer + pool_held_bytes(pool, length), pretend_used(pool));
        CHECK_INT(length > 151 ? (length - 151) / KV_PAGE : 0, s->first[0]);
        CHECK(s->first[1] == 0 && !state_pages(s, 1)[(length - 1) / KV_PAGE + 1]);
    }
    CHECK(pool_held_bytes(pool, 390) == 13 * pool_kind_bytes(pool, 1) + 6 * pool_kind_bytes(pool, 0));
    CHECK_INT(13 * 2 * 2 * 1 * 40 * 64 + 6 * 2 * 3 * 2 * 16 * 64, state_shape_kv_bytes(pool_shape(pool), KV_F16, 390));
    /* Many tokens at once need all their pages while they are evaluated, and no longer. */
    REQUIRE(state_fork(&fork, s, NULL) == TDM_OK);
    state_clear(fork);
    grow(fork, 300, &seed);
    CHECK(fork->first[0] == 0 && pretend_holds(fork, 0));
    CHECK_INT(TDM_OK, state_copy(s, fork, NULL));
    CHECK_INT((300 - 151) / KV_PAGE, s->first[0]);
    state_free(s), state_free(fork);
    pool_free(pool);
}

TEST(layers_find_their_places)
{
    struct pool *pool = pretend_pool(KV_F16, true);
    struct state *s = open_state(pool);
    uint64_t seed = 1;
    grow(s, 100, &seed);
    CHECK(state_keys(s, 3, 1, 1) == pool_keys(pool, 0, state_pages(s, 0)[1], 2, 1));
    CHECK(state_values(s, 4, 2, 0) == pool_values(pool, 1, state_pages(s, 1)[2], 1, 0));
    CHECK(state_keys(s, 5, 1, 1) == state_keys(s, 3, 1, 1));                         /* it shares them */
    CHECK(state_keys(s, 6, 0, 0) == pool_keys(pool, 2, state_pages(s, 2)[0], 0, 0)); /* the MTP head's */
    state_free(s);
    pool_free(pool);
}

TEST(cuts)
{
    struct pool *pool = pretend_pool(KV_F16, false), *headed = pretend_pool(KV_F16, true);
    struct state *s = open_state(pool), *fork;
    uint64_t seed = 1;
    grow(s, 100, &seed);
    REQUIRE(state_fork(&fork, s, NULL) == TDM_OK);
    CHECK(state_can_cut(s, 100) && state_can_cut(s, 0) && !state_can_cut(s, 101));
    CHECK_INT(TDM_OK, state_cut(s, 100, NULL));
    CHECK(s->logits_valid);
    CHECK_INT(TDM_OK, state_cut(s, 50, NULL)); /* within a page that both have */
    CHECK(s->length == 50 && !s->logits_valid && pretend_holds(s, 0) && state_shared_pages(s, fork) == 1);
    CHECK(!state_pages(s, 0)[2] && !state_pages(s, 1)[2]);
    grow(s, 300, &seed);
    CHECK(pretend_holds(s, 1) && pretend_holds(fork, 1));
    CHECK_INT(TDM_OK, state_make_room(s, 1, NULL));
    /* As far back as the window's pages are there. */
    CHECK(s->first[0] == (350 - 151) / KV_PAGE && !state_can_cut(s, 200));
    CHECK(state_can_cut(s, 350 - STATE_BACK) && state_can_cut(s, s->first[0] * KV_PAGE + PRETEND_WINDOW - 1));
    CHECK(!state_can_cut(s, s->first[0] * KV_PAGE + PRETEND_WINDOW - 2));
    CHECK_INT(TDM_OK, state_cut(s, 350 - STATE_BACK, NULL));
    CHECK(pretend_holds(s, 2));
    s->broken = true;
    CHECK(!state_can_cut(s, s->length) && !state_can_cut(s, s->length - 1));
    state_free(s), state_free(fork);

    /* Entries of the MTP head know the token behind them: no way back behind their rows. */
    s = open_state(headed);
    grow(s, 40, &seed);
    CHECK(s->entries == 39 && !state_can_cut(s, 39));
    grow(s, 20, &seed);
    CHECK(s->entries == 39 && state_can_cut(s, 40) && !state_can_cut(s, 39));
    CHECK_INT(TDM_OK, state_cut(s, 45, NULL));
    CHECK(pretend_holds(s, 0));
    grow(s, 40, &seed);
    CHECK(pretend_holds(s, 1) && s->entries == 84);
    state_free(s);
    pool_free(pool), pool_free(headed);
}

TEST(recurrent_layers_allow_no_cut)
{
    struct state_shape shape = pretend_shape(false);
    const struct kernels *set;
    struct pool *pool;
    shape.linear_layers = 1;
    shape.key_heads = shape.value_heads = 1;
    shape.key_dim = shape.value_dim = 16;
    shape.conv_taps = 2;
    shape.conv_channels = 48;
    REQUIRE(!kernels_find(&set, NULL, NULL) && !pool_new(&pool, &shape, set, KV_F16, 100, NULL));
    struct state *s = open_state(pool);
    CHECK_INT(TDM_OK, state_fill(s, 50, 1, NULL));
    CHECK(state_can_cut(s, 50) && !state_can_cut(s, 49) && !state_can_cut(s, 0));
    state_free(s);
    pool_free(pool);
}

/* Saved half way, and as long as all of its context: both go on elsewhere. */
TEST(saved_half_way)
{
    struct pool *pool = pretend_pool(KV_F16, true), *other = pretend_pool(KV_F32, true);
    struct state *s = open_state(pool), *loaded = open_state(other);
    struct state_bytes bytes = {0}, again = {0};
    uint64_t seed = 1;
    tdm_error err;
    char path[256];
    snprintf(path, sizeof path, "%s/state", check_tmp());
    for (uint32_t length = 0; length < PRETEND_CONTEXT; length += 20) {
        grow(s, 20, &seed);
        if (length % 100) continue;
        CHECK_INT(TDM_OK, statefile_save(path, s, 7, &err));
        CHECK_INT(TDM_OK, statefile_load(path, loaded, 7, &err));
        CHECK(loaded->length == s->length && pretend_holds(loaded, length));
        CHECK_INT(state_kind_seen(&pool_shape(pool)->kind[0], s->length), loaded->first[0]);
        if (s->length + 30 <= PRETEND_CONTEXT) grow(loaded, 30, &seed);
        CHECK(pretend_holds(loaded, length + 1));
    }
    /* What lies behind the window makes no difference. */
    CHECK_INT(TDM_OK, state_save_memory(s, 1, &bytes, &err));
    struct state *same = open_state(pool);
    CHECK_INT(TDM_OK, state_load_memory(same, 1, bytes.data, bytes.size, &err));
    CHECK(same->first[0] > s->first[0]);
    CHECK_INT(TDM_OK, state_save_memory(same, 1, &again, &err));
    CHECK(again.size == bytes.size && !memcmp(again.data, bytes.data, bytes.size));
    CHECK(bytes.size < pool_held_bytes(pool, PRETEND_CONTEXT) + 5000);
    /* Another window is another model. */
    struct state_shape shape = pretend_shape(true);
    struct pool *wider;
    shape.kind[0].window = 25;
    REQUIRE(!pool_new(&wider, &shape, pool_kernels(pool), KV_F16, PRETEND_CONTEXT, NULL));
    struct state *foreign = open_state(wider);
    CHECK_INT(TDM_E_FORMAT, state_load_memory(foreign, 1, bytes.data, bytes.size, &err));
    CHECK_STR("state: 24 positions in a window, expected 25", err.text);
    state_free(s), state_free(loaded), state_free(same), state_free(foreign);
    state_bytes_free(&bytes), state_bytes_free(&again);
    pool_free(pool), pool_free(other), pool_free(wider);
}

/* A checkpoint serves every prefix that it can be cut to, so the ends of branches are what is worth its memory. */
TEST(checkpoints_on_the_way_go_first)
{
    struct pool *pool = pretend_pool(KV_F16, false);
    struct state *s = open_state(pool), *branch;
    struct checkpoints *c;
    uint64_t seed = 1;
    REQUIRE(!checkpoints_new(&c, 4 * (pool_buffer_bytes(pool) + pool_held_bytes(pool, 150)), NULL));
    grow(s, 40, &seed);
    REQUIRE(!state_fork(&branch, s, NULL));
    pretend_grow(branch, (tdm_id[]){7, 7, 7, 7}, 4);
    CHECK_INT(TDM_OK, checkpoints_add(c, branch, CHECKPOINT_DISPATCH, NULL, NULL));
    while (s->length < 140) {
        grow(s, 4, &seed);
        CHECK_INT(TDM_OK, checkpoints_add(c, s, CHECKPOINT_DISPATCH, NULL, NULL));
        CHECK_INT(44, checkpoints_find(c, branch->tokens, 44).length);
        for (uint32_t n = 41; n <= s->length; n += 9) CHECK_INT(n, checkpoints_find(c, s->tokens, n).length);
    }
    CHECK(checkpoints_stats(c).dropped > 5);
    checkpoints_free(c);
    state_free(s), state_free(branch);
    pool_free(pool);
}

/* ---- Random schedules -------------------------------------------------------------------------------------------- */

struct play {
    struct pool *pool[2]; /* of the first ABOVE states, and of the others */
    struct state *state[STATES];
    struct checkpoints *checkpoints;
    uint64_t seed;
};

static uint32_t below(struct play *p, uint32_t n)
{
    return (uint32_t)(rig_random(&p->seed) % n);
}

static struct pool *pool_of(const struct play *p, uint32_t i)
{
    return p->pool[i >= ABOVE];
}

/* The first full pages of one that are those of the other: at most all, at least none, as if some had not crossed. */
static uint32_t kept_pages(struct play *p, const struct state *to, const struct state *from)
{
    uint32_t most = (to->length < from->length ? to->length : from->length), same = 0;
    while (same < most && to->tokens[same] == from->tokens[same]) same++;
    return below(p, 4) ? same / KV_PAGE : below(p, same / KV_PAGE + 1);
}

static void cross(struct play *p, uint32_t i, uint32_t j)
{
    struct state *from = p->state[i], *to = p->state[j];
    tdm_error err;
    for (bool sealed = true; below(p, 2) || sealed; sealed = below(p, 2)) {
        struct crossing x = {.kept = kept_pages(p, to, from), .sealed = true};
        if (state_cross(to, from, &x, &err)) CHECK_FAIL("%s", err.text);
        CHECK(to->broken && to->length == from->length / KV_PAGE * KV_PAGE);
        /* Meanwhile it went on, or back. */
        if (from->length < PRETEND_CONTEXT - 50 && below(p, 2)) grow(from, below(p, 50), &p->seed);
        uint32_t back = from->length - (from->length ? below(p, from->length) : 0);
        if (state_can_cut(from, back) && below(p, 2)) state_cut(from, back, NULL);
    }
    struct crossing x = {.kept = kept_pages(p, to, from)};
    if (state_cross(to, from, &x, &err)) CHECK_FAIL("%s", err.text);
    CHECK(!to->broken && to->length == from->length && to->headless == from->headless);
}

static void begin_with(struct play *p)
{
    struct state *src = p->state[ABOVE], *dst = p->state[ABOVE + 1];
    uint32_t pages = below(p, src->length / KV_PAGE + 1);
    state_begin_with(dst, src, pages);
    CHECK(dst->broken && dst->length == pages * KV_PAGE);
    cross(p, below(p, ABOVE), ABOVE + 1);
}

static void cut(struct play *p, uint32_t i)
{
    struct state *s = p->state[i];
    uint32_t length = s->length - below(p, 1 + (below(p, 2) ? s->length : (s->length < 40 ? s->length : 40)));
    uint32_t seen = length >= PRETEND_WINDOW ? (length - PRETEND_WINDOW + 1) / KV_PAGE : 0;
    bool can = length == s->length || ((s->headless || length > s->entries) && s->first[0] <= seen);
    CHECK(can == state_can_cut(s, length));
    if (can) CHECK_INT(TDM_OK, state_cut(s, length, NULL));
    CHECK(!can || s->length == length);
}

static void save_and_load(struct play *p, uint32_t i, uint32_t j)
{
    struct state_bytes bytes = {0}, again = {0};
    CHECK_INT(TDM_OK, state_save_memory(p->state[i], 1, &bytes, NULL));
    CHECK_INT(TDM_OK, state_load_memory(p->state[j], 1, bytes.data, bytes.size, NULL));
    CHECK_INT(TDM_OK, state_save_memory(p->state[j], 1, &again, NULL));
    bool alike = pool_of(p, i) == pool_of(p, j);
    CHECK(!alike || (again.size == bytes.size && !memcmp(again.data, bytes.data, bytes.size)));
    state_bytes_free(&bytes);
    state_bytes_free(&again);
}

/* Goes on from a checkpoint, as the follower does. */
static void restore(struct play *p, uint32_t i, uint32_t j)
{
    tdm_id ids[PRETEND_CONTEXT];
    const struct state *s = p->state[i];
    memcpy(ids, s->tokens, s->length * sizeof *ids);
    if (s->length && below(p, 2)) ids[below(p, s->length)] = 5;
    struct checkpoint_found found = checkpoints_find(p->checkpoints, ids, s->length);
    if (!found.state) return;
    CHECK(found.length <= s->length && !memcmp(found.state->tokens, ids, found.length * sizeof *ids));
    CHECK(pretend_holds(found.state, below(p, 6)));
    CHECK_INT(TDM_OK, state_copy(p->state[j], found.state, NULL));
    CHECK_INT(TDM_OK, state_cut(p->state[j], found.length, NULL));
}

/* One of the states is changed; returns its number. */
static uint32_t step(struct play *p)
{
    uint32_t i = below(p, ABOVE), j = below(p, ABOVE), other = ABOVE + below(p, BELOW);
    struct state *s = p->state[i];
    struct checkpoints_stats stats;
    switch (below(p, 12)) {
    case 0:
        cross(p, i, other);
        return other;
    case 1:
        begin_with(p);
        return ABOVE + 1;
    case 2:
        state_free(p->state[j]);
        p->state[j] = NULL;
        if (i == j || state_fork(&p->state[j], s, NULL)) p->state[j] = open_state(p->pool[0]);
        return j;
    case 3:
        CHECK_INT(TDM_OK, state_copy(p->state[j], s, NULL));
        return j;
    case 4:
        cut(p, i);
        return i;
    case 5:
        if (below(p, 2)) other = j;
        save_and_load(p, i, other);
        return other;
    case 6:
        CHECK_INT(TDM_OK, checkpoints_add(p->checkpoints, s, (enum checkpoint_kind)below(p, 4), NULL, NULL));
        stats = checkpoints_stats(p->checkpoints);
        CHECK(stats.bytes <= stats.budget);
        return i;
    case 7:
        restore(p, i, j);
        return j;
    case 8:
        if (!below(p, 4)) state_clear(s);
        return i;
    default:
        if (s->length < PRETEND_CONTEXT) grow(s, below(p, 1 + (PRETEND_CONTEXT - s->length) / 2), &p->seed);
        return i;
    }
}

/* Pools of both places, with an MTP head and without, of two types; one play after the other has them. */
static struct pool *pools[2][2][2];

static void play(uint64_t seed, int steps)
{
    struct play p = {.seed = seed};
    bool head = below(&p, 2);
    for (int i = 0; i < 2; i++) p.pool[i] = pools[i][head][below(&p, 2)];
    uint64_t budget = 4 * (pool_buffer_bytes(p.pool[0]) + pool_held_bytes(p.pool[0], 150));
    if (checkpoints_new(&p.checkpoints, budget, NULL)) abort();
    for (uint32_t i = 0; i < STATES; i++) p.state[i] = open_state(pool_of(&p, i));
    for (int n = 0; n < steps && !check_failures; n++) {
        uint32_t i = step(&p);
        CHECK(pretend_holds(p.state[i], below(&p, 6)));
    }
    for (uint32_t i = 0; i < STATES; i++) CHECK(pretend_holds(p.state[i], below(&p, 6)));
    for (uint32_t i = 0; i < STATES; i++) state_free(p.state[i]);
    /* What the checkpoints say they have is what is left; the MTP head's pages are counted as if none lagged behind. */
    if (!head) CHECK_INT(pretend_used(p.pool[0]), checkpoints_stats(p.checkpoints).bytes);
    checkpoints_free(p.checkpoints);
    CHECK(!pretend_used(p.pool[0]) && !pretend_used(p.pool[1]));
    if (check_failures) printf("# seed %llu\n", (unsigned long long)seed);
}

TEST(schedules)
{
    const char *one = getenv("TANDEM_SEED");
    uint64_t n = getenv("TANDEM_LONG") ? 200000 : check_slow() ? 200 : 1000;
    for (int i = 0; i < 8; i++) pools[i / 4][i / 2 % 2][i % 2] = pretend_pool(i % 2 ? KV_F16 : KV_F32, i / 2 % 2);
    if (one) play(strtoull(one, NULL, 10), 40);
    for (uint64_t seed = 1; !one && seed <= n && !check_failures; seed++) play(seed, 40);
    for (int i = 0; i < 8; i++) pool_free(pools[i / 4][i / 2 % 2][i % 2]);
}

/* ---- Two threads on one pool; run under SANITIZER=thread as well ------------------------------------------------- */

static const struct state *shared_origin;

static void *churn(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    struct state *own = rig_fork(shared_origin);
    for (int i = 0; i < 200; i++) {
        uint32_t length = own->length - (uint32_t)(rig_random(&seed) % 100);
        if (own->length > 300) state_copy(own, shared_origin, NULL);
        if (own->length >= 100 && state_can_cut(own, length)) state_cut(own, length, NULL);
        grow(own, (uint32_t)(rig_random(&seed) % 60), &seed);
        struct state *fork = rig_fork(own);
        if (!pretend_holds(fork, (uint32_t)i)) abort();
        state_free(fork);
    }
    state_free(own);
    return NULL;
}

TEST(two_threads)
{
    struct pool *pool = pretend_pool(KV_F16, false);
    struct state *origin = open_state(pool);
    uint64_t seed = 9;
    pthread_t thread[2];
    grow(origin, 180, &seed);
    state_make_room(origin, 0, NULL);
    shared_origin = origin;
    for (uintptr_t i = 0; i < 2; i++) REQUIRE(!pthread_create(&thread[i], NULL, churn, (void *)(i + 1)));
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    CHECK(pretend_holds(origin, 0));
    state_free(origin);
    pool_free(pool);
}

TEST_MAIN(T(pages_of_a_window_are_given_back), T(layers_find_their_places), T(cuts), T(recurrent_layers_allow_no_cut),
          T(saved_half_way), T(checkpoints_on_the_way_go_first), T(schedules), T(two_threads))
