/* What the follower does next, by hand-made targets. */
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/pretend.h"

#include "engine/chat/reader/follower.h"

enum { DISPATCH = 32, LONGEST = 300 };

static struct follower follower;
static tdm_id ids[LONGEST];
static uint32_t turns[4];

/* A follower of a model of the goldens that has read `length` of the ids. */
static bool open_on(const char *model, uint32_t length, uint32_t dispatch)
{
    static struct rig *rig;
    static struct backend_model place;
    static const char *opened;
    struct evaluator *evaluator;
    struct evaluator_form form = {.max_tokens = dispatch, .max_runs = 1, .max_members = 1, .context = RIG_CONTEXT};
    struct checkpoints *checkpoints;
    tdm_error err;
    if (opened != model) {
        rig_close(rig);
        rig = rig_open(model, NULL, KV_F16, 1);
        opened = model;
    }
    if (!rig || checkpoints_new(&checkpoints, 1 << 20, &err)) return false;
    place = backend_on_cpu(rig->weights);
    if (evaluator_new(&evaluator, &place, &form, &err)) return false;
    struct state *s = rig_state(rig);
    for (int i = 0; i < LONGEST; i++) ids[i] = i % 512;
    rig_all_logits(rig, s, ids, length, NULL, NULL);
    if (follower_init(&follower, evaluator, s, checkpoints, dispatch, &err)) return false;
    memcpy(follower.path, ids, length * sizeof *ids);
    follower.length = length;
    return true;
}

static bool open_at(uint32_t length)
{
    static const char model[] = "tests/goldens/tiny-a";
    return open_on(model, length, DISPATCH);
}

/* The same of a mixture, with the dispatch that its chats have. */
static bool open_mixture(uint32_t length)
{
    static const char model[] = "tests/goldens/tiny-d";
    return open_on(model, length, 512);
}

static struct target target(uint32_t n, uint32_t history, uint32_t turn)
{
    turns[0] = turn;
    return (struct target){
        .ids = ids, .n = n, .history = history, .draft = history, .turns = turns, .n_turns = turn > 0};
}

static void check_plan(uint32_t from, uint32_t n)
{
    CHECK_INT(from, follower.plan.from);
    CHECK_INT(n, follower.plan.n);
    follower.plan.active = false;
    follower.length = from;
}

TEST(waits_for_a_full_dispatch_while_a_reply_decodes)
{
    REQUIRE(open_at(60));
    struct target t = target(91, 91, 0);
    CHECK(!follower_plan(&follower, &t, true, false));
    CHECK(follower_plan(&follower, &t, false, false));
    check_plan(60, 31);
    t = target(92, 92, 0);
    CHECK(follower_plan(&follower, &t, true, false));
    check_plan(60, 32);
    follower_free(&follower);
}

/* An earlier turn that begins within the next dispatch is worth a checkpoint, so the dispatch ends there; that it is
 * not full then must not keep the follower from reading on for the rest of the reply. */
TEST(a_turn_within_the_dispatch_holds_nothing_up)
{
    REQUIRE(open_at(60));
    struct target t = target(140, 140, 85);
    CHECK(follower_plan(&follower, &t, true, false));
    check_plan(60, 25);
    t = target(91, 91, 85);
    CHECK(!follower_plan(&follower, &t, true, false));
    t = target(140, 140, 70); /* too near to be worth a dispatch of its own */
    CHECK(follower_plan(&follower, &t, true, false));
    check_plan(60, 32);
    follower_free(&follower);
}

/* Somebody waits for the end of a prompt of which 33 to 64 tokens are left: two dispatches. */
TEST(the_last_dispatch_begins_with_the_suffix)
{
    enum { SUFFIX = 9 };
    for (uint32_t left = 33; left <= 64; left++) {
        REQUIRE(open_at(60));
        struct target t = target(60 + left, 60, 60);
        t.draft = t.n - SUFFIX;
        t.complete = true;
        CHECK(follower_plan(&follower, &t, false, true));
        uint32_t first = left < 32 + SUFFIX ? left - SUFFIX : 32;
        check_plan(60, first);
        follower_free(&follower);
    }
    REQUIRE(open_at(60));
    struct target t = target(92, 60, 60); /* one dispatch is not made two */
    t.draft = t.n - SUFFIX;
    t.complete = true;
    CHECK(follower_plan(&follower, &t, false, true));
    check_plan(60, 32);
    t = target(100, 60, 60); /* a suffix that is no dispatch's */
    t.draft = 62;
    t.complete = true;
    CHECK(follower_plan(&follower, &t, false, true));
    check_plan(60, 32);
    follower_free(&follower);
}

