/* Text that is drafted and verified is the text without drafts, bit for bit, with the logits that it was drawn from:
 * for every seed, in every kernel set, with penalties, stop strings and limits, with a head and from the context. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/kernel/kernel.h"
#include "engine/tandem/measure.h"
#include "tests/engine/chat/drafted.h"

static tdm_error err;

/* The short form under a sanitizer. */
static bool few(void)
{
    return check_slow() && !getenv("TANDEM_LONG");
}

/* Each set with both models, the greedy one without and the warm one with experts and the other way round; in the long
 * form both with both, and with three numbers of drafts. Under a sanitizer the short form has the best set alone. */
TEST(every_kernel_set)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    bool all = getenv("TANDEM_LONG");
    const char *const models[] = {"tests/goldens/tiny-a", "tests/goldens/tiny-d"};
    for (int k = 0; k < 2; k++) {
        talk_path = models[k];
        for (int i = few() ? n - 1 : 0; i < n; i++) {
            struct words w = drafted_words(1, 0), warm = drafted_words(2, 0.8f);
            w.once = warm.once = !all && i < n - 1;
            if (w.once) w.max_tokens = warm.max_tokens = 8;
            if ((all && !check_slow()) || (i + k) % 2) drafted_check(sets[i]->name, &w);
            if (all || (i + k) % 2 == 0) drafted_check(sets[i]->name, &warm);
        }
    }
}

/* 20 seeds in the long form; in the short one 3, each with another number of drafts. */
TEST(many_seeds)
{
    if (getenv("TEST_RUNNER")) SKIP("an emulator takes minutes for the built-in model");
    talk_path = talk_builtin;
    drafted_accepted = drafted_made = 0;
    uint64_t last = few() ? 1 : check_slow() || !getenv("TANDEM_LONG") ? 3 : 20;
    for (uint64_t seed = 1; seed <= last && !check_failures; seed++) {
        struct words w = drafted_words(seed, seed % 5 ? 0.7f : 0);
        if (seed % 3 == 0) w.sampling.presence_penalty = 1.5f, w.sampling.frequency_penalty = 0.3f;
        if (seed % 3 == 1) w.sampling.repeat_penalty = 1.2f;
        w.ends = seed % 2;
        w.once = !getenv("TANDEM_LONG");
        w.first = (int)seed % 3;
        drafted_check(NULL, &w);
    }
    printf("# %u of %u drafts accepted\n", drafted_accepted, drafted_made);
    CHECK(drafted_accepted > drafted_made / 5); /* it is a trained head */
}

TEST(stop_strings)
{
    if (getenv("TEST_RUNNER")) SKIP("an emulator takes minutes for the built-in model");
    static const char *const stops[] = {" the", "a dog", "apit", ", 1", NULL};
    talk_path = talk_builtin;
    for (uint64_t seed = 1; seed <= (check_slow() ? 1 : getenv("TANDEM_LONG") ? 4 : 2); seed++) {
        struct words w = drafted_words(seed, seed > 1 ? 0.7f : 0);
        w.stops = stops;
        w.max_tokens = few() ? 20 : 30;
        w.once = !getenv("TANDEM_LONG");
        drafted_check(NULL, &w);
    }
}

/* The text of the reply, which has at least so many bytes; malloc'ed. */
static char *reply_of(struct talk *t, size_t bytes)
{
    for (int waits = 0; waits < 120000; waits++) {
        tdm_node node;
        int path[8], n = tdm_chat_path(t->chat, TDM_FRONT, path, 8);
        talk_events(t);
        if (n == 2 && !tdm_chat_node(t->chat, TDM_FRONT, path[1], &node, &err)) {
            if (node.length >= bytes) {
                free(node.thinking);
                return node.text;
            }
            tdm_node_free(&node);
        }
        usleep(500);
    }
    CHECK_FAIL("the reply is too short");
    abort();
}

