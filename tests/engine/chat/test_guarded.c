/* A reply that only repeats itself ends at the same token however it was made: with drafts, several answers, any level
 * of speculation, pipeline, dispatch and number of threads. The model's weights are made up; the penalties let it say
 * what it has said. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/base/fnv.h"
#include "engine/chat/policy/guard.h"
#include "tests/engine/chat/talk.h"

enum { REPLIES = 3 };

static tdm_error err;

/* The replies of a conversation in the order of their nodes. */
struct outcome {
    struct one {
        tdm_finish finish;
        uint32_t tokens;
        uint64_t ids, logits, text;
    } reply[REPLIES];
    int n;
};

static tdm_chat_options guarded(const tdm_model *m, uint64_t seed)
{
    tdm_chat_options o = talk_options(m);
    o.context = 4096;
    o.max_tokens = 0;
    o.ignore_eos = false;
    o.loop_guard = true;
    o.mtp = TDM_MTP_OFF;
    o.sampling = (tdm_sampling){.temperature = seed ? 0.5f : 0, .top_p = 1, .repeat_penalty = 1,
                                .presence_penalty = -10, .seed = seed};
    return o;
}

static void collect(struct talk *t, struct outcome *out)
{
    *out = (struct outcome){0};
    for (int i = 1; i <= tdm_chat_nodes(t->chat, TDM_FRONT); i++) {
        tdm_node node;
        if (tdm_chat_node(t->chat, TDM_FRONT, i, &node, &err)) CHECK_FAIL("%s", err.text);
        if (node.role == TDM_ASSISTANT && out->n < REPLIES)
            out->reply[out->n++] = (struct one){node.finish, node.stats.reply_tokens, node.stats.ids_hash,
                                                node.stats.logits_hash, fnv_bytes(1, node.text, node.length)};
        tdm_node_free(&node);
    }
    CHECK_STR("", t->errors);
}

static void compare(const char *way, const struct outcome *a, const struct outcome *b)
{
    CHECK_INT(a->n, b->n);
    for (int i = 0; i < a->n; i++)
        if (memcmp(&a->reply[i], &b->reply[i], sizeof a->reply[i]))
            CHECK_FAIL("%s: reply %d: expected finish %d after %u tokens, found %d after %u, or other bits", way, i + 1,
                       a->reply[i].finish, a->reply[i].tokens, b->reply[i].finish, b->reply[i].tokens);
}

/* Two turns, the second one asked again. */
static void talk(int threads, const tdm_chat_options *o, struct outcome *out)
{
    static const char *const lines[] = {"Why is the sky blue?", "And at night?"};
    struct talk t;
    *out = (struct outcome){0};
    if (!talk_open(&t, NULL, threads, o)) return;
    for (int i = 0; i < REPLIES; i++) {
        const char *text = lines[i > 0];
        tdm_status status = i == 2 ? tdm_chat_regenerate(t.chat, clock_ns(), &err)
                                   : tdm_chat_send(t.chat, text, strlen(text), clock_ns(), &err);
        if (status) CHECK_FAIL("%s", err.text);
        talk_until(&t, i + 1);
    }
    collect(&t, out);
    talk_close(&t);
}

/* The ways of a reply, beside one token at a time on two cores. */
static const struct way {
    const char *name;
    int mtp, threads, dispatch;
    tdm_speculation level;
    tdm_pipeline pipeline;
} ways[] = {
    {"as many drafts as pay", TDM_MTP_AUTO, 2, 0, TDM_SPEC_FULL, TDM_PIPE_TANDEM},
    {"five drafts", TDM_MTP_MAX, 2, 0, TDM_SPEC_FULL, TDM_PIPE_TANDEM},
    {"nothing read ahead", TDM_MTP_OFF, 2, 0, TDM_SPEC_OFF, TDM_PIPE_TANDEM},
    {"history read ahead, five drafts", TDM_MTP_MAX, 2, 0, TDM_SPEC_HISTORY, TDM_PIPE_TANDEM},
    {"a dispatch of seven, one core", TDM_MTP_OFF, 1, 7, TDM_SPEC_FULL, TDM_PIPE_TANDEM},
    {"single", TDM_MTP_OFF, 2, 0, TDM_SPEC_FULL, TDM_PIPE_SINGLE},
    {"sequential", TDM_MTP_AUTO, 2, 0, TDM_SPEC_FULL, TDM_PIPE_SEQUENTIAL},
    {"batch-solo", TDM_MTP_OFF, 2, 0, TDM_SPEC_FULL, TDM_PIPE_BATCH_SOLO},
};