/* Enter comes while a short dispatch of the draft runs: is it given up, so that its tokens join the suffix's? */
static bool gives_up(uint32_t tokens, uint32_t rest, int64_t elapsed_ms)
{
    enum { MS = 1000000 };
    if (!open_at(60)) return false;
    struct target t = target(60 + tokens, 60, 60);
    CHECK(follower_plan(&follower, &t, false, false));
    follower.plan.keep_before = true; /* it can go back to its start */
    follower.figures.short_ns = 40 * MS;
    t = target(60 + tokens + rest, 60, 60);
    t.complete = true;
    follower_expedite(&follower, &t, follower.plan.start_ns + elapsed_ms * MS);
    bool cancelled = atomic_load(&follower.cancel);
    follower.plan.active = false;
    follower_free(&follower);
    return cancelled;
}

TEST(enter_gives_a_short_dispatch_up_while_that_pays)
{
    CHECK(gives_up(1, 12, 0));
    CHECK(gives_up(1, 12, 30));  /* 10 ms left, 5 to join */
    CHECK(!gives_up(1, 12, 36)); /* 4 ms left */
    CHECK(!gives_up(1, 12, 90)); /* slower than the last one: what is left is not known */
    CHECK(gives_up(4, 12, 20));
    CHECK(!gives_up(4, 12, 30));
    CHECK(!gives_up(9, 12, 0));  /* not short */
    CHECK(!gives_up(2, 31, 0));  /* does not fit */
    CHECK(!gives_up(2, 0, 0));   /* is the end itself */
}

/* Fewer tokens would touch nearly as many experts. */
TEST(dispatches_of_a_mixture_are_long)
{
    REQUIRE(open_mixture(60));
    struct target t = target(187, 187, 0);
    CHECK(!follower_plan(&follower, &t, true, false)); /* 127 tokens, while a reply decodes */
    t = target(300, 300, 0);
    CHECK(follower_plan(&follower, &t, true, false));
    check_plan(60, 128);
    CHECK(follower_plan(&follower, &t, false, false));
    check_plan(60, 240);
    follower_free(&follower);
    REQUIRE(open_mixture(60));
    follower_set_dispatch(&follower, 100);
    CHECK(follower_plan(&follower, &t, true, false));
    check_plan(60, 100);
    follower_free(&follower);
}

