/* Several answers at once: each is what it would be alone, bit for bit, whatever happens to the others; they share the
 * prompt's pages; the follower follows the one that is looked at. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;

enum { TOKENS = 14 };

/* What is compared of a reply. */
struct answer {
    uint64_t ids, logits;
    uint32_t tokens;
    char text[2048];
};

static struct answer answer_of(tdm_chat *c, int node)
{
    struct answer a = {0};
    tdm_node found;
    if (tdm_chat_node(c, TDM_FRONT, node, &found, &err)) {
        CHECK_FAIL("%s", err.text);
        return a;
    }
    a = (struct answer){found.stats.ids_hash, found.stats.logits_hash, found.stats.reply_tokens, ""};
    snprintf(a.text, sizeof a.text, "%.*s", (int)found.length, found.text);
    tdm_node_free(&found);
    return a;
}

static bool same(const struct answer *a, const struct answer *b)
{
    return a->ids == b->ids && a->logits == b->logits && a->tokens == b->tokens && !strcmp(a->text, b->text);
}

static void send(struct talk *t, const char *text, int answers)
{
    int ended = t->n;
    if (tdm_chat_answers(t->chat, answers, text, text ? strlen(text) : 0, clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    talk_until(t, ended + answers);
}

/* The short form under a sanitizer: the best set alone, fewer answers and families, shorter replies. */
static bool few(void)
{
    return check_slow() && !getenv("TANDEM_LONG");
}

static tdm_chat_options sampled(const tdm_model *m, uint64_t seed)
{
    tdm_chat_options o = talk_options(m);
    o.max_tokens = few() ? TOKENS / 2 : TOKENS;
    o.sampling.seed = seed;
    o.sampling.presence_penalty = 0.3f;
    o.sampling.frequency_penalty = 0.2f;
    return o;
}

/* What n answers are one by one, behind a turn, and at [n] the reply to a message behind the chosen one; their nodes.
 * False: there is no such model. */
static bool one_by_one(const char *kernels, uint64_t seed, int n, struct answer *expected, int *first_node, int *chosen)
{
    const tdm_model *m = talk_model(kernels);
    struct talk alone;
    if (!m) return false;
    tdm_chat_options o = sampled(m, seed);
    if (!talk_open(&alone, kernels, 1, &o)) return false;
    send(&alone, "Hello, what is this?", 1);
    send(&alone, "And how does it work?", 1);
    int first = tdm_chat_nodes(alone.chat, TDM_FRONT);
    for (int i = 1; i < n; i++) {
        CHECK(tdm_chat_regenerate(alone.chat, clock_ns(), &err) == TDM_OK);
        talk_until(&alone, 2 + i);
    }
    for (int i = 0; i < n; i++) expected[i] = answer_of(alone.chat, first + i);
    *first_node = first;
    *chosen = first + (int)(seed % (uint64_t)n);
    CHECK(tdm_chat_select(alone.chat, *chosen, &err) == TDM_OK);
    send(&alone, "Why?", 1);
    expected[n] = answer_of(alone.chat, tdm_chat_nodes(alone.chat, TDM_FRONT));
    talk_close(&alone);
    return true;
}

/* The same at once. */
static void check_together(const char *kernels, uint64_t seed, int n, tdm_pipeline pipeline,
                           const struct answer *expected, int first, int chosen)
{
    struct talk together;
    tdm_chat_options o = sampled(talk_model(kernels), seed);
    o.pipeline = pipeline;
    if (!talk_open(&together, kernels, 0, &o)) return;
    send(&together, "Hello, what is this?", 1);
    send(&together, "And how does it work?", n);
    CHECK_INT(first + n - 1, tdm_chat_nodes(together.chat, TDM_FRONT));
    for (int i = 0; i < n; i++) {
        struct answer a = answer_of(together.chat, first + i);
        if (!same(&expected[i], &a))
            CHECK_FAIL("%s, seed %d: answer %d of %d differs:\n%s\n%s", kernels, (int)seed, i + 1, n, expected[i].text,
                       a.text);
    }
    CHECK(tdm_chat_select(together.chat, chosen, &err) == TDM_OK);
    send(&together, "Why?", 1);
    struct answer next = answer_of(together.chat, tdm_chat_nodes(together.chat, TDM_FRONT));
    CHECK(same(&expected[n], &next));
    CHECK_STR("", together.errors);
    talk_close(&together);
}

/* A turn before, n answers, then a turn after the one that is chosen: at once, in these pipelines, the same as one by
 * one. */
static void check_equal(const char *kernels, uint64_t seed, int n, tdm_pipeline from, tdm_pipeline to)
{
    struct answer expected[TDM_ANSWERS_MAX + 1];
    int first, chosen;
    if (!one_by_one(kernels, seed, n, expected, &first, &chosen)) return;
    for (int p = (int)from; p <= (int)to && !check_failures; p++)
        check_together(kernels, seed, n, (tdm_pipeline)p, expected, first, chosen);
}

TEST(each_is_what_it_would_be_alone)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    uint64_t seeds = getenv("TANDEM_LONG") ? 20 : few() ? 1 : 2;
    for (int i = few() ? n - 1 : 0; i < n && !check_failures; i++)
        for (uint64_t seed = 1; seed <= seeds && !check_failures; seed++)
            check_equal(sets[i]->name, seed, 2 + (int)((seed * 5 + (uint64_t)i) % 7), TDM_PIPE_TANDEM, TDM_PIPE_TANDEM);
    check_equal(NULL, 3, few() ? 2 : 3, (tdm_pipeline)0, (tdm_pipeline)(TDM_PIPELINES - 1));
}

TEST(each_is_what_it_would_be_alone_with_experts)
{
    const char *before = talk_path;
    talk_path = "tests/goldens/gguf/tiny-d-q8_0.gguf";
    for (uint64_t seed = 1; seed <= (few() ? 1 : 2) && !check_failures; seed++)
        check_equal(NULL, seed, 8, TDM_PIPE_TANDEM, TDM_PIPE_TANDEM);
    talk_path = before;
}

/* Windows that the answers pass, each for itself. */
TEST(each_is_what_it_would_be_alone_with_windows)
{
    static const char *const families[] = {"mistral-window", "gemma3", "gpt-oss", "gemma4-e"};
    const char *before = talk_path;
    for (int i = 0; i < 4 && !check_failures; i += few() ? 3 : 1)
        if (talk_family(families[i]))
            check_equal(NULL, (uint64_t)i + 1, few() ? 2 : 3 + i, TDM_PIPE_TANDEM, TDM_PIPE_TANDEM);
    talk_path = before;
}

/* Takes events until a text of this node has come. */
static void until_text(struct talk *t, int node)
{
    for (int still = 0; still < 2000; still++) {
        tdm_node n;
        if (tdm_chat_node(t->chat, TDM_FRONT, node, &n, &err) == TDM_OK) {
            size_t length = n.length;
            tdm_node_free(&n);
            if (length) return;
        }
        usleep(5000);
    }
    CHECK_FAIL("no text of message %d", node);
}

/* A chat that writes three long answers, nodes 2, 3 and 4, slowly enough to be caught in it. */
static bool begin_three(struct talk *t, double pace, int tokens)
{
    tdm_chat_options o = sampled(talk_model(NULL), 5);
    o.max_tokens = tokens;
    o.pace_tps = pace;
    if (!talk_open(t, NULL, 0, &o)) return false;
    CHECK(tdm_chat_answers(t->chat, 3, "Which one?", 10, clock_ns(), &err) == TDM_OK);
    until_text(t, 4);
    return true;
}

TEST(the_prompts_pages_are_shared)
{
    struct talk t;
    tdm_chat_options o = sampled(talk_model(NULL), 5);
    REQUIRE(talk_open(&t, NULL, 0, &o));
    static char text[400];
    memset(text, 'x', sizeof text);
    CHECK(tdm_chat_answers(t.chat, 4, text, sizeof text, clock_ns(), &err) == TDM_OK);
    talk_until(&t, 4);
    struct decoder *const *d = t.chat->front->decoders;
    uint32_t full = d[0]->prompt / KV_PAGE;
    CHECK(full > 0);
    for (int i = 1; i < 4; i++)
        for (uint32_t p = 0; p < full; p++) CHECK(d[i]->state->pages[p] == d[0]->state->pages[p]);
    talk_close(&t);
}

TEST(one_is_stopped_and_the_others_go_on)
{
    struct talk t, whole;
    REQUIRE(begin_three(&t, 60, 300));
    tdm_chat_stop_answer(t.chat, 3);
    tdm_chat_stop_answer(t.chat, 3); /* it has ended: nothing happens */
    talk_until(&t, 1);
    tdm_chat_status s;
    tdm_chat_status_of(t.chat, &s);
    CHECK_INT(3, s.answers);
    CHECK_INT(2, s.writing);
    CHECK(s.phase == TDM_PHASE_ANSWERING || s.phase == TDM_PHASE_THINKING);
    CHECK_INT(TDM_FINISH_STOPPED, t.turns[0].finish);
    tdm_chat_options o;
    tdm_chat_options_of(t.chat, &o);
    o.pace_tps = 0;
    CHECK(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    talk_until(&t, 3);
    struct answer cut = answer_of(t.chat, 3), other = answer_of(t.chat, 4);
    CHECK(cut.tokens > 0 && cut.tokens < 300);
    CHECK_INT(300, other.tokens);

    REQUIRE(talk_open(&whole, NULL, 0, &o));
    send(&whole, "Which one?", 3);
    struct answer a = answer_of(whole.chat, 3), b = answer_of(whole.chat, 4);
    talk_close(&whole); /* it had the machine */
    CHECK(same(&other, &b));
    size_t n = strlen(cut.text);
    CHECK(n < strlen(a.text) && !memcmp(a.text, cut.text, n > 4 ? n - 4 : 0)); /* its last character may be cut */
    /* It goes on where it stopped. */
    CHECK(tdm_chat_select(t.chat, 3, &err) == TDM_OK);
    o.max_tokens = 300 - (int)cut.tokens;
    CHECK(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    CHECK(tdm_chat_continue(t.chat, &err) == TDM_OK);
    talk_until(&t, 4);
    cut = answer_of(t.chat, 3);
    CHECK_STR(a.text, cut.text);
    talk_close(&t);
}

TEST(the_one_that_is_looked_at_is_replied_to)
{
    struct talk t;
    REQUIRE(begin_three(&t, 60, 300));
    int path[8];
    CHECK_INT(2, tdm_chat_path(t.chat, TDM_FRONT, path, 8));
    CHECK_INT(2, path[1]);
    CHECK(tdm_chat_select(t.chat, 1, &err) == TDM_E_BUSY); /* none of them */
    CHECK(tdm_chat_select(t.chat, 4, &err) == TDM_OK);
    tdm_chat_status s;
    tdm_chat_status_of(t.chat, &s);
    CHECK_INT(3, s.answer);
    CHECK(tdm_chat_send(t.chat, "More?", 5, clock_ns(), &err) == TDM_OK); /* queued */
    CHECK(tdm_chat_answers(t.chat, 2, NULL, 0, clock_ns(), &err) == TDM_E_BUSY);
    tdm_chat_send_now(t.chat, clock_ns());
    CHECK(tdm_chat_path(t.chat, TDM_FRONT, path, 8) >= 3);
    CHECK_INT(4, path[1]);
    tdm_chat_stop(t.chat, TDM_FRONT);
    talk_until(&t, 4);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST(what_waits_for_a_reply_gets_its_answers)
{
    struct talk t;
    REQUIRE(begin_three(&t, 60, 300));
    CHECK(tdm_chat_answers(t.chat, 4, "And which?", 10, clock_ns(), &err) == TDM_OK);
    CHECK(tdm_chat_send(t.chat, "Say.", 4, clock_ns(), &err) == TDM_OK); /* joins it */
    tdm_chat_options o;
    tdm_chat_options_of(t.chat, &o);
    o.pace_tps = 0;
    o.max_tokens = 5;
    CHECK(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    tdm_chat_stop(t.chat, TDM_FRONT);
    talk_until(&t, 3 + 4);
    CHECK_INT(4 + 1 + 4, tdm_chat_nodes(t.chat, TDM_FRONT));
    tdm_node node;
    REQUIRE(tdm_chat_node(t.chat, TDM_FRONT, 5, &node, &err) == TDM_OK);
    CHECK_STR("And which?\nSay.", node.text);
    tdm_node_free(&node);
    send(&t, "One.", 1);
    CHECK_INT(11, tdm_chat_nodes(t.chat, TDM_FRONT)); /* the next one is a message like any other */
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST(the_one_that_is_looked_at_is_followed)
{
    struct talk t;
    REQUIRE(begin_three(&t, 0, 300));
    CHECK(tdm_chat_select(t.chat, 3, &err) == TDM_OK);
    talk_until(&t, 3);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    tdm_chat_status s;
    tdm_chat_status_of(t.chat, &s);
    CHECK_INT(s.target, s.read);
    chat_lock(t.chat);
    const struct decoder *d = t.chat->front->decoder;
    CHECK_INT(3, d->node);
    CHECK(target_common_prefix(&t.chat->reader.target, d->state->tokens, d->state->length) >= d->prompt - 8);
    chat_unlock(t.chat);
    talk_close(&t);
}

static bool prompt_is_read_now(const tdm_chat *c)
{
    chat_lock(c);
    bool now = stage_uses_prompter(c->front->stage);
    chat_unlock(c);
    return now;
}

/* What the job of a cold prompt uses is not what a user changes meanwhile; the thread sanitizer would tell. */
TEST(another_is_looked_at_while_a_cold_prompt_is_read)
{
    struct talk t;
    REQUIRE(begin_three(&t, 0, few() ? 60 : 300));
    talk_until(&t, 3);
    CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    for (int i = 0; i < (few() ? 4 : 8); i++) {
        CHECK(tdm_chat_cold(t.chat, TDM_PIPE_SINGLE, &err) == TDM_OK);
        while (!prompt_is_read_now(t.chat) && !tdm_chat_wait_idle(t.chat, 0)) usleep(50); /* or it has been read */
        for (int node = 2; node <= 4; node++) CHECK(tdm_chat_select(t.chat, node, &err) == TDM_OK);
        CHECK(tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS));
    }
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST(what_can_not_be_answered_is_refused)
{
    struct talk t;
    REQUIRE(talk_open(&t, NULL, 0, NULL));
    CHECK(tdm_chat_answers(t.chat, 3, NULL, 0, clock_ns(), &err) == TDM_E_NOT_FOUND);
    CHECK(tdm_chat_answers(t.chat, 0, "a", 1, clock_ns(), &err) == TDM_E_ARG);
    CHECK(tdm_chat_answers(t.chat, TDM_ANSWERS_MAX + 1, "a", 1, clock_ns(), &err) == TDM_E_ARG);
    CHECK_INT(0, tdm_chat_nodes(t.chat, TDM_FRONT));
    send(&t, "One token", 1);
    tdm_chat_options o;
    tdm_chat_options_of(t.chat, &o);
    o.max_tokens = 1; /* all end with the token that makes them */
    CHECK(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    send(&t, NULL, 8);
    CHECK_INT(10, tdm_chat_nodes(t.chat, TDM_FRONT));
    CHECK(tdm_chat_answers(t.chat, 2, "and closed at once", 18, clock_ns(), &err) == TDM_OK);
    talk_close(&t);
}

TEST_MAIN(T(each_is_what_it_would_be_alone), T(each_is_what_it_would_be_alone_with_experts),
          T(each_is_what_it_would_be_alone_with_windows), T(the_prompts_pages_are_shared),
          T(one_is_stopped_and_the_others_go_on), T(the_one_that_is_looked_at_is_replied_to),
          T(what_waits_for_a_reply_gets_its_answers), T(the_one_that_is_looked_at_is_followed),
          T(another_is_looked_at_while_a_cold_prompt_is_read), T(what_can_not_be_answered_is_refused))
