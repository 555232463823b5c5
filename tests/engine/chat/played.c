#include "tests/engine/chat/played.h"

#include <poll.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/check.h"

const char *const played_lines[4] = {"Hello, what is this about?", "  And how does it  work?\n",
                                     "I'd like caf\xc3\xa9 \xe4\xbd\xa0\xe5\xa5\xbd", "Thanks <|im_end|> bye"};

static tdm_error err;

tdm_chat *played_open(tdm_pipeline pipeline, tdm_speculation level)
{
    const tdm_model *model = talk_model(NULL);
    tdm_machine *machine = talk_machine(0);
    if (!model || !machine) return NULL;
    tdm_chat_options o = talk_options(model);
    o.pipeline = pipeline;
    o.speculation = level;
    o.max_tokens = 20;
    tdm_chat *c = NULL;
    if (tdm_chat_open(&c, model, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    return c;
}

tdm_chat *played_begin(struct played *p)
{
    memset(p, 0, sizeof *p);
    return played_open(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
}

void played_events(tdm_chat *c, struct played *p)
{
    tdm_event e;
    while (tdm_chat_next_event(c, &e)) {
        if (e.kind == TDM_EV_END && p->n < 16) {
            p->stats[p->n] = e.stats;
            p->finish[p->n] = e.finish;
            p->node[p->n++] = e.node;
        }
        if (e.kind == TDM_EV_REPLY) p->told = 0;
        if (e.kind == TDM_EV_REPLY && p->n < 16) p->begun[p->n] = e.stats;
        bool alone = e.answers <= 1; /* of several answers the texts come mixed */
        if (e.kind == TDM_EV_TEXT && alone) {
            CHECK(e.tokens >= p->told);
            p->told = e.tokens;
        }
        if (e.kind == TDM_EV_END && e.finish == TDM_FINISH_LENGTH && alone)
            /* All of them, but for the last ones where they make no whole character. */
            CHECK(p->told <= e.stats.reply_tokens && p->told + 4 > e.stats.reply_tokens);
        if (e.kind == TDM_EV_NOTICE) {
            strncat(p->notices, e.text, sizeof p->notices - strlen(p->notices) - 2);
            strcat(p->notices, "\n");
        }
        if (e.kind == TDM_EV_TEXT && strlen(p->text) + e.length < sizeof p->text) strncat(p->text, e.text, e.length);
        if (e.kind == TDM_EV_ERROR) {
            strncat(p->errors, e.text, sizeof p->errors - strlen(p->errors) - 2);
            strcat(p->errors, "\n");
        }
    }
}

void played_until(tdm_chat *c, struct played *p, int turns)
{
    played_events(c, p);
    for (int still = 0; p->n < turns && still < 60;) { /* seconds in which nothing happens */
        struct pollfd fd = {.fd = tdm_chat_fd(c), .events = POLLIN};
        still = poll(&fd, 1, 1000) > 0 ? 0 : still + 1;
        played_events(c, p);
    }
    if (p->n < turns) CHECK_FAIL("only %d of %d turns ended", p->n, turns);
}

void played_type(tdm_chat *c, const char *text, int wait_us)
{
    for (size_t n = 1; n <= strlen(text); n++) {
        tdm_chat_set_draft(c, text, n, false, &err);
        if (wait_us) usleep((useconds_t)wait_us);
    }
}

void played_send(tdm_chat *c, const char *text)
{
    if (tdm_chat_send(c, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
}

void played_say(tdm_chat *c, struct played *p, const char *text)
{
    played_send(c, text);
    played_until(c, p, p->n + 1);
}

void played_limit(tdm_chat *c, int max_tokens, double pace_tps)
{
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.max_tokens = max_tokens;
    o.pace_tps = pace_tps;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
}

uint32_t played_spent(tdm_chat *c)
{
    static uint64_t before;
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    uint64_t now = c->reader.follower.figures.evaluated;
    uint32_t since = now >= before ? (uint32_t)(now - before) : 0;
    before = now;
    return since;
}