/* With experts a dispatch of more tokens is short, and joining another costs what it reads in addition. */
TEST(what_is_short_comes_from_the_bytes_that_are_read)
{
    enum { MS = 1000000 };
    static const struct {
        uint32_t tokens, rest;
        int64_t elapsed_ms;
        bool gives_up;
    } cases[] = {
        {1, 200, 0, true},   {1, 200, 37, false}, {12, 200, 0, true},  {12, 200, 30, false},
        {40, 200, 0, false}, {1, 1, 30, false},   {1, 200, 30, true},   {12, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t tokens = cases[i].tokens, start = 60;
        REQUIRE(open_mixture(start));
        struct target t = target(start + tokens, start, start);
        CHECK(follower_plan(&follower, &t, false, false));
        follower.plan.keep_before = true;
        follower.figures.short_ns = 40 * MS;
        follower.figures.short_n = tokens;
        t = target(start + tokens + cases[i].rest, start, start);
        t.complete = true;
        follower_expedite(&follower, &t, follower.plan.start_ns + cases[i].elapsed_ms * MS);
        if (atomic_load(&follower.cancel) != cases[i].gives_up)
            CHECK_FAIL("%u tokens, %u more, after %d ms: expected %d", tokens, cases[i].rest, (int)cases[i].elapsed_ms,
                       cases[i].gives_up);
        follower.plan.active = false;
        follower_free(&follower);
    }
}

/* The suffix is read during a rest, and kept with its logits; unless Enter comes meanwhile. */
TEST(no_checkpoint_is_made_while_somebody_waits)
{
    for (int entered = 0; entered < 2; entered++) {
        REQUIRE(open_at(60));
        struct activity *activity = activity_new();
        struct team team;
        team_solo(&team);
        REQUIRE(activity != NULL);
        struct target t = target(80, 60, 60);
        t.draft = 71;
        t.complete = true;
        CHECK(follower_plan(&follower, &t, false, false));
        if (entered) follower_expedite(&follower, &t, follower.plan.start_ns);
        struct activity_span span = {0};
        tdm_error err;
        CHECK_INT(TDM_OK, follower_perform(&follower, &team, activity, &span, &err));
        follower_done(&follower, TDM_OK, 1);
        CHECK(follower_is_ready(&follower, &t));
        /* There is the one before the suffix's dispatch, and the one at its end. */
        CHECK_INT(entered ? 1 : 2, follower.kept.count);
        follower_free(&follower);
        activity_free(activity);
    }
}

/* A state without recurrent layers goes back by itself; what a checkpoint has of the target is taken up where it is
 * more. */
TEST(cuts_what_can_be_cut)
{
    struct pool *pool = pretend_pool(KV_F16, false);
    struct state *s, *kept;
    struct activity *activity = activity_new();
    struct activity_span span = {0};
    tdm_error err;
    REQUIRE(open_at(1) && activity);
    REQUIRE(!state_new(&s, pool, &err) && !state_new(&kept, pool, &err));
    state_free(follower.state);
    follower.state = s;
    for (int i = 0; i < LONGEST; i++) ids[i] = i % 512;
    pretend_grow(s, ids, 100);
    memcpy(follower.path, ids, 100 * sizeof *ids);
    follower.length = 100;
    ids[70] = 500;
    struct target t = target(150, 150, 0);
    CHECK_INT(70, follower_reachable(&follower, &t));
    CHECK(follower_plan(&follower, &t, false, false) && !follower.plan.restore && !follower.plan.clear);
    CHECK_INT(70, follower.plan.from);
    follower.plan.active = false;
    follower.length = 100;
    memcpy(follower.path, s->tokens, 100 * sizeof *ids);
    t = target(60, 60, 0); /* the logits of its last token are wanted */
    t.complete = true;
    CHECK_INT(60, follower_reachable(&follower, &t));
    CHECK_INT(59, follower_begins_at(&follower, &t));
    CHECK(follower_plan(&follower, &t, false, false) && !follower.plan.restore);
    check_plan(59, 1);

    /* A checkpoint has more of it, and more than that. */
    follower.usable = false;
    pretend_grow(kept, ids, 90);
    CHECK_INT(TDM_OK, checkpoints_add(follower.checkpoints, kept, CHECKPOINT_TURN, NULL, &err));
    t = target(80, 80, 0);
    CHECK_INT(80, follower_reachable(&follower, &t));
    CHECK_INT(80, follower_begins_at(&follower, &t));
    CHECK(follower_plan(&follower, &t, false, false) && follower.plan.restore);
    CHECK_INT(0, follower.plan.n);
    CHECK_INT(TDM_OK, follower_perform(&follower, NULL, activity, &span, &err));
    follower_done(&follower, TDM_OK, 1);
    CHECK(follower.usable && follower.length == 80 && s->length == 80 && pretend_holds(s, 0));
    state_free(kept);
    activity_free(activity);
    follower_free(&follower);
    pool_free(pool);
}

TEST_MAIN(T(waits_for_a_full_dispatch_while_a_reply_decodes), T(a_turn_within_the_dispatch_holds_nothing_up),
          T(the_last_dispatch_begins_with_the_suffix), T(enter_gives_a_short_dispatch_up_while_that_pays),
          T(dispatches_of_a_mixture_are_long), T(what_is_short_comes_from_the_bytes_that_are_read),
          T(no_checkpoint_is_made_while_somebody_waits), T(cuts_what_can_be_cut))