/* A reply that is stopped at any moment, and goes on from there, is the one that was not stopped. */
TEST(stopped_and_continued)
{
    if (getenv("TEST_RUNNER")) SKIP("an emulator takes minutes for the built-in model");
    talk_path = talk_builtin;
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    struct talk stopped, plain;
    tdm_chat_options o = talk_options(m);
    o.max_tokens = 0;
    o.mtp = 4;
    REQUIRE(talk_open(&stopped, NULL, 2, &o));
    CHECK(!tdm_chat_send(stopped.chat, drafted_questions[0], strlen(drafted_questions[0]), clock_ns(), &err));
    int stops = few() ? 3 : 6;
    for (int i = 0; i < stops; i++) {
        free(reply_of(&stopped, 20 * (size_t)(i + 1)));
        usleep(700 * (useconds_t)i);
        tdm_chat_stop(stopped.chat, TDM_FRONT);
        talk_until(&stopped, i + 1);
        CHECK(!tdm_chat_continue(stopped.chat, &err));
    }
    free(reply_of(&stopped, 200));
    tdm_chat_stop(stopped.chat, TDM_FRONT);
    talk_until(&stopped, stops + 1);
    char *a = reply_of(&stopped, 200);
    o.mtp = TDM_MTP_OFF;
    o.max_tokens = 100; /* more than 200 bytes */
    REQUIRE(talk_open(&plain, NULL, 2, &o));
    CHECK(!tdm_chat_send(plain.chat, drafted_questions[0], strlen(drafted_questions[0]), clock_ns(), &err));
    talk_until(&plain, 1);
    char *b = reply_of(&plain, 200);
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    CHECK(!memcmp(a, b, n));
    free(a), free(b);
    talk_close(&stopped), talk_close(&plain);
}

/* The first token of a continued reply comes with those that its pass verified: between them lies no time. */
TEST(tokens_that_come_at_once_have_no_rate)
{
    if (getenv("TEST_RUNNER")) SKIP("an emulator takes minutes for the built-in model");
    talk_path = talk_builtin;
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    struct talk t;
    tdm_chat_options o = talk_options(m);
    o.ignore_eos = true;
    o.mtp = TDM_MTP_MAX;
    o.max_tokens = 8;
    REQUIRE(talk_open(&t, NULL, 2, &o));
    CHECK(!tdm_chat_pretend_drafts(t.chat, 1, &err));
    CHECK(!tdm_chat_send(t.chat, drafted_questions[0], strlen(drafted_questions[0]), clock_ns(), &err));
    talk_until(&t, 1);
    for (int i = 1; i <= 2; i++) {
        o.max_tokens = i == 1 ? 3 : 20;
        CHECK(!tdm_chat_configure(t.chat, &o, &err) && !tdm_chat_continue(t.chat, &err));
        talk_until(&t, 1 + i);
    }
    const tdm_turn_stats *s = &t.turns[1].stats;
    CHECK_INT(3, s->reply_tokens);
    CHECK_INT(1, s->passes);
    CHECK(s->last_id_ns == s->first_id_ns && s->decode_tps == 0);
    s = &t.turns[2].stats;
    CHECK(s->passes > 1 && s->decode_tps > 0);
    CHECK(s->decode_tps < 19e9 / (double)(s->last_id_ns - s->first_id_ns)); /* without those of its first pass */
    talk_close(&t);
}

/* A pace that no model keeps holds nothing back, so drafts are made; the text is the same. */
TEST(slower_than_its_pace)
{
    if (getenv("TEST_RUNNER")) SKIP("an emulator takes minutes for the built-in model");
    talk_path = talk_builtin;
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    struct talk t[2];
    for (int i = 0; i < 2; i++) {
        tdm_chat_options o = talk_options(m);
        o.max_tokens = few() ? 16 : 24;
        o.ignore_eos = true;
        o.mtp = i ? 3 : TDM_MTP_OFF;
        o.pace_tps = 100000;
        REQUIRE(talk_open(&t[i], NULL, 2, &o));
        CHECK(!tdm_chat_send(t[i].chat, drafted_questions[0], strlen(drafted_questions[0]), clock_ns(), &err));
        talk_until(&t[i], 1);
    }
    CHECK(t[0].turns[0].text == t[1].turns[0].text);
    CHECK_INT(0, t[0].turns[0].stats.drafted);
    CHECK(t[1].turns[0].stats.drafted > 0);
    for (int i = 0; i < 2; i++) talk_close(&t[i]);
}

TEST(figures_out_of_range)
{
    talk_path = "tests/goldens/tiny-a";
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    tdm_chat *c;
    tdm_chat_options o = talk_options(m);
    o.mtp = 6;
    CHECK_INT(TDM_E_ARG, tdm_chat_open(&c, m, talk_machine(2), &o, &err));
    CHECK_STR("mtp: expected auto, off or 1 to 5 drafts", err.text);
}

TEST_MAIN(T(every_kernel_set), T(many_seeds), T(stop_strings), T(stopped_and_continued),
          T(tokens_that_come_at_once_have_no_rate), T(slower_than_its_pace), T(figures_out_of_range))
