/* Exactness of other families: logits and states have the same bits whatever the dispatches, runs, threads and forks,
 * with a mixture without a shared expert, with windows that pass pages, and with learned positions; and verified runs
 * leave what single tokens would. For every kernel set that this CPU runs. */
#include "engine/state/statefile.h"
#include "tests/check.h"
#include "tests/engine/model/family.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"

enum { TOKENS = 200, VOCAB = 512, RUNS = 3 };

static float expected[TOKENS * VOCAB], rows[RIG_TOKENS * VOCAB];
static tdm_id ids[TOKENS];
static int families; /* that were looked at */

/* The short form does every second thing with a family, the others with the next. */
static bool left_out(int number)
{
    return (number + families) % 2 && !getenv("TANDEM_LONG");
}

/* Evaluates ids[s->length .. TOKENS) in dispatches of one size, 0: of any, comparing every row of logits. */
static bool follow(struct rig *r, struct state *s, uint32_t size, uint64_t *seed)
{
    while (s->length < TOKENS) {
        uint32_t n = size ? size : 1 + (uint32_t)(rig_random(seed) % 67), at = s->length;
        if (n > TOKENS - at) n = TOKENS - at;
        rig_all_logits(r, s, ids + at, n, rows, NULL);
        if (s->length != at + n || memcmp(rows, expected + (size_t)at * VOCAB, (size_t)n * VOCAB * sizeof *rows))
            return false;
    }
    return true;
}

static void check_splits(struct rig *r, const struct state *whole)
{
    static const uint32_t sizes[] = {1, 4, 5, 33, 0, 0};
    uint64_t seed = 5;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        if (left_out(i)) continue;
        struct state *s = rig_state(r);
        if (!follow(r, s, sizes[i], &seed) || !state_equal(s, whole))
            CHECK_FAIL("dispatches of %u tokens: differs", sizes[i]);
        state_free(s);
    }
}

static void check_threads(struct rig *r, const struct state *whole)
{
    struct team *driver = r->team;
    uint64_t seed = 6;
    for (int threads = 1; threads <= RIG_MEMBERS; threads++) {
        if (left_out(threads)) continue;
        tdm_error err;
        REQUIRE(!team_open(&r->team, threads, NULL, &err));
        struct state *s = rig_state(r);
        rig_eval(r, s, ids, 90, 45);
        if (!follow(r, s, 0, &seed) || !state_equal(s, whole)) CHECK_FAIL("%d threads: differs", threads);
        state_free(s);
        team_close(r->team);
    }
    r->team = driver;
}

/* Several states in one pass, each from a fork made somewhere. */
static void check_forks(struct rig *r, const struct state *whole)
{
    static const uint32_t begins[RUNS] = {3, 70, 133};
    struct state *s[RUNS], *origin = rig_state(r);
    struct forward_run runs[RUNS];
    tdm_error err;
    for (int i = 0; i < RUNS; i++) {
        rig_eval(r, origin, ids + origin->length, begins[i] - origin->length, 32);
        s[i] = rig_fork(origin);
    }
    for (uint32_t more = 0; more < 60; more += 12) {
        for (int i = 0; i < RUNS; i++)
            runs[i] = (struct forward_run){.state = s[i], .tokens = ids + s[i]->length, .n = 12, .logits = LOGITS_LAST};
        REQUIRE(!forward(r->team, r->weights, r->workspace, runs, RUNS, NULL, NULL, &err));
        for (int i = 0; i < RUNS; i++)
            CHECK(!memcmp(s[i]->logits, expected + (size_t)(s[i]->length - 1) * VOCAB, VOCAB * sizeof *expected));
    }
    for (int i = 0; i < RUNS; i++) {
        rig_eval(r, s[i], ids + s[i]->length, TOKENS - s[i]->length, 32);
        CHECK(state_equal(s[i], whole));
        state_free(s[i]);
    }
    state_free(origin);
}

/* Back to earlier tokens after others that turned out wrong, and further back, as far as windows allow. */
static void check_cuts(struct rig *r, const struct state *whole)
{
    struct state *s = rig_state(r);
    uint64_t seed = 8;
    tdm_id wrong[7];
    rig_ids(wrong, 7, VOCAB, 3);
    for (int i = 0; i < 12; i++) {
        uint32_t more = (uint32_t)(rig_random(&seed) % (TOKENS - s->length)), back = (uint32_t)(rig_random(&seed) % 90);
        rig_eval(r, s, ids + s->length, more, 32);
        uint32_t length = s->length;
        rig_eval(r, s, wrong, 7, 7);
        REQUIRE(state_can_cut(s, length) && !state_cut(s, length, NULL));
        if (back <= length && state_can_cut(s, length - back)) state_cut(s, length - back, NULL);
    }
    CHECK(follow(r, s, 1, &seed) && state_equal(s, whole));
    CHECK(!pool_shape(s->pool)->kind[0].window || s->first[0] > 0);
    state_free(s);
}

