/* A conversation that is left while it is answered goes on in the background, and each of the two has the bits that it
 * has alone, however they share passes; it is visited whole, and what happens to one leaves the other as it is. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;

enum { TOKENS = 24 };

/* What is compared of a conversation: its replies, one after the other. */
struct talked {
    uint64_t ids, logits;
    uint32_t tokens;
    char text[8192];
};

static void add(struct talked *a, const tdm_node *node)
{
    size_t n = strlen(a->text);
    if (node->role != TDM_ASSISTANT) return;
    a->ids = a->ids * 31 + node->stats.ids_hash;
    a->logits = a->logits * 31 + node->stats.logits_hash;
    a->tokens += node->stats.reply_tokens;
    snprintf(a->text + n, sizeof a->text - n, "[%.*s]", (int)node->length, node->text);
}

static struct talked talked_of(const tdm_chat *c, tdm_which_dialogue which)
{
    struct talked a = {0};
    int n = tdm_chat_nodes(c, which);
    for (int i = 1; i <= n; i++) {
        tdm_node node;
        if (tdm_chat_node(c, which, i, &node, &err)) {
            CHECK_FAIL("%s", err.text);
            continue;
        }
        add(&a, &node);
        tdm_node_free(&node);
    }
    return a;
}

static void check_same(const char *what, const struct talked *a, const struct talked *b)
{
    if (a->ids != b->ids || a->logits != b->logits || a->tokens != b->tokens || strcmp(a->text, b->text))
        CHECK_FAIL("%s differs:\n%s\n%s", what, a->text, b->text);
}

