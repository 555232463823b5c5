/* A GPU that is lost, or that has no memory, at each call of its table: nothing that was said is lost. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "tests/engine/backend/fake_gpu.h"
#include "tests/engine/chat/played.h"

static tdm_error err;

static const struct pair {
    const char *prefill, *decode;
} pairs[] = {{"gpu", NULL}, {NULL, "gpu"}, {"gpu", "gpu"}, {"gpu:0", "gpu:1"}};
enum { PAIRS = sizeof pairs / sizeof *pairs, REPLY = 20 };

static tdm_machine *machine;

/* A chat on a machine of its own: a lost device is one for good. */
static tdm_chat *open_on(const struct pair *p, tdm_pipeline pipeline)
{
    tdm_machine_options m = {.prefill_unit = p->prefill, .decode_unit = p->decode};
    tdm_chat_options o = talk_options(talk_model(NULL));
    tdm_chat *c = NULL;
    o.max_tokens = REPLY;
    o.pipeline = pipeline;
    if (tdm_machine_open(&machine, &m, &err) || tdm_chat_open(&c, talk_model(NULL), machine, &o, &err))
        CHECK_FAIL("%s", err.text);
    return c;
}

static void close_all(tdm_chat *c)
{
    tdm_chat_close(c);
    tdm_machine_close(machine);
    machine = NULL;
    fake_gpu_heal();
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* Three turns; the call fails within the second one, perhaps. */
static void play_with_loss(const struct pair *pair, tdm_pipeline pipeline, enum fake_call call, int nth)
{
    struct played p = {0};
    fake_gpu_heal();
    tdm_chat *c = open_on(pair, pipeline);
    if (!c) return;
    played_type(c, played_lines[0], 0);
    played_say(c, &p, played_lines[0]);
    fake_gpu_fail(call, nth, TDM_E_IO);
    for (int i = 1; i < 3; i++) {
        played_type(c, played_lines[i], 0);
        played_say(c, &p, played_lines[i]);
    }
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    played_events(c, &p);
    for (int i = 0; i < 3; i++) {
        if (p.finish[i] == TDM_FINISH_LENGTH && p.stats[i].reply_tokens == REPLY) continue;
        CHECK_FAIL("%s + %s, %s %d: reply %d ended as %d after %u tokens: %s", pair->prefill ? pair->prefill : "cores",
                   pair->decode ? pair->decode : "cores", fake_call_names[call], nth, i + 1, p.finish[i],
                   p.stats[i].reply_tokens, p.errors);
    }
    if (strcmp("", p.errors)) CHECK_FAIL("%s %d: %s", fake_call_names[call], nth, p.errors);
    int told = count(p.notices, "the cores go on, bits may differ from here");
    CHECK(told <= 2 && told == count(p.notices, "is lost")); /* two devices are lost one after the other */
    close_all(c);
}

TEST(a_turn_goes_on_when_its_gpu_is_lost)
{
    static const int all[] = {1, 2, 3, 7, 16, 25};
    bool full = getenv("TANDEM_LONG"); /* otherwise each call once with each pair */
    for (int p = 0; p < PAIRS && !check_failures; p++)
        for (int call = FAKE_MAKE; call < FAKE_CALLS && !check_failures; call++)
            for (int i = full ? 0 : (call + p) % 6; i < 6 && !check_failures; i += full ? 1 : 6)
                play_with_loss(&pairs[p], TDM_PIPE_TANDEM, (enum fake_call)call, all[i]);
}

TEST(so_it_does_in_a_pipeline_that_does_not_follow)
{
    for (int p = 0; p < PAIRS && !check_failures; p++)
        for (int nth = 1; nth < 30 && !check_failures; nth += 14) {
            play_with_loss(&pairs[p], TDM_PIPE_BATCH, FAKE_FORWARD, nth);
            play_with_loss(&pairs[p], TDM_PIPE_SINGLE, FAKE_FORWARD, nth);
        }
}

/* Each of several answers goes on from its own ids, wherever it was. */
/* What the cores have in place of a GPU reads as cores do; a number that was asked for stays. */
TEST(dispatches_are_those_of_what_reads)
{
    tdm_chat_status now;
    for (int asked = 0; asked <= 48; asked += 48) {
        struct played p = {0};
        fake_gpu_heal();
        tdm_chat *c = open_on(&pairs[0], TDM_PIPE_TANDEM);
        REQUIRE(c);
        tdm_chat_options o = talk_options(talk_model(NULL));
        o.max_tokens = REPLY;
        o.dispatch = asked;
        CHECK_INT(TDM_OK, tdm_chat_configure(c, &o, &err));
        tdm_chat_status_of(c, &now);
        CHECK_INT(asked ? asked : 128, now.dispatch);
        fake_gpu_fail(FAKE_FORWARD, 1, TDM_E_IO);
        played_say(c, &p, played_lines[0]);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        tdm_chat_status_of(c, &now);
        CHECK_INT(asked ? asked : 32, now.dispatch);
        close_all(c);
    }
}

TEST(several_answers_go_on_when_their_gpu_is_lost)
{
    enum { ANSWERS = 3 };
    static const enum fake_call calls[] = {FAKE_FORWARD, FAKE_DRAW,    FAKE_COPY,
                                           FAKE_SAVE,    FAKE_RESTORE, FAKE_MAKE};
    static const int all[] = {1, 2, 3, 9, 20};
    bool full = getenv("TANDEM_LONG"); /* otherwise each call once with each pair */
    for (int p = 0; p < PAIRS; p++)
        for (int i = 0; i < 6; i++)
            for (int k = full ? 0 : (p + i) % 5; k < 5 && !check_failures; k += full ? 1 : 5) {
                struct played t = {0};
                fake_gpu_heal();
                tdm_chat *c = open_on(&pairs[p], TDM_PIPE_TANDEM);
                if (!c) return;
                played_say(c, &t, played_lines[0]);
                fake_gpu_fail(calls[i], all[k], TDM_E_IO);
                const char *text = played_lines[1];
                CHECK_INT(TDM_OK, tdm_chat_answers(c, ANSWERS, text, strlen(text), clock_ns(), &err));
                played_until(c, &t, 1 + ANSWERS);
                for (int n = 1; n <= ANSWERS; n++) {
                    if (t.finish[n] == TDM_FINISH_LENGTH && t.stats[n].reply_tokens == REPLY) continue;
                    CHECK_FAIL("%s %d, pair %d: answer %d ended as %d after %u tokens: %s", fake_call_names[calls[i]],
                               all[k], p, n, t.finish[n], t.stats[n].reply_tokens, t.errors);
                }
                CHECK_STR("", t.errors);
                played_say(c, &t, played_lines[2]);
                CHECK_INT(TDM_FINISH_LENGTH, t.finish[1 + ANSWERS]);
                close_all(c);
            }
}

/* The text up to the loss is that of the GPU, and goes on. */
TEST(what_was_said_stays)
{
    static struct played whole, cut;
    memset(&whole, 0, sizeof whole);
    memset(&cut, 0, sizeof cut);
    tdm_chat *c = open_on(&pairs[1], TDM_PIPE_TANDEM);
    REQUIRE(c != NULL);
    played_say(c, &whole, played_lines[0]);
    close_all(c);
    c = open_on(&pairs[1], TDM_PIPE_TANDEM);
    REQUIRE(c != NULL);
    fake_gpu_fail(FAKE_FORWARD, 10, TDM_E_IO); /* of its passes, a token each */
    played_say(c, &cut, played_lines[0]);
    CHECK(fake_gpu_calls(FAKE_FORWARD) == 9);
    CHECK_INT(1, cut.n);
    CHECK_STR("", cut.errors);
    CHECK_STR("gpu: the device is lost (injected, forward); the cores go on, bits may differ from here\n", cut.notices);
    CHECK_INT(REPLY, cut.stats[0].reply_tokens);
    CHECK(!strncmp(whole.text, cut.text, 8));
    tdm_unit_info info;
    tdm_unit_describe(machine, TDM_DECODE_UNIT, &info);
    close_all(c);
}

/* Without memory a call is told, and the next one may go well. */
TEST(want_of_memory_is_told_and_survived)
{
    for (int p = 0; p < PAIRS && !check_failures; p++) {
        for (int call = FAKE_MAKE; call < FAKE_CALLS && !check_failures; call++) {
            if ((p + call) % 2 && !getenv("TANDEM_LONG")) continue; /* each call with two pairs */
            struct played t = {0};
            tdm_chat *c = open_on(&pairs[p], TDM_PIPE_TANDEM);
            if (!c) return;
            played_say(c, &t, played_lines[0]);
            fake_gpu_fail((enum fake_call)call, 1, TDM_E_NOMEM);
            played_type(c, played_lines[1], 0);
            played_say(c, &t, played_lines[1]);
            fake_gpu_heal();
            played_say(c, &t, played_lines[2]);
            CHECK_INT(TDM_FINISH_LENGTH, t.finish[2]);
            CHECK_STR("", t.notices);
            close_all(c);
        }
    }
}

TEST(a_model_that_does_not_fit_runs_on_the_cores)
{
    struct played t = {0};
    fake_gpu_fail(FAKE_LOAD, 1, TDM_E_NOMEM);
    tdm_chat *c = open_on(&pairs[1], TDM_PIPE_TANDEM);
    REQUIRE(c != NULL);
    uint64_t before = fake_gpu_tokens();
    played_say(c, &t, played_lines[0]);
    CHECK_STR("gpu: no memory (injected): the cores take its place\n", t.notices);
    CHECK(t.finish[0] == TDM_FINISH_LENGTH && fake_gpu_tokens() == before);
    close_all(c);
    enum fake_call early[] = {FAKE_POOL, FAKE_EVALUATOR, FAKE_MAKE};
    tdm_machine_options m = {.prefill_unit = "gpu"};
    tdm_chat_options o = talk_options(talk_model(NULL));
    for (int i = 0; i < 3; i++) {
        REQUIRE(tdm_machine_open(&machine, &m, &err) == TDM_OK);
        fake_gpu_fail(early[i], 1, TDM_E_NOMEM);
        CHECK_INT(TDM_E_NOMEM, tdm_chat_open(&c, talk_model(NULL), machine, &o, &err));
        CHECK_STR("gpu: no memory (injected)", err.text);
        close_all(NULL);
    }
}

TEST_MAIN(T(a_turn_goes_on_when_its_gpu_is_lost), T(so_it_does_in_a_pipeline_that_does_not_follow),
          T(dispatches_are_those_of_what_reads), T(several_answers_go_on_when_their_gpu_is_lost),
          T(what_was_said_stays), T(want_of_memory_is_told_and_survived),
          T(a_model_that_does_not_fit_runs_on_the_cores))
