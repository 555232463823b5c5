#include "src/plain/ending.h"

#include "src/io/output.h"

/* No word came of the reply, or its prompt was not read to its end. */
static const char *unanswered(const app *a, tdm_finish finish)
{
    if (finish == TDM_FINISH_STOPPED) return "(stopped; /regen asks again)";
    bool unit = finish == TDM_FINISH_FAILED && !a->info.on_server;
    return unit ? "(a unit failed; /regen tries again)" : "(there is no reply; /regen asks again)";
}

/* What helps where the context is full: with drop-oldest all older turns are left out by now. */
static const char *full(const app *a)
{
    tdm_chat_options o;
    tdm_chat_options_of(a->chat, &o);
    return o.on_full == TDM_FULL_STOP
               ? "(the context is full: /compact sums up the oldest turns, /set on-full drop-oldest leaves them out, "
                 "/new begins anew)"
               : "(the context is full of this turn alone: --context N makes it larger, /new begins anew)";
}

void ending_note(const app *a, const tdm_event *e)
{
    static const char *const notes[] = {
        [TDM_FINISH_STOPPED] = "(stopped; /continue goes on)",
        [TDM_FINISH_REPEATS] = "(it only repeated itself; /continue goes on, /set loop-guard off lets it)",
    };
    if (!e->node)
        output_note("%s", unanswered(a, e->finish));
    else if (e->finish == TDM_FINISH_CONTEXT)
        output_note("%s", full(a));
    else if (e->finish == TDM_FINISH_LENGTH)
        output_note("(cut off at %u tokens; /continue goes on)", e->stats.reply_tokens - e->stats.thinking_tokens);
    else if (e->finish == TDM_FINISH_FAILED)
        output_note("%s", a->info.on_server ? "(the reply broke off; what came is kept, /continue goes on)"
                                            : "(a unit failed; what came is kept, /regen tries again)");
    else if ((size_t)e->finish < sizeof notes / sizeof *notes && notes[e->finish])
        output_note("%s", notes[e->finish]);
}
