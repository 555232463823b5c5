/* What every other file of the folder uses: the lock, facts about the chat, and the transitions of a turn's stage. */
#include "engine/chat/chat.h"

#include "engine/base/error.h"

/* ---- The lock ---------------------------------------------------------------------------------------------------- */

void chat_lock(const struct tdm_chat *c)
{
    pthread_mutex_lock(&((struct tdm_chat *)c)->lock);
}

void chat_unlock(const struct tdm_chat *c)
{
    pthread_mutex_unlock(&((struct tdm_chat *)c)->lock);
    events_signal(c->events);
}

void chat_quiesce(struct tdm_chat *c)
{
    c->writer.waiting++;
    while (stage_uses_decoder(c->front->stage) || stage_uses_prompter(c->front->stage) ||
           stage_uses_decoder(c->back->stage))
        pthread_cond_wait(&c->settled, &c->lock);
    c->writer.waiting--;
}

/* ---- Facts ------------------------------------------------------------------------------------------------------- */

struct unit *chat_unit(const struct tdm_chat *c, int unit)
{
    return c->machine->units[unit];
}

const struct pipeline *chat_pipeline(const struct tdm_chat *c)
{
    return pipeline_of(c->front->pipeline);
}

enum stage_phase chat_phase(const struct tdm_chat *c)
{
    return stage_phase(c->front->stage);
}

struct prompt_options chat_prompt_options(const struct tdm_chat *c)
{
    const tdm_chat_options *o = &c->options;
    if (chat_phase(c) == PHASE_PROMPT) return c->front->prompt_options;
    return (struct prompt_options){o->think, o->keep_thinking, (uint32_t)o->picture_tokens};
}

bool chat_on_server(const struct tdm_chat *c)
{
    return c->model->server;
}

tdm_speculation chat_level(const struct tdm_chat *c)
{
    tdm_speculation level = c->options.reading == TDM_READ_NEVER ? TDM_SPEC_OFF : c->options.speculation;
    /* A server that evaluates all of a prompt again for each new end is only asked for what stays. */
    bool rereads = chat_on_server(c) && atomic_load(&c->model->server->rereads);
    return rereads && level > TDM_SPEC_HISTORY ? TDM_SPEC_HISTORY : level;
}

uint32_t chat_dispatch(const struct tdm_chat *c, const struct backend_model *m)
{
    return c->options.dispatch ? (uint32_t)c->options.dispatch : backend_dispatch(m);
}

bool chat_sides_agree(const struct tdm_chat *c)
{
    enum unit_kind kind = unit_kind(chat_unit(c, TDM_PREFILL_UNIT));
    return kind == unit_kind(chat_unit(c, TDM_DECODE_UNIT)) && kind != UNIT_BLAS && !c->two_pools &&
           backend_agrees(c->side[TDM_PREFILL_UNIT].residence.model, c->side[TDM_DECODE_UNIT].residence.model);
}

bool chat_back_goes_on(const struct tdm_chat *c)
{
    enum stage_phase front = chat_phase(c);
    if (stage_phase(c->back->stage) != PHASE_DECODE || c->lost || stage_prompts(c->front->stage)) return false;
    return front == PHASE_IDLE || (front == PHASE_DECODE && c->front->decoder->unit == TDM_DECODE_UNIT);
}

/* ---- What happens ------------------------------------------------------------------------------------------------ */

/* The unit whose next job the stage in front has. The other one is left asleep, so that its cores can be lent. */
static int waited_for_by(const struct tdm_chat *c)
{
    enum stage stage = c->front->stage;
    if (stage == STAGE_RESUME || stage == STAGE_PREFIX) return chat_pipeline(c)->decode_unit;
    return stage_prompts(stage) ? pipeline_of(c->reader.prompter.pipeline)->prompt_unit : TDM_PREFILL_UNIT;
}

void chat_event(struct tdm_chat *c, struct dialogue *d, enum stage_event event)
{
    struct stage_transition t = stage_transition(d->stage, event);
    assert_always(t.possible);
    bool rested = !chat_back_goes_on(c);
    d->stage = t.next;
    if (rested && chat_back_goes_on(c)) unit_wake(chat_unit(c, TDM_DECODE_UNIT));
    if (d == c->back && d->stage == STAGE_IDLE) { /* without a turn its states are not needed */
        dialogue_drop_states(d);
        c->writer.joining = (struct joining){0};
    }
    switch (t.action) {
    case DO_WAKE:
        unit_wake(chat_unit(c, waited_for_by(c)));
        break;
    case DO_READ:
        c->reader.read_at_enter = d->stats.prompt_tokens; /* the plans to come say it */
        unit_wake(chat_unit(c, TDM_PREFILL_UNIT));
        break;
    case DO_CANCEL:
        atomic_store(&c->reader.prompter.cancel, true);
        break;
    case DO_REPLY:
        c->steps->reply(c);
        break;
    default:
        break; /* nothing, or a job, which is its claimant's */
    }
}
