/* A reply that renders in the next prompt as it was decoded is not evaluated again: the follower takes over the
 * decoder's state. With the built-in model, whose replies are text, under the template of Qwen3.8, thinking off. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "engine/kernel/kernel.h"
#include "engine/tandem/measure.h"
#include "tests/engine/chat/played.h"
#include "tests/engine/state/equal.h"

static tdm_error err;
static const char *const messages[] = {"Tell me a story about a small boat.", "And then? Go on, please.",
                                       "Who was on the boat?"};
enum { MESSAGES = sizeof messages / sizeof *messages, REPLY = 40 /* more than a page */, NEXT = 4 };

struct way {
    const char *kernels;
    int threads, reply;
    tdm_kv kv, prefill_kv;
};
static const struct way usual = {NULL, 0, REPLY, TDM_KV_F16, TDM_KV_F16};

static tdm_chat *open_chat(const struct way *way, bool adopts)
{
    talk_path = talk_builtin;
    const tdm_model *m = talk_model(way->kernels);
    tdm_machine *machine = talk_machine(way->threads);
    if (!m || !machine) return NULL;
    talk_set_template(m, "qwen38");
    tdm_chat_options o = talk_options(m);
    o.max_tokens = way->reply;
    o.ignore_eos = false;
    o.sampling.temperature = 0;
    o.sampling.repeat_penalty = 1;
    o.kv = way->kv;
    o.prefill_kv = way->prefill_kv;
    if (way->reply < REPLY) o.mtp = TDM_MTP_OFF; /* a slow set computes what is compared alone */
    tdm_chat *c = NULL;
    if (tdm_chat_open(&c, m, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    if (c) tdm_chat_set_adoption(c, adopts);
    return c;
}

static uint64_t evaluated(const tdm_chat *c)
{
    return c->reader.follower.figures.evaluated;
}

/* How much of the next prompt the decoder's state holds; 0: it is none of its beginnings. */
static uint32_t held_of_target(const tdm_chat *c)
{
    const struct state *s = c->front->decoder->state;
    return state_is_prefix(s, c->reader.target.ids, c->reader.target.n) ? s->length : 0;
}

TEST(a_reply_that_renders_as_decoded_is_not_evaluated_again)
{
    static struct played p;
    memset(&p, 0, sizeof p);
    tdm_chat *c = open_chat(&usual, true);
    REQUIRE(c);
    int adopted = 0;
    for (int i = 0; i < MESSAGES; i++) {
        CHECK(tdm_chat_set_draft(c, messages[i], strlen(messages[i]), false, &err) == TDM_OK);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        uint64_t before = evaluated(c);
        played_say(c, &p, messages[i]);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        uint32_t held = held_of_target(c);
        const tdm_turn_stats *s = &p.stats[i];
        CHECK_INT(s->prompt_tokens, s->earlier + s->before_enter + s->after_enter);
        CHECK(s->adopted <= s->before_enter && s->wasted == 0);
        CHECK_INT(0, s->after_enter);
        if (i == 0) CHECK_INT(0, s->adopted);
        if (!held) continue;
        adopted++;
        CHECK_INT(c->reader.target.n - held, evaluated(c) - before);
        CHECK_INT(held - s->prompt_tokens, c->reader.adopted.to - c->reader.adopted.from);
        tdm_chat_status now;
        tdm_chat_status_of(c, &now);
        CHECK_INT(held - s->prompt_tokens, now.adopted);
    }
    CHECK(adopted >= 2);
    CHECK(p.stats[1].adopted + p.stats[2].adopted >= REPLY / 2);
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

/* What the other one would have evaluated, and what follows from it, has the same bits: the state at the end of the
 * next prompt, its logits, and the next reply. */
static void check_bits(const struct way *way)
{
    static struct played p, q;
    const char *first = way->reply < REPLY ? "Hi." : messages[0], *next = way->reply < REPLY ? "So?" : messages[1];
    memset(&p, 0, sizeof p);
    memset(&q, 0, sizeof q);
    tdm_chat *c = open_chat(way, true);
    REQUIRE(c);
    played_say(c, &p, first);
    CHECK(tdm_chat_set_draft(c, next, strlen(next), false, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    uint32_t taken = c->reader.adopted.to - c->reader.adopted.from;
    if (taken < p.stats[0].reply_tokens / 2)
        CHECK_FAIL("%s: %u of %u tokens were adopted", way->kernels, taken, p.stats[0].reply_tokens);
    tdm_node nodes[2] = {0};
    for (int i = 0; i < 2; i++) REQUIRE(tdm_chat_node(c, TDM_FRONT, i + 1, &nodes[i], &err) == TDM_OK);

    tdm_chat *fresh = open_chat(way, false);
    REQUIRE(fresh);
    CHECK(tdm_chat_load(fresh, "", 0, nodes, 2, 2, 0, &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(fresh, next, strlen(next), false, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(fresh, CHECK_PATIENCE_MS));
    CHECK(fresh->reader.follower.state->logits_valid && c->reader.follower.state->logits_valid);
    CHECK_INT(c->reader.target.n, c->reader.follower.state->length);
    if (!state_equal(c->reader.follower.state, fresh->reader.follower.state))
        CHECK_FAIL("%s, %d threads, kv %d: the adopted state differs from a fresh one", way->kernels, way->threads,
                   (int)way->kv);
    played_limit(fresh, NEXT, 0);
    played_say(fresh, &q, next);
    tdm_chat_close(fresh);
    played_limit(c, NEXT, 0);
    played_say(c, &p, next);
    CHECK(p.stats[1].adopted > 0);
    CHECK_INT(0, q.stats[0].adopted);
    if (p.stats[1].ids_hash != q.stats[0].ids_hash || p.stats[1].logits_hash != q.stats[0].logits_hash)
        CHECK_FAIL("%s, %d threads, kv %d: the next reply differs", way->kernels, way->threads, (int)way->kv);
    tdm_chat_close(c);
    for (int i = 0; i < 2; i++) tdm_node_free(&nodes[i]);
}

/* In the long form each set with each kind of keys and values, and the best one with each number of threads, too; in
 * the short form each of these once, but for reference and scalar, which take longer than all others together. */
TEST(an_adopted_state_has_the_bits_of_a_fresh_one)
{
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    bool all = getenv("TANDEM_LONG");
    for (int i = 0; i < n && !check_failures; i++) {
        bool best = i == n - 1; /* the others get short replies */
        if (!all && !best && !strcmp(sets[i]->name, "scalar")) continue;
        for (int k = TDM_KV_F32; k <= TDM_KV_Q8_0 && !check_failures; k++) {
            if (!all && !best && k != i % 3) continue;
            struct way way = {sets[i]->name, (i + k) % 3, best ? REPLY : 4, (tdm_kv)k, (tdm_kv)k};
            for (int more = 0; more < (best && all ? 3 : 1); more++, way.threads = (way.threads + 1) % 3)
                check_bits(&way);
        }
    }
}

/* Other keys and values, or other weights, on the prefill unit: its own bits are wanted, so it evaluates. */
TEST(a_state_of_another_kind_is_not_adopted)
{
    static struct played p;
    memset(&p, 0, sizeof p);
    struct way way = usual;
    way.prefill_kv = TDM_KV_F32;
    tdm_chat *c = open_chat(&way, true);
    REQUIRE(c);
    played_say(c, &p, messages[0]);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK(held_of_target(c) > 0);
    CHECK_INT(0, c->reader.adopted.to);
    tdm_chat_close(c);
}

/* Going on with a reply whose state was copied, making it anew, going back before it and forth again. */
TEST(an_adopted_reply_is_continued_and_made_anew_like_any_other)
{
    enum { PART = 16 };
    static struct played p[2];
    for (int adopts = 0; adopts < 2; adopts++) {
        struct played *x = &p[adopts];
        memset(x, 0, sizeof *x);
        tdm_chat *c = open_chat(&usual, adopts);
        REQUIRE(c);
        played_limit(c, PART, 0);
        played_say(c, x, messages[0]);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        CHECK(tdm_chat_continue(c, &err) == TDM_OK);
        played_until(c, x, 2);
        CHECK(tdm_chat_continue(c, &err) == TDM_OK); /* at once, perhaps while its state is being copied */
        played_until(c, x, 3);
        CHECK_INT(x->stats[0].reply_tokens, PART);
        played_say(c, x, messages[1]);
        CHECK(tdm_chat_regenerate(c, clock_ns(), &err) == TDM_OK);
        played_until(c, x, 5);
        CHECK(tdm_chat_undo(c, &err) == TDM_OK);
        CHECK(tdm_chat_redo(c, &err) == TDM_OK);
        played_send(c, messages[2]);
        played_send(c, messages[1]); /* queued: begins at the end of the other one */
        played_until(c, x, 7);
        CHECK_STR("", x->errors);
        tdm_chat_close(c);
    }
    CHECK_INT(p[0].n, p[1].n);
    for (int i = 0; i < p[0].n; i++) {
        CHECK(p[0].stats[i].ids_hash == p[1].stats[i].ids_hash);
        CHECK(p[0].stats[i].logits_hash == p[1].stats[i].logits_hash);
        CHECK_INT(0, p[0].stats[i].adopted);
    }
    CHECK(p[1].stats[3].adopted > 0 && p[1].stats[6].adopted > 0);
    CHECK_STR(p[0].text, p[1].text);
}

/* A program that ends with its reply keeps all of it, though the unit that takes it over had no time to do so. */
TEST(a_state_that_is_saved_at_once_has_the_reply)
{
    enum { SHORT = 16 }; /* nothing is taken over while it is written */
    static struct played p;
    char path[256];
    snprintf(path, sizeof path, "%s/state", check_tmp());
    memset(&p, 0, sizeof p);
    tdm_chat *c = open_chat(&usual, true);
    REQUIRE(c);
    struct unit *unit = c->machine->units[TDM_PREFILL_UNIT];
    for (int i = 0; i < 2; i++) { /* from nothing, and beyond the state of a turn before */
        played_limit(c, SHORT, 0.01);
        played_send(c, messages[i]);
        for (int ms = 0; !p.begun[i].enter_ns && ms < CHECK_PATIENCE_MS; ms++) usleep(1000), played_events(c, &p);
        unit_quiesce(unit); /* its work for this turn is done */
        played_limit(c, SHORT, 0);
        played_until(c, &p, i + 1);
        CHECK(tdm_chat_save_state(c, path, &err) == TDM_OK);
        uint32_t held = held_of_target(c);
        CHECK(held > p.stats[i].prompt_tokens && held <= c->reader.target.history);
        CHECK(tdm_chat_load_state(c, path, &err) == TDM_OK); /* the follower has what the file has */
        CHECK_INT(held, c->reader.follower.length);
        unit_resume(unit);
    }
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST_MAIN(T(a_reply_that_renders_as_decoded_is_not_evaluated_again), T(an_adopted_state_has_the_bits_of_a_fresh_one),
          T(a_state_of_another_kind_is_not_adopted), T(an_adopted_reply_is_continued_and_made_anew_like_any_other),
          T(a_state_that_is_saved_at_once_has_the_reply))