static void begin(struct talk *t, const char *text, int answers)
{
    if (tdm_chat_answers(t->chat, answers, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
}

static void say(struct talk *t, const char *text, int answers)
{
    int ended = t->n;
    begin(t, text, answers);
    talk_until(t, ended + answers);
}

/* Until so many tokens of the turn in front have come, in all answers; false: it has ended. */
static bool until_tokens(struct talk *t, uint32_t tokens)
{
    for (int still = 0; still < 300000; still++) {
        uint32_t there = 0;
        chat_lock(t->chat);
        bool writing = stage_phase(t->chat->front->stage) != PHASE_IDLE;
        for (int i = 0; i < t->chat->front->answers; i++)
            if (stage_phase(t->chat->front->stage) == PHASE_DECODE)
                there += t->chat->front->decoders[i]->stats.reply_tokens;
        chat_unlock(t->chat);
        if (!writing) return false;
        if (there >= tokens) return true;
        usleep(200);
    }
    CHECK_FAIL("no %u tokens came", tokens);
    return false;
}

static void until_background_ended(struct talk *t)
{
    tdm_back_status e;
    for (int still = 0; still < 60000; still++) {
        tdm_chat_back_of(t->chat, &e);
        talk_events(t);
        if (!e.writing) return;
        usleep(1000);
    }
    CHECK_FAIL("it goes on for ever");
}

/* Without a pace, from now on. */
static void hurry(struct talk *t, int max_tokens)
{
    tdm_chat_options o;
    tdm_chat_options_of(t->chat, &o);
    o.pace_tps = 0;
    o.max_tokens = max_tokens;
    CHECK(tdm_chat_configure(t->chat, &o, &err) == TDM_OK);
}

struct way {
    const char *kernels;
    int threads, mtp, answers_a, answers_b;
    tdm_pipeline pipeline;
    uint64_t seed;
};

static tdm_chat_options options_of(const struct way *w)
{
    tdm_chat_options o = talk_options(talk_model(w->kernels));
    o.max_tokens = TOKENS;
    o.sampling.seed = w->seed;
    o.sampling.presence_penalty = 0.3f;
    o.mtp = w->mtp;
    o.pipeline = w->pipeline;
    return o;
}

static const char first[] = "Tell me a short story about a dog.", second[] = "What is the capital of Peru?",
                  third[] = "And then?";

/* Both conversations alone, then the second one while the first is answered in the background, and a turn more in each.
 */
static void check_equal(const struct way *w)
{
    struct talk alone, t;
    struct talked a, b, found;
    if (!talk_model(w->kernels)) return;
    tdm_chat_options o = options_of(w);
    if (!talk_open(&alone, w->kernels, 1, &o)) return;
    say(&alone, first, w->answers_a);
    say(&alone, third, 1);
    a = talked_of(alone.chat, TDM_FRONT);
    tdm_chat_clear(alone.chat);
    say(&alone, second, w->answers_b);
    say(&alone, third, 1);
    b = talked_of(alone.chat, TDM_FRONT);
    talk_close(&alone);

    o.pace_tps = 30; /* so that it can be left */
    if (!talk_open(&t, w->kernels, w->threads, &o)) return;
    for (int tries = 0; !tries || (tries < 5 && err.code); tries++) {
        tdm_chat_clear(t.chat);
        begin(&t, first, w->answers_a);
        until_tokens(&t, (uint32_t)(1 + w->seed % 5));
        err.code = tdm_chat_leave(t.chat, &err);
    }
    CHECK_INT(TDM_OK, err.code);
    hurry(&t, TOKENS);
    talk_events(&t);
    CHECK_INT(0, tdm_chat_nodes(t.chat, TDM_FRONT));
    say(&t, second, w->answers_b);
    say(&t, third, 1);
    found = talked_of(t.chat, TDM_FRONT);
    check_same("the one in front", &b, &found);
    until_background_ended(&t);
    CHECK(tdm_chat_visit(t.chat, false, &err) == TDM_OK);
    talk_events(&t);
    say(&t, third, 1);
    found = talked_of(t.chat, TDM_FRONT);
    check_same("the one that was elsewhere", &a, &found);
    if (check_failures)
        CHECK_FAIL("kernels %s, seed %d, %d cores, mtp %d, %d and %d answers, %s", w->kernels ? w->kernels : "best",
                   (int)w->seed, w->threads, w->mtp, w->answers_a, w->answers_b, tdm_pipeline_name(w->pipeline));
    CHECK_STR("", t.errors);
    talk_close(&t);
}

/* In the short form three seeds with the best set, one with each of the others. */
TEST(both_are_what_they_would_be_alone)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    bool full = getenv("TANDEM_LONG");
    for (int i = 0; i < n && !check_failures; i++)
        for (uint64_t seed = 1; seed <= (full ? 20 : i == n - 1 ? 3 : 1) && !check_failures; seed++)
            check_equal(&(struct way){sets[i]->name, (int)(seed + (uint64_t)i) % 3, TDM_MTP_AUTO,
                                      1 + (int)(seed + 1) % 3, 1 + (int)(seed % 2) * 2, TDM_PIPE_TANDEM, seed});
}

TEST(with_drafts_and_in_other_pipelines)
{
    const char *before = talk_path;
    static const int mtp[] = {TDM_MTP_OFF, 2, TDM_MTP_MAX};
    for (int p = 0; p < TDM_PIPELINES && !check_failures; p++) {
        if (p == TDM_PIPE_SEQUENTIAL_SOLO || p == TDM_PIPE_BATCH_SOLO) continue; /* can't be left */
        check_equal(&(struct way){NULL, 0, TDM_MTP_AUTO, 2, 1, (tdm_pipeline)p, 5});
    }
    talk_path = talk_builtin; /* it has a head whose drafts are right */
    for (int i = 0; i < 3 && !check_failures; i++)
        check_equal(&(struct way){NULL, 2, mtp[i], 1, 1, TDM_PIPE_TANDEM, (uint64_t)i + 1});
    talk_path = "tests/goldens/gguf/tiny-d-q8_0.gguf";
    check_equal(&(struct way){NULL, 2, 3, 8, 2, TDM_PIPE_TANDEM, 3}); /* no room in one pass; experts */
    talk_path = before;
}

/* A chat whose reply of many tokens comes slowly enough to be left, and some of it is there. */
static bool begin_slowly(struct talk *t, int answers)
{
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.max_tokens = 200;
    o.pace_tps = 60;
    if (!talk_open(t, NULL, 0, &o)) return false;
    begin(t, first, answers);
    return until_tokens(t, 4);
}

/* The texts that events tell of each node, from the last time that its reply began. */
struct told {
    char text[4][4096];
    size_t n[4];
    int again, ended;
};

static void take(struct talk *t, struct told *told, tdm_which_dialogue which)
{
    tdm_event e;
    while (tdm_chat_next_event(t->chat, &e)) {
        if (e.dialogue != which || e.node < 1 || e.node > 4) continue;
        size_t *n = &told->n[e.node - 1];
        if (e.kind == TDM_EV_REPLY) *n = 0;
        if (e.kind == TDM_EV_REPLY) told->again += e.again;
        if (e.kind == TDM_EV_TEXT && !e.thinking && *n + e.length <= sizeof told->text[0]) {
            memcpy(told->text[e.node - 1] + *n, e.text, e.length);
            *n += e.length;
        }
        told->ended += e.kind == TDM_EV_END;
    }
}

TEST(one_that_is_visited_is_told_whole_and_followed)
{
    struct talk t;
    struct told told = {0};
    REQUIRE(begin_slowly(&t, 2)); /* nodes 2 and 3 */
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_OK);
    usleep(60000);
    CHECK(tdm_chat_visit(t.chat, false, &err) == TDM_OK);
    tdm_chat_status s;
    tdm_chat_status_of(t.chat, &s);
    CHECK_INT(2, s.writing);
    hurry(&t, 200);
    for (int i = 0; i < 60000 && told.ended < 2; i++) {
        take(&t, &told, TDM_FRONT);
        usleep(1000);
    }
    CHECK_INT(2, told.ended);
    CHECK_INT(2, told.again);
    for (int node = 2; node <= 3; node++) {
        tdm_node n;
        REQUIRE(tdm_chat_node(t.chat, TDM_FRONT, node, &n, &err) == TDM_OK);
        CHECK(n.length == told.n[node - 1] && !memcmp(n.text, told.text[node - 1], n.length));
        CHECK_INT(200, n.stats.reply_tokens);
        tdm_node_free(&n);
    }
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    tdm_chat_status_of(t.chat, &s);
    CHECK(s.target > 200);
    CHECK_INT(s.target, s.read);
    tdm_back_status e;
    tdm_chat_back_of(t.chat, &e);
    CHECK(!e.there);
    talk_close(&t);
}