/* Every `step`th way from the `from`th on. */
static int check_ways(const char *model, uint64_t seed, size_t from, size_t step)
{
    talk_path = model;
    const tdm_model *m = talk_model(NULL);
    if (!m) return 0;
    struct outcome plain, other;
    tdm_chat_options o = guarded(m, seed);
    int repeats = 0;
    talk(2, &o, &plain);
    for (int i = 0; i < plain.n; i++) repeats += plain.reply[i].finish == TDM_FINISH_REPEATS;
    for (size_t i = from; i < (check_slow() ? 3 : sizeof ways / sizeof *ways); i += step) {
        o.mtp = ways[i].mtp;
        o.dispatch = ways[i].dispatch;
        o.speculation = ways[i].level;
        o.pipeline = ways[i].pipeline;
        talk(ways[i].threads, &o, &other);
        compare(ways[i].name, &plain, &other);
    }
    return repeats;
}

TEST(at_the_same_token_whatever_the_way)
{
    size_t step = getenv("TANDEM_LONG") ? 1 : 2; /* otherwise each way greedy or not */
    CHECK(check_ways("tests/goldens/tiny-b", 0, 0, step) > 0);
    if (!check_slow()) CHECK(check_ways("tests/goldens/tiny-b", 1, step - 1, step) > 0);
}

TEST(each_of_several_answers)
{
    talk_path = "tests/goldens/tiny-b";
    const tdm_model *m = talk_model(NULL);
    int repeats = 0;
    for (uint64_t seed = 1; m && seed <= 2; seed++) {
        tdm_chat_options o = guarded(m, seed);
        struct talk t;
        struct outcome alone, together;
        if (!talk_open(&t, NULL, 2, &o)) return;
        CHECK(!tdm_chat_send(t.chat, "Go on.", 6, clock_ns(), &err));
        talk_until(&t, 1);
        for (int i = 1; i < REPLIES; i++) {
            CHECK(!tdm_chat_regenerate(t.chat, clock_ns(), &err));
            talk_until(&t, i + 1);
        }
        collect(&t, &alone);
        talk_close(&t);
        if (!talk_open(&t, NULL, 2, &o)) return;
        CHECK(!tdm_chat_answers(t.chat, REPLIES, "Go on.", 6, clock_ns(), &err));
        talk_until(&t, REPLIES);
        collect(&t, &together);
        talk_close(&t);
        compare("three answers", &alone, &together);
        for (int i = 0; i < together.n; i++) repeats += together.reply[i].finish == TDM_FINISH_REPEATS;
    }
    CHECK(repeats > 0);
}

/* The reply, and what it comes to if it is continued. */
TEST(it_goes_on_when_it_is_continued_and_is_not_told_at_once)
{
    talk_path = "tests/goldens/tiny-b";
    const tdm_model *m = talk_model(NULL);
    if (!m) return;
    struct talk t;
    tdm_chat_options o = guarded(m, 0);
    if (!talk_open(&t, NULL, 2, &o)) return;
    CHECK(!tdm_chat_send(t.chat, "Go on.", 6, clock_ns(), &err));
    talk_until(&t, 1);
    CHECK_INT(TDM_FINISH_REPEATS, t.turns[0].finish);
    CHECK(!tdm_chat_continue(t.chat, &err));
    talk_until(&t, 2);
    CHECK_INT(TDM_FINISH_REPEATS, t.turns[1].finish);
    CHECK_INT(GUARD_PUNCTUATION, t.turns[1].stats.reply_tokens); /* it says nothing else any more */
    /* Off it goes on to the end, and so it does without an end token. */
    o.loop_guard = false;
    o.max_tokens = GUARD_PUNCTUATION + 200; /* more than it was let say */
    CHECK(!tdm_chat_configure(t.chat, &o, &err) && !tdm_chat_continue(t.chat, &err));
    talk_until(&t, 3);
    CHECK_INT(TDM_FINISH_LENGTH, t.turns[2].finish);
    o.loop_guard = o.ignore_eos = true;
    o.max_tokens = (int)t.turns[0].stats.reply_tokens + 200;
    CHECK(!tdm_chat_configure(t.chat, &o, &err) && !tdm_chat_regenerate(t.chat, clock_ns(), &err));
    talk_until(&t, 4);
    CHECK_INT(TDM_FINISH_LENGTH, t.turns[3].finish);
    CHECK_STR("", t.errors);
    talk_close(&t);
}

TEST_MAIN(T(at_the_same_token_whatever_the_way), T(each_of_several_answers),
          T(it_goes_on_when_it_is_continued_and_is_not_told_at_once))
