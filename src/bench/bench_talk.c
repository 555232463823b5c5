#include "src/bench/bench_talk.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "src/chat/script.h"
#include "src/cli/interrupt.h"
#include "src/cli/output.h"
#include "src/cli/wait.h"

enum { CONTEXT = 4096 };

void bench_talk_defaults(tdm_chat_options *o, const tdm_model *m)
{
    tdm_model_info info;
    tdm_model_describe(m, &info);
    tdm_chat_defaults(o, m);
    o->context = info.trained_context && info.trained_context < CONTEXT ? info.trained_context : CONTEXT;
    o->sampling = (tdm_sampling){.top_p = 1, .repeat_penalty = 1};
    o->ignore_eos = true;
}

tdm_status bench_talk_open(bench_talk *t, const tdm_model *m, tdm_machine *machine, const tdm_chat_options *o,
                           uint64_t seed, tdm_error *err)
{
    *t = (bench_talk){.seed = seed};
    tdm_status status = tdm_chat_open(&t->chat, m, machine, o, err);
    if (!status) tdm_chat_wait_idle(t->chat, -1);
    return status;
}

void bench_talk_close(bench_talk *t)
{
    tdm_chat_close(t->chat);
    *t = (bench_talk){0};
}

/* Takes the events that are there. */
static tdm_status take(bench_talk *t, tdm_error *err)
{
    tdm_event e;
    while (tdm_chat_next_event(t->chat, &e)) {
        if (e.kind == TDM_EV_REPLY) t->reply_tokens = 0;
        if (e.kind == TDM_EV_TEXT) t->reply_tokens = (int)e.tokens;
        if (e.kind == TDM_EV_ERROR) return error_set(err, TDM_E_IO, "%.*s", (int)e.length, e.text);
        if (e.kind != TDM_EV_END) continue;
        t->stats = e.stats;
        t->finish = e.finish;
        t->ended++;
        t->reply_tokens = 0; /* of a queued turn's reply, which may not have begun */
        if (e.finish == TDM_CONTEXT) return error_set(err, TDM_E_CONTEXT, "bench: the context is full");
    }
    return interrupt_seen() || !output_read() ? error_set(err, TDM_E_CANCELLED, "interrupted") : TDM_OK;
}

static tdm_status pump(bench_talk *t, int64_t until_ns, tdm_error *err)
{
    for (;;) {
        tdm_status status = take(t, err);
        int64_t left = until_ns - clock_ns();
        if (status || left <= 0) return status;
        /* poll waits whole milliseconds; Enter is due at its time, so the last one is waited for in small steps. */
        wait_for(t->chat, -1, left > 500000000 ? 500 : left < 1000000 ? 1 : (int)(left / 1000000));
    }
}

tdm_status bench_talk_type(bench_talk *t, const char *text, size_t there, double cps, double gap_s, tdm_error *err)
{
    script typing = {.seed = t->seed, .typing_cps = cps};
    size_t n = strlen(text), at = there < n ? there : n;
    int64_t next;
    tdm_chat_status now = {0};
    tdm_status status = TDM_OK;
    if (at) {
        status = tdm_chat_set_draft(t->chat, text, at, false, err);
        if (!status) tdm_chat_status_of(t->chat, &now);
        if (!status && now.phase == TDM_IDLE) { /* the pause passes, and what it starts ends */
            status = pump(t, clock_ns() + 300000000, err);
            tdm_chat_wait_idle(t->chat, 5000);
        }
    }
    next = clock_ns();
    for (int character = 0; !status && at < n; character++) {
        at++;
        while (at < n && utf8_continues(text[at])) at++;
        next += (int64_t)(1e9 * script_interval(&typing, t->turn, character));
        status = pump(t, next, err);
        if (!status) status = tdm_chat_set_draft(t->chat, text, at, false, err);
        t->last_key_ns = clock_ns();
    }
    return status ? status : pump(t, clock_ns() + (int64_t)(1e9 * gap_s), err);
}

tdm_status bench_talk_send(bench_talk *t, const char *text, tdm_error *err)
{
    t->turn++;
    return tdm_chat_send(t->chat, text, strlen(text), clock_ns(), err);
}

tdm_status bench_talk_wait_tokens(bench_talk *t, int tokens, tdm_error *err)
{
    int ended = t->ended;
    tdm_status status = TDM_OK;
    while (!status && t->ended == ended && t->reply_tokens < tokens) status = pump(t, clock_ns() + 2000000, err);
    return status;
}

tdm_status bench_talk_wait_ended(bench_talk *t, int ended, tdm_error *err)
{
    tdm_status status = take(t, err);
    while (!status && t->ended < ended) {
        tdm_chat_status now;
        bool quiet = !wait_for(t->chat, -1, 500);
        if (quiet) tdm_chat_status_of(t->chat, &now); /* before the events are taken: a reply's end may be among them */
        status = take(t, err);
        if (!status && t->ended < ended && quiet && now.phase == TDM_IDLE)
            status = error_set(err, TDM_E_REFUSED, "bench: %d of %d replies ended, and nothing is left to do", t->ended, ended);
    }
    return status;
}
