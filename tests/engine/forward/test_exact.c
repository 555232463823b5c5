/* Exactness: logits and states have the same bits whatever the split into dispatches, the grouping into runs, the
 * number of threads, padding, forks, restores and saved states. For every kernel set that this CPU runs, on a model
 * with more value than key heads (tiny-a) and on a mixture of experts (tiny-d), in Q8_0 and BF16, past the boundary of
 * a group of attention blocks. */
#include "engine/state/statefile.h"
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"

#include <pthread.h>
#include <time.h>

enum { TOKENS = 270, VOCAB = 512 };

enum { MODELS = 4 };
static const char *const models[MODELS] = {"tests/goldens/gguf/tiny-a-q8_0.gguf", "tests/goldens/tiny-d",
                                           "tests/goldens/gguf/tiny-a-bf16.gguf",
                                           "tests/goldens/gguf/tiny-d-q8_0.gguf"};
static const enum kv_type kvs[] = {KV_F32, KV_F16, KV_Q8_0};

struct expected {
    bool there;
    tdm_id ids[TOKENS];
    float *logits;       /* [TOKENS][VOCAB] */
    struct state *state; /* after all, with logits */
};

/* Evaluates ids[s->length .. end) in dispatches of the sizes that next() yields, comparing every row of logits. */
static bool follow(struct rig *r, struct state *s, const struct expected *e, uint32_t end, uint32_t size,
                   uint64_t *seed)
{
    static float rows[RIG_TOKENS * VOCAB];
    while (s->length < end) {
        uint32_t n = size ? size : 1 + (uint32_t)(rig_random(seed) % 67), at = s->length;
        if (n > end - at) n = end - at;
        rig_all_logits(r, s, e->ids + at, n, rows, NULL);
        if (s->length != at + n) return false;
        if (memcmp(rows, e->logits + (size_t)at * VOCAB, (size_t)n * VOCAB * sizeof *rows)) return false;
    }
    return true;
}

static void set_up(struct rig *r, struct expected *e, uint64_t seed)
{
    rig_ids(e->ids, TOKENS, VOCAB, seed);
    e->there = true;
    e->logits = malloc((size_t)TOKENS * VOCAB * sizeof *e->logits);
    e->state = rig_state(r);
    for (uint32_t i = 0; i < TOKENS; i += 32)
        rig_all_logits(r, e->state, e->ids + i, TOKENS - i < 32 ? TOKENS - i : 32, e->logits + (size_t)i * VOCAB, NULL);
}

static void tear_down(struct expected *e)
{
    free(e->logits);
    state_free(e->state);
}

/* The short form does one of n things with each kernel set, another one with the next. */
static bool left_out(uint64_t number, uint64_t n)
{
    return number % n && !getenv("TANDEM_LONG");
}

/* Runs `body` for each kernel set, with models and key/value types in turn. In the long form each has a dense one and a
 * mixture; in the short form one of the two, and the next body has the other one. A model stays open for the next
 * bodies, with what they are to find. */
static void for_each(void (*body)(struct rig *r, struct expected *e, uint64_t seed), int threads)
{
    static struct rig *rigs[16];
    static struct expected all[16];
    static int bodies;
    const struct kernels *sets[TESTED_SETS];
    int n = tested_available(sets);
    bodies++;
    for (int i = 0; i < 2 * n; i++) {
        if (left_out((uint64_t)(i + i / 2 + bodies), 2)) continue;
        const char *model = models[(i + i / MODELS) % MODELS];
        enum kv_type kv = kvs[i % 3];
        uint64_t seed = 2 + (uint64_t)i / 2;
        struct rig *r = rigs[i] = rigs[i] ? rigs[i] : rig_open(model, sets[i / 2]->name, kv, 1);
        struct team *alone;
        tdm_error err;
        if (!r) return;
        if (!all[i].there) set_up(r, &all[i], seed);
        alone = r->team;
        if (threads > 1) REQUIRE(!team_open(&r->team, threads, NULL, &err));
        int before = check_failures;
        body(r, &all[i], seed);
        if (check_failures > before) printf("# with kernels %s, %s, kv %d\n", sets[i / 2]->name, model, kv);
        if (threads > 1) team_close(r->team);
        r->team = alone;
    }
}