/* Drafts of which some turn out right: the rest leaves nothing. */
static void check_verified(struct rig *r, const struct state *whole)
{
    enum { DRAFTS = 5 };
    struct forward_kept *kept;
    struct state *s = rig_state(r);
    tdm_error err;
    uint64_t seed = 7;
    REQUIRE(!forward_kept_new(&kept, r->weights, DRAFTS, &err));
    rig_eval(r, s, ids, 61, 32);
    while (s->length + DRAFTS < TOKENS) {
        tdm_id drafts[DRAFTS];
        uint32_t right = 1 + (uint32_t)(rig_random(&seed) % DRAFTS);
        for (uint32_t i = 0; i < DRAFTS; i++) drafts[i] = i < right ? ids[s->length + i] : (tdm_id)(i * 7);
        struct forward_run run = {
            .state = s, .tokens = drafts, .n = DRAFTS, .logits = LOGITS_ALL, .all = rows, .kept = kept};
        REQUIRE(!forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
        CHECK(!memcmp(rows, expected + (size_t)s->length * VOCAB, right * VOCAB * sizeof *rows));
        forward_accept(r->team, r->weights, r->workspace, &run, &right, 1);
    }
    CHECK(follow(r, s, 1, &seed) && state_equal(s, whole));
    state_free(s);
    forward_kept_free(kept);
}

/* A state from half of the text, saved and loaded: windows have passed by then. A checkpoint from before that is gone
 * back to, too. */
static void check_saved(struct rig *r, const struct state *whole)
{
    struct state *s = rig_state(r), *loaded = rig_state(r);
    struct state_bytes bytes = {0};
    tdm_error err;
    uint64_t seed = 9;
    rig_eval(r, s, ids, 61, 32);
    struct state *checkpoint = rig_fork(s);
    rig_eval(r, s, ids + 61, 56, 32);
    CHECK(!state_save_memory(s, r->fingerprint, &bytes, &err) &&
          !state_load_memory(loaded, r->fingerprint, bytes.data, bytes.size, &err));
    CHECK(loaded->length == 117 && follow(r, loaded, 0, &seed) && state_equal(loaded, whole));
    CHECK(follow(r, s, 1, &seed) && state_equal(s, whole));
    CHECK(!state_copy(s, checkpoint, &err) && follow(r, s, 0, &seed) && state_equal(s, whole));
    state_bytes_free(&bytes);
    state_free(checkpoint);
    state_free(loaded);
    state_free(s);
}

/* The long form: all with every kernel set. The short one: all with the widest set; with each of the others, where a
 * family is one of three of its own kind, one of them, another in turn. */
static void check_family(const char *name, bool first)
{
    static void (*const checks[])(struct rig * r, const struct state *whole) = {
        check_splits, check_threads, check_forks, check_cuts, check_verified, check_saved};
    static const enum kv_type kvs[] = {KV_F32, KV_F16, KV_Q8_0};
    const struct kernels *sets[TESTED_SETS];
    char folder[FAMILY_ROOM];
    if (!family_find(name, folder)) return;
    bool all = getenv("TANDEM_LONG");
    int n = all ? tested_available(sets) : kernels_available(sets, TESTED_SETS);
    families++;
    for (int i = first || all ? 0 : n - 1; i < n; i++) {
        struct rig *r = rig_open(folder, sets[i]->name, kvs[i % 3], 2);
        if (!r) return;
        rig_ids(ids, TOKENS, VOCAB, 40 + (uint64_t)i);
        struct state *whole = rig_state(r);
        rig_all_logits(r, whole, ids, TOKENS, expected, NULL);
        int before = check_failures;
        for (int c = 0; c < (int)(sizeof checks / sizeof *checks); c++)
            if (all || i == n - 1 || (c + i + families) % 6 == 0) checks[c](r, whole);
        if (check_failures > before) printf("# with kernels %s, kv %d\n", sets[i]->name, kvs[i % 3]);
        state_free(whole);
        rig_close(r);
    }
}

TEST(mistral_window)
{
    check_family("mistral-window", true);
}

TEST(gpt2)
{
    check_family("gpt2", true);
}

TEST(qwen3moe)
{
    check_family("qwen3moe", true);
}

/* Layers with and without a window, norms of what is added, two bases of rotation. */
TEST(gemma3)
{
    check_family("gemma3", false);
}

/* Heads of two shapes, layers that share keys, inputs of layers; values made of keys, experts beside a dense network.
 */
TEST(gemma4)
{
    check_family("gemma4-e", false);
    check_family("gemma4-moe", false);
}

/* Sinks, biases of experts, a clamped SwiGLU. */
TEST(gpt_oss)
{
    check_family("gpt-oss", false);
}

/* Beyond the positions that it learned a model has none. */
TEST(learned_positions_end)
{
    char folder[FAMILY_ROOM];
    tdm_error err;
    if (!family_find("gpt2", folder)) return;
    struct rig *r = rig_open(folder, "scalar", KV_F32, 1);
    REQUIRE(r && r->weights->config.positions == 256);
    struct state *s = rig_state(r);
    rig_ids(ids, TOKENS, VOCAB, 1);
    rig_eval(r, s, ids, TOKENS, 50);
    rig_eval(r, s, ids, 56, 56);
    struct forward_run run = {.state = s, .tokens = ids, .n = 1, .logits = LOGITS_NONE};
    CHECK_INT(TDM_E_CONTEXT, forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
    CHECK_INT(256, s->length);
    state_free(s);
    rig_close(r);
}

TEST_MAIN(T(mistral_window), T(gpt2), T(qwen3moe), T(gemma3), T(gemma4), T(gpt_oss), T(learned_positions_end))
