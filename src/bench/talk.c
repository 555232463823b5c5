#include "src/bench/talk.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/talk.h"

enum { CONTEXT = 4096, PAUSE_MS = 300, READ_MS = 5000 };

void bench_talk_defaults(tdm_chat_options *o, const tdm_model *m)
{
    tdm_model_info info;
    tdm_model_describe(m, &info);
    tdm_chat_defaults(o, m);
    o->context = info.trained_context && info.trained_context < CONTEXT ? info.trained_context : CONTEXT;
    o->sampling = (tdm_sampling){.top_p = 1, .repeat_penalty = 1};
    o->ignore_eos = true;
}

static tdm_status on_event(void *host, const tdm_event *e, tdm_error *err)
{
    bench_talk *t = host;
    if (e->kind != TDM_EV_END) return TDM_OK;
    t->stats = e->stats;
    return e->finish == TDM_FINISH_CONTEXT ? error_set(err, TDM_E_CONTEXT, "bench: the context is full") : TDM_OK;
}

tdm_status bench_talk_open(bench_talk *t, const tdm_model *m, tdm_machine *machine, const tdm_chat_options *o,
                           tdm_error *err)
{
    *t = (bench_talk){.chat = {.settings = *o, .seen = on_event}};
    tdm_status status = tdm_chat_open(&t->chat.chat, m, machine, o, err);
    if (!status && !talk_wait_idle(t->chat.chat)) status = error_set(err, TDM_E_CANCELLED, "interrupted");
    return status;
}

void bench_talk_close(bench_talk *t)
{
    tdm_chat_close(t->chat.chat);
    *t = (bench_talk){0};
}

static tdm_status type(void *host, const char *text, size_t n, bool pasted, tdm_error *err)
{
    bench_talk *t = host;
    int turn = t->chat.player.turn;
    tdm_chat_status now;
    if (t->unread[turn]) return TDM_OK;
    tdm_status status = player_chat_functions.type(host, text, n, pasted, err);
    t->last_key_ns[turn] = clock_ns();
    if (status || !pasted) return status;
    tdm_chat_status_of(t->chat.chat, &now);
    if (now.phase != TDM_PHASE_IDLE) return TDM_OK;
    usleep(1000 * PAUSE_MS); /* the pause passes, and the work that it starts ends */
    tdm_chat_wait_idle(t->chat.chat, READ_MS);
    return TDM_OK;
}

tdm_status bench_talk_play(bench_talk *t, const script *s, tdm_error *err)
{
    player_functions functions = player_chat_functions;
    functions.type = type;
    return player_chat_play(&t->chat, s, &functions, err);
}

tdm_status bench_talk_ask(bench_talk *t, const char *text, tdm_error *err)
{
    script_event whole = {.action = SCRIPT_INSERT, .text = text, .after_tokens = -1};
    script_turn turn = {.text = "", .start_after_tokens = -1, .speculation = -1, .events = &whole, .n_events = 1};
    t->unread[0] = true;
    return bench_talk_play(t, &(script){.turns = &turn, .n = 1, .max_tokens = t->chat.settings.max_tokens}, err);
}