static void any_split(struct rig *r, struct expected *e, uint64_t seed)
{
    static const uint32_t sizes[] = {1, 4, 5, 33, 67, 250, 0, 0};
    uint64_t first = seed;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (left_out(first + i, 3)) continue;
        struct state *s = rig_state(r);
        if (!follow(r, s, e, TOKENS, sizes[i], &seed)) CHECK_FAIL("dispatches of %u tokens: other logits", sizes[i]);
        if (!state_equal(s, e->state)) CHECK_FAIL("dispatches of %u tokens: another state", sizes[i]);
        state_free(s);
    }
}

TEST(any_split)
{
    for_each(any_split, 1);
}

static void any_threads(struct rig *r, struct expected *e, uint64_t seed)
{
    struct team *driver = r->team;
    uint64_t first = seed;
    for (int threads = 2; threads <= RIG_MEMBERS; threads++) {
        tdm_error err;
        REQUIRE(!team_open(&r->team, threads, NULL, &err));
        static const uint32_t sizes[] = {1, 32, 0};
        for (int i = 0; i < 3; i++) {
            if (left_out(first + (uint64_t)(3 * threads + i), 4)) continue;
            /* Single tokens only near the end, where attention is split by groups: each costs many barriers. */
            struct state *s = rig_state(r);
            uint32_t from = sizes[i] == 1 ? TOKENS - 12 : 0;
            rig_eval(r, s, e->ids, from, 64);
            if (!follow(r, s, e, TOKENS, sizes[i], &seed) || !state_equal(s, e->state))
                CHECK_FAIL("%d threads, dispatches of %u: differs", threads, sizes[i]);
            state_free(s);
        }
        team_close(r->team);
    }
    r->team = driver;
}

TEST(any_threads)
{
    for_each(any_threads, 1);
}

/* Over several groups of attention blocks (made-up keys and values), where passes of few tokens split attention by
 * groups and others don't, and a dispatch crosses into a new group. */
static void long_context(struct rig *r, struct expected *e, uint64_t seed)
{
    enum { AFTER = 24 };
    struct state *start = rig_state(r), *expected;
    tdm_error err;
    REQUIRE(!state_fill(start, 4 * FORWARD_GROUP * KV_PAGE - 10, seed, &err));
    expected = rig_fork(start);
    rig_eval(r, expected, e->ids, AFTER, AFTER);
    for (int threads = 1; threads <= 3; threads++) {
        struct team *driver = r->team;
        REQUIRE(!team_open(&r->team, threads, NULL, &err));
        static const uint32_t sizes[] = {1, 2, 4, 5, 13, AFTER};
        for (int i = 0; i < 6; i++) {
            if (left_out(seed + (uint64_t)(threads + i), 4)) continue;
            struct state *s = rig_fork(start);
            rig_eval(r, s, e->ids, AFTER, sizes[i]);
            if (!s->logits_valid || !state_equal(s, expected))
                CHECK_FAIL("%d threads, dispatches of %u: differs", threads, sizes[i]);
            state_free(s);
        }
        team_close(r->team);
        r->team = driver;
    }
    state_free(start);
    state_free(expected);
}

TEST(long_context)
{
    for_each(long_context, 1);
}

/* Several states in one call, each somewhere else in its own text. */
static void any_runs(struct rig *r, struct expected *e, uint64_t seed)
{
    enum { STATES = 3 };
    struct expected others[STATES];
    struct state *s[STATES];
    int states = getenv("TANDEM_LONG") ? STATES : 2;
    others[0] = *e;
    for (int i = 0; i < states; i++) {
        if (i) set_up(r, &others[i], seed + 100 + (uint64_t)i);
        s[i] = rig_state(r);
        rig_eval(r, s[i], others[i].ids, (uint32_t)i * 97, 64);
    }
    for (bool more = true; more;) {
        struct forward_run runs[STATES];
        uint32_t n_runs = 0;
        static float rows[STATES][64 * VOCAB];
        uint32_t longest = rig_random(&seed) % 2 ? 1 : 40;
        more = false;
        for (int i = 0; i < states; i++) {
            uint32_t left = TOKENS - s[i]->length, n = 1 + (uint32_t)(rig_random(&seed) % longest);
            if (!left || rig_random(&seed) % 4 == 0) {
                more |= left > 0;
                continue;
            }
            more = true;
            runs[n_runs++] = (struct forward_run){.state = s[i],
                                                  .tokens = others[i].ids + s[i]->length,
                                                  .n = n < left ? n : left,
                                                  .logits = (enum forward_logits)(n % 3),
                                                  .all = rows[i]};
        }
        if (!n_runs) continue;
        tdm_error err;
        if (forward(r->team, r->weights, r->workspace, runs, n_runs, NULL, NULL, &err)) {
            CHECK_FAIL("%s", err.text);
            break;
        }
        for (uint32_t j = 0; j < n_runs; j++) {
            int i = 0;
            while (s[i] != runs[j].state) i++;
            const float *last = others[i].logits + (size_t)(s[i]->length - 1) * VOCAB;
            CHECK(s[i]->logits_valid == (runs[j].logits != LOGITS_NONE));
            if (s[i]->logits_valid) CHECK(!memcmp(s[i]->logits, last, VOCAB * sizeof *last));
            if (runs[j].logits == LOGITS_ALL)
                CHECK(!memcmp(runs[j].all, last - (size_t)(runs[j].n - 1) * VOCAB, runs[j].n * VOCAB * sizeof *last));
        }
    }
    for (int i = 0; i < states; i++) {
        CHECK(state_equal(s[i], others[i].state));
        state_free(s[i]);
        if (i) tear_down(&others[i]);
    }
}

