#include "tests/engine/chat/drafted.h"

#include "engine/base/clock.h"
#include "tests/check.h"

static tdm_error err;

const char *const drafted_questions[3] = {"Tell me a short story about a dog.", "What is the capital of Peru?",
                                        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10: go on like this."};

/* Three turns, in the short form under a sanitizer two; the second is continued where it was cut off. */
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
    for (int i = 0; i < (check_slow() && !getenv("TANDEM_LONG") ? 2 : 3); i++) {
        const char *text = drafted_questions[i];
        int ended = t->n;
        if (tdm_chat_send(t->chat, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
        talk_until(t, ended + 1);
        if (i != 1 || tdm_chat_continue(t->chat, &err)) continue;
        talk_until(t, ended + 2);
    }
    CHECK_STR("", t->errors);
    talk_close(t);
}

uint32_t drafted_accepted, drafted_made;

void drafted_check(const char *kernels, const struct words *w)
{
    static const int ways[] = {3, TDM_MTP_AUTO, TDM_MTP_MAX};
    struct talk plain, drafted;
    talk(&plain, kernels, w, TDM_MTP_OFF);
    for (int i = 0; i < (w->once || check_slow() ? 1 : 3); i++) {
        int way = ways[(i + w->first) % 3];
        talk(&drafted, kernels, w, way);
        CHECK_INT(plain.n, drafted.n);
        for (int k = 0; k < plain.n && k < drafted.n; k++) {
            const struct talk_turn *a = &plain.turns[k], *b = &drafted.turns[k];
            CHECK_INT(0, a->stats.drafted);
            CHECK_INT(a->finish, b->finish);
            CHECK_INT(a->stats.reply_tokens, b->stats.reply_tokens);
            if (a->text != b->text || a->stats.ids_hash != b->stats.ids_hash ||
                a->stats.logits_hash != b->stats.logits_hash)
                CHECK_FAIL("kernels %s, seed %llu, %d drafts: turn %d differs", kernels ? kernels : "best",
                           (unsigned long long)w->sampling.seed, way, k);
            CHECK(b->stats.accepted <= b->stats.drafted && b->stats.accepted <= b->stats.reply_tokens);
            drafted_accepted += b->stats.accepted;
            drafted_made += b->stats.drafted;
        }
    }
}

struct words drafted_words(uint64_t seed, float temperature)
{
    return (struct words){
        .sampling = {.temperature = temperature, .top_k = 20, .top_p = 0.95f, .repeat_penalty = 1, .seed = seed},
        .max_tokens = 14};
}