TEST(both_are_answered_and_change_places)
{
    struct talk t;
    REQUIRE(begin_slowly(&t, 1));
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_OK);
    begin(&t, second, 1);
    until_tokens(&t, 2);
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_E_BUSY); /* one is enough */
    for (int i = 0; i < 5; i++) {
        tdm_node a, b;
        CHECK(tdm_chat_visit(t.chat, true, &err) == TDM_OK);
        REQUIRE(tdm_chat_node(t.chat, TDM_FRONT, 1, &a, &err) == TDM_OK);
        REQUIRE(tdm_chat_node(t.chat, TDM_BACK, 1, &b, &err) == TDM_OK);
        CHECK_STR(i % 2 ? second : first, a.text);
        CHECK_STR(i % 2 ? first : second, b.text);
        tdm_node_free(&a);
        tdm_node_free(&b);
        usleep(20000);
    }
    hurry(&t, 200);
    until_background_ended(&t);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    struct talked a = talked_of(t.chat, TDM_FRONT), b = talked_of(t.chat, TDM_BACK);
    CHECK_INT(200, a.tokens);
    CHECK_INT(200, b.tokens);
    talk_close(&t);
}

TEST(one_can_be_stopped_or_forgotten)
{
    struct talk t;
    tdm_back_status e;
    REQUIRE(begin_slowly(&t, 2));
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_OK);
    begin(&t, second, 1);
    tdm_chat_stop(t.chat, TDM_BACK);
    tdm_chat_back_of(t.chat, &e);
    CHECK(e.there);
    CHECK_INT(0, e.writing);
    CHECK_INT(TDM_FINISH_STOPPED, e.finish);
    CHECK_INT(3, tdm_chat_nodes(t.chat, TDM_BACK));
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_E_BUSY); /* answered, and not visited */
    tdm_chat_forget(t.chat);
    CHECK_INT(0, tdm_chat_nodes(t.chat, TDM_BACK));
    CHECK(tdm_chat_visit(t.chat, false, &err) == TDM_E_NOT_FOUND);
    until_tokens(&t, 2);
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_OK);
    tdm_chat_forget(t.chat); /* while it is written */
    hurry(&t, 5);
    say(&t, third, 3);
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST(a_stopped_one_goes_on_when_it_is_visited)
{
    struct talk t, whole;
    REQUIRE(begin_slowly(&t, 1));
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_OK);
    tdm_chat_stop(t.chat, TDM_BACK);
    CHECK(tdm_chat_visit(t.chat, false, &err) == TDM_OK);
    struct talked cut = talked_of(t.chat, TDM_FRONT);
    CHECK(cut.tokens >= 4 && cut.tokens < 200);
    hurry(&t, 200 - (int)cut.tokens);
    CHECK(tdm_chat_continue(t.chat, &err) == TDM_OK);
    talk_events(&t);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.max_tokens = 200;
    REQUIRE(talk_open(&whole, NULL, 0, &o));
    say(&whole, first, 1);
    struct talked all = talked_of(whole.chat, TDM_FRONT);
    talk_close(&whole);
    cut = talked_of(t.chat, TDM_FRONT);
    CHECK_STR(all.text, cut.text);
    talk_close(&t);
}

/* A queued message belongs to neither dialogue: it is dropped, and an event says so. */
TEST(a_queued_message_is_dropped_and_told)
{
    struct talk t;
    REQUIRE(begin_slowly(&t, 1));
    for (int visits = 0; visits < 2; visits++) {
        tdm_event e;
        int dropped = 0;
        if (visits) begin(&t, second, 1);
        until_tokens(&t, 1);
        CHECK(tdm_chat_send(t.chat, "queued", 6, clock_ns(), &err) == TDM_OK);
        CHECK(visits ? tdm_chat_visit(t.chat, false, &err) == TDM_OK : tdm_chat_leave(t.chat, &err) == TDM_OK);
        while (tdm_chat_next_event(t.chat, &e)) dropped += e.kind == TDM_EV_UNQUEUED;
        CHECK_INT(1, dropped);
        CHECK(!tdm_chat_unqueue(t.chat));
    }
    talk_close(&t);
}