TEST(any_runs)
{
    for_each(any_runs, 2);
}

/* Forks at random points go their own way; restoring one into a used state continues as if nothing had been. */
static void fork_restore(struct rig *r, struct expected *e, uint64_t seed)
{
    tdm_id other[64];
    uint64_t first = seed;
    rig_ids(other, 64, VOCAB, seed + 7);
    for (int round = 0; round < 2; round++) {
        if (left_out(first + (uint64_t)round, 2)) continue;
        uint32_t at = round == 0 ? 64 : 1 + (uint32_t)(rig_random(&seed) % (TOKENS - 1));
        struct state *s = rig_state(r), *kept;
        CHECK(follow(r, s, e, at, 64, &seed));
        kept = rig_fork(s);
        CHECK(state_equal(kept, s));
        rig_eval(r, s, other, 1 + (uint32_t)(rig_random(&seed) % 63), 32);
        struct state *fork = rig_fork(kept);
        tdm_error err;
        CHECK_INT(TDM_OK, state_copy(s, kept, &err));
        CHECK(state_equal(s, kept));
        CHECK(follow(r, s, e, TOKENS, 0, &seed) && state_equal(s, e->state));
        CHECK(follow(r, fork, e, TOKENS, 0, &seed) && state_equal(fork, e->state));
        CHECK_INT(at, kept->length);
        CHECK(follow(r, kept, e, TOKENS, 0, &seed) && state_equal(kept, e->state));
        state_free(s);
        state_free(fork);
        state_free(kept);
    }
}

TEST(fork_restore)
{
    for_each(fork_restore, 1);
}

static void save_load(struct rig *r, struct expected *e, uint64_t seed)
{
    char path[128];
    struct state_bytes bytes = {0};
    snprintf(path, sizeof path, "%s/state", check_tmp());
    for (int i = 0, first = (int)(seed % 3); i < 3; i++) {
        if (left_out((uint64_t)(i + first), 3)) continue;
        uint32_t at = 1 + (uint32_t)(rig_random(&seed) % (TOKENS - 1));
        struct pool *pool = rig_pool(r, kvs[i]), *own = r->pool;
        r->pool = pool;
        struct expected mine = *e;
        set_up(r, &mine, seed);
        struct state *s = rig_state(r), *loaded = rig_state(r);
        tdm_error err = {0};
        rig_eval(r, s, mine.ids, at, 50);
        rig_eval(r, loaded, mine.ids, 7, 7); /* what is there goes */
        CHECK_INT(TDM_OK, statefile_save(path, s, 5, &err));
        CHECK_INT(TDM_OK, statefile_load(path, loaded, 5, &err));
        CHECK(state_equal(s, loaded) && loaded->logits_valid);
        CHECK(follow(r, loaded, &mine, TOKENS, 0, &seed) && state_equal(loaded, mine.state));
        CHECK_INT(TDM_OK, state_save_memory(s, 6, &bytes, &err));
        CHECK_INT(TDM_OK, state_load_memory(loaded, 6, bytes.data, bytes.size, &err));
        CHECK(state_equal(s, loaded));
        CHECK(follow(r, loaded, &mine, TOKENS, 0, &seed) && state_equal(loaded, mine.state));
        state_free(s);
        state_free(loaded);
        tear_down(&mine);
        pool_free(pool);
        r->pool = own;
    }
    state_bytes_free(&bytes);
}

