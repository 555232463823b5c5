/* Text that is drafted and verified is the text without drafts, bit for bit, with the logits that it was drawn from:
 * for every seed, in every kernel set, with penalties, stop strings and limits, with a head and from the context. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/kernel/kernel.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;

static const char *const questions[] = {"Tell me a short story about a dog.", "What is the capital of Peru?",
                                        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10: go on like this."};

struct words {
    tdm_sampling sampling;
    const char *const *stops;
    int max_tokens;
    bool ends; /* at the model's end token, too */
};

/* Three turns; the second is continued where it was cut off. */
static void talk(struct talk *t, const char *kernels, const struct words *w, int mtp)
{
    const tdm_model *m = talk_model(kernels);
    if (!m) return;
    tdm_chat_options o = talk_options(m);
    o.sampling = w->sampling;
    o.stops = w->stops;
    o.max_tokens = w->max_tokens;
    o.ignore_eos = !w->ends;
    o.mtp = mtp;
    if (!talk_open(t, kernels, 2, &o)) return;
    for (int i = 0; i < 3; i++) {
        const char *text = questions[i];
        int ended = t->n;
        if (tdm_chat_send(t->chat, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
        talk_until(t, ended + 1);
        if (i != 1 || tdm_chat_continue(t->chat, &err)) continue;
        talk_until(t, ended + 2);
    }
    CHECK_STR("", t->errors);
    talk_close(t);
}

static uint32_t accepted, drafted_tokens;

static void check_words(const char *kernels, const struct words *w)
{
    static const int ways[] = {TDM_MTP_AUTO, 3, TDM_MTP_MOST};
    struct talk plain, drafted;
    talk(&plain, kernels, w, TDM_MTP_OFF);
    for (int i = 0; i < 3; i++) {
        talk(&drafted, kernels, w, ways[i]);
        CHECK_INT(plain.n, drafted.n);
        for (int k = 0; k < plain.n && k < drafted.n; k++) {
            const struct talk_turn *a = &plain.turns[k], *b = &drafted.turns[k];
            CHECK_INT(0, a->stats.drafted);
            CHECK_INT(a->finish, b->finish);
            CHECK_INT(a->stats.reply_tokens, b->stats.reply_tokens);
            if (a->text != b->text || a->stats.ids_hash != b->stats.ids_hash ||
                a->stats.logits_hash != b->stats.logits_hash)
                CHECK_FAIL("kernels %s, seed %llu, %d drafts: turn %d differs", kernels ? kernels : "best",
                           (unsigned long long)w->sampling.seed, ways[i], k);
            CHECK(b->stats.accepted <= b->stats.drafted && b->stats.accepted <= b->stats.reply_tokens);
            accepted += b->stats.accepted;
            drafted_tokens += b->stats.drafted;
        }
    }
}

static struct words plain_words(uint64_t seed, float temperature)
{
    return (struct words){
        .sampling = {.temperature = temperature, .top_k = 20, .top_p = 0.95f, .repeat_penalty = 1, .seed = seed},
        .max_tokens = 14};
}

TEST(every_kernel_set)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    const char *const models[] = {"tests/goldens/tiny-a", "tests/goldens/tiny-d"};
    for (int k = 0; k < 2; k++) {
        talk_path = models[k];
        for (int i = 0; i < n; i++) {
            struct words w = plain_words(1, 0), warm = plain_words(2, 0.8f);
            check_words(sets[i]->name, &w);
            check_words(sets[i]->name, &warm);
        }
    }
}

TEST(twenty_seeds)
{
    talk_path = talk_builtin;
    accepted = drafted_tokens = 0;
    for (uint64_t seed = 1; seed <= 20 && !check_failures; seed++) {
        struct words w = plain_words(seed, seed % 5 ? 0.7f : 0);
        if (seed % 3 == 0) w.sampling.presence_penalty = 1.5f, w.sampling.frequency_penalty = 0.3f;
        if (seed % 3 == 1) w.sampling.repeat_penalty = 1.2f;
        w.ends = seed % 2;
        check_words(NULL, &w);
    }
    printf("# %u of %u drafts accepted\n", accepted, drafted_tokens);
    CHECK(accepted > drafted_tokens / 5); /* it is a trained head */
}

TEST(stop_strings)
{
    static const char *const stops[] = {" the", "a dog", "apit", ", 1", NULL};
    talk_path = talk_builtin;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct words w = plain_words(seed, seed > 1 ? 0.7f : 0);
        w.stops = stops;
        w.max_tokens = 40;
        check_words(NULL, &w);
    }
}

/* The text of the reply, which has at least so many bytes; malloc'ed. */
static char *reply_of(struct talk *t, size_t bytes)
{
    for (int waits = 0; waits < 20000; waits++) {
        tdm_node node;
        int path[8], n = tdm_chat_path(t->chat, path, 8);
        talk_events(t);
        if (n == 2 && !tdm_chat_node(t->chat, path[1], &node, &err)) {
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
    talk_path = talk_builtin;
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    struct talk stopped, plain;
    tdm_chat_options o = talk_options(m);
    o.max_tokens = 0;
    o.mtp = 4;
    REQUIRE(talk_open(&stopped, NULL, 2, &o));
    CHECK(!tdm_chat_send(stopped.chat, questions[0], strlen(questions[0]), clock_ns(), &err));
    for (int i = 0; i < 6; i++) {
        free(reply_of(&stopped, 20 * (size_t)(i + 1)));
        usleep(700 * (useconds_t)i);
        tdm_chat_stop(stopped.chat);
        talk_until(&stopped, i + 1);
        CHECK(!tdm_chat_continue(stopped.chat, &err));
    }
    free(reply_of(&stopped, 200));
    tdm_chat_stop(stopped.chat);
    talk_until(&stopped, 7);
    char *a = reply_of(&stopped, 200);
    o.mtp = TDM_MTP_OFF;
    o.max_tokens = 300;
    REQUIRE(talk_open(&plain, NULL, 2, &o));
    CHECK(!tdm_chat_send(plain.chat, questions[0], strlen(questions[0]), clock_ns(), &err));
    talk_until(&plain, 1);
    char *b = reply_of(&plain, 200);
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    CHECK(!memcmp(a, b, n));
    free(a), free(b);
    talk_close(&stopped), talk_close(&plain);
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

TEST_MAIN(T(every_kernel_set), T(twenty_seeds), T(stop_strings), T(stopped_and_continued), T(figures_out_of_range))