TEST(what_can_not_be_left_is_refused)
{
    struct talk t;
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.max_tokens = 100;
    o.pace_tps = 60;
    REQUIRE(talk_open(&t, NULL, 0, &o));
    tdm_back_status now;
    tdm_chat_back_of(t.chat, &now);
    CHECK(now.possible);
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_E_BUSY);
    CHECK(tdm_chat_visit(t.chat, false, &err) == TDM_E_NOT_FOUND);
    tdm_chat_stop(t.chat, TDM_BACK);
    tdm_chat_forget(t.chat);
    o.pipeline = TDM_PIPE_BATCH_SOLO;
    CHECK(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    begin(&t, first, 1);
    until_tokens(&t, 2);
    tdm_chat_back_of(t.chat, &now);
    CHECK(!now.possible && !now.there);
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_E_UNSUPPORTED);
    CHECK_INT(2, tdm_chat_nodes(t.chat, TDM_FRONT));
    tdm_chat_stop(t.chat, TDM_FRONT);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    talk_close(&t);
}

/* One that is in the background rests while a pipeline has the prefill unit decode in front, and goes on after it. */
TEST(it_rests_beside_a_pipeline_of_the_other_unit)
{
    struct talk t;
    tdm_back_status now;
    REQUIRE(begin_slowly(&t, 1));
    tdm_chat_back_of(t.chat, &now);
    CHECK(now.possible && !now.prompts);
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_OK);
    tdm_chat_options o;
    tdm_chat_options_of(t.chat, &o);
    o.pipeline = TDM_PIPE_SEQUENTIAL_SOLO;
    o.pace_tps = 0;
    o.max_tokens = 20;
    CHECK(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    begin(&t, second, 1);
    until_background_ended(&t);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    struct talked a = talked_of(t.chat, TDM_FRONT), b = talked_of(t.chat, TDM_BACK);
    CHECK_INT(20, a.tokens);
    CHECK_INT(200, b.tokens);
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST(the_context_of_one_fills_and_the_other_goes_on)
{
    struct talk t;
    tdm_back_status e;
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.context = 96;
    o.max_tokens = 0;
    o.pace_tps = 200;
    REQUIRE(talk_open(&t, NULL, 0, &o));
    begin(&t, first, 1);
    until_tokens(&t, 3);
    CHECK(tdm_chat_leave(t.chat, &err) == TDM_OK);
    until_background_ended(&t);
    tdm_chat_back_of(t.chat, &e);
    CHECK_INT(TDM_FINISH_CONTEXT, e.finish);
    hurry(&t, 5);
    say(&t, second, 1);
    CHECK_STR("", t.errors);
    talk_close(&t);
}

/* Whatever is done in whatever order, nothing is lost or mixed up. */
TEST(any_order_of_things)
{
    uint64_t draw = 11;
    struct talk t;
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.max_tokens = 30;
    REQUIRE(talk_open(&t, NULL, 0, &o));
    for (int i = 0; i < (getenv("TANDEM_LONG") ? 2000 : 200); i++) {
        switch (talk_draw(&draw, 9)) {
        case 0:
        case 1: tdm_chat_send(t.chat, first, sizeof first - 1, clock_ns(), &err); break;
        case 2: tdm_chat_answers(t.chat, 3, second, sizeof second - 1, clock_ns(), &err); break;
        case 3:
        case 4: tdm_chat_leave(t.chat, &err); break;
        case 5: tdm_chat_visit(t.chat, talk_draw(&draw, 2), &err); break;
        case 6:
            tdm_chat_stop(t.chat, TDM_FRONT);
            break;
        case 7:
            tdm_chat_stop(t.chat, TDM_BACK);
            break;
        default:
            tdm_chat_forget(t.chat);
            break;
        }
        usleep(talk_draw(&draw, 3) * 1500);
        talk_events(&t);
        if (tdm_chat_nodes(t.chat, TDM_FRONT) > 8) tdm_chat_clear(t.chat); /* there is room for what is queued */
    }
    tdm_chat_stop(t.chat, TDM_BACK);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST_MAIN(T(both_are_what_they_would_be_alone), T(with_drafts_and_in_other_pipelines),
          T(one_that_is_visited_is_told_whole_and_followed), T(both_are_answered_and_change_places),
          T(one_can_be_stopped_or_forgotten), T(a_stopped_one_goes_on_when_it_is_visited),
          T(a_queued_message_is_dropped_and_told), T(what_can_not_be_left_is_refused),
          T(it_rests_beside_a_pipeline_of_the_other_unit), T(the_context_of_one_fills_and_the_other_goes_on),
          T(any_order_of_things))