TEST(save_load)
{
    for_each(save_load, 1);
}

/* Padded rows leave no trace. */
static void padding(struct rig *r, struct expected *e, uint64_t seed)
{
    struct state *s = rig_state(r);
    while (s->length < TOKENS) {
        uint32_t n = 1 + (uint32_t)(rig_random(&seed) % 64);
        if (n > TOKENS - s->length) n = TOKENS - s->length;
        struct forward_run run = {
            .state = s, .tokens = e->ids + s->length, .n = n, .padding = 64 - n, .logits = LOGITS_LAST};
        tdm_error err;
        REQUIRE(!forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
        CHECK(!memcmp(s->logits, e->logits + (size_t)(s->length - 1) * VOCAB, VOCAB * sizeof(float)));
    }
    CHECK(state_equal(s, e->state));
    state_free(s);
}

TEST(padding)
{
    for_each(padding, 2);
}

static atomic_bool cancel_soon;

static void *set_cancel(void *unused)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&cancel_soon, true);
    return unused;
}

TEST(cancel_and_limits)
{
    struct rig *r = rig_open(models[0], NULL, KV_F16, 2);
    REQUIRE(r);
    struct expected e;
    set_up(r, &e, 3);
    struct state *s = rig_state(r), *kept;
    uint64_t seed = 1;
    CHECK(follow(r, s, &e, 40, 32, &seed));
    kept = rig_fork(s);
    atomic_bool cancel = true;
    struct forward_options options = {.cancel = &cancel};
    struct forward_run run = {.state = s, .tokens = e.ids + 40, .n = 20, .logits = LOGITS_LAST};
    tdm_error err;
    CHECK_INT(TDM_E_CANCELLED, forward(r->team, r->weights, r->workspace, &run, 1, &options, NULL, &err));
    CHECK(!s->broken && s->length == 40); /* no layer had begun */

    /* In the middle of a pass; when exactly is left to the scheduler, so try until a layer had begun. */
    run.n = TOKENS - 40;
    options.cancel = &cancel_soon;
    for (int i = 0; i < 100 && !s->broken; i++) {
        CHECK_INT(TDM_OK, state_copy(s, kept, &err));
        atomic_store(&cancel_soon, false);
        pthread_t thread;
        REQUIRE(!pthread_create(&thread, NULL, set_cancel, NULL));
        forward(r->team, r->weights, r->workspace, &run, 1, &options, NULL, &err);
        pthread_join(thread, NULL);
    }
    CHECK(s->broken && s->length == 40);
    CHECK_INT(TDM_OK, state_copy(s, kept, &err));
    CHECK(follow(r, s, &e, TOKENS, 0, &seed) && state_equal(s, e.state));

    /* The context: full is full, and the state goes on. */
    tdm_id *ids = malloc(RIG_CONTEXT * sizeof *ids);
    rig_ids(ids, RIG_CONTEXT, VOCAB, 9);
    CHECK_INT(TDM_OK, state_fill(s, RIG_CONTEXT - 2, 1, &err));
    rig_eval(r, s, ids, 1, 1);
    run = (struct forward_run){.state = s, .tokens = ids, .n = 2, .logits = LOGITS_LAST};
    CHECK_INT(TDM_E_CONTEXT, forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
    CHECK(s->length == RIG_CONTEXT - 1 && s->logits_valid && !s->broken);
    run.n = 1;
    uint64_t moved = 0;
    CHECK_INT(TDM_OK, forward(r->team, r->weights, r->workspace, &run, 1, NULL, &moved, &err));
    CHECK_INT(RIG_CONTEXT, s->length);
    CHECK(moved > r->weights->layer_bytes + r->weights->lm_head->bytes);

    tdm_id bad[2] = {1, VOCAB};
    state_clear(s);
    run = (struct forward_run){.state = s, .tokens = bad, .n = 2};
    CHECK_INT(TDM_E_ARG, forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
    CHECK_STR("token id 512: expected 0 to 511", err.text);
    run = (struct forward_run){.state = s, .tokens = ids, .n = RIG_TOKENS, .padding = 1};
    CHECK_INT(TDM_E_ARG, forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
    CHECK_INT(0, s->length);
    free(ids);
    state_free(s);
    state_free(kept);
    tear_down(&e);
    rig_close(r);
}

TEST_MAIN(T(any_split), T(any_threads), T(long_context), T(any_runs), T(fork_restore), T(save_load), T(padding),
          T(cancel_and_limits))
