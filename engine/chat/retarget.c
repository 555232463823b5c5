/* The target of the moment: what the next prompt will begin with, given the draft and how long the user has rested. */
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"

int64_t chat_pause_ns(const struct tdm_chat *c)
{
    if (c->options.pause_ms >= 0) return (int64_t)c->options.pause_ms * 1000000;
    if (chat_on_server(c)) return chat_server_pause_ns(c);
    return pause_auto(&c->typing, c->draft.bytes, c->draft.n, c->follower.figures.suffix_ns);
}

tdm_speculation chat_level(const struct tdm_chat *c)
{
    tdm_speculation level = c->options.reading == TDM_READ_NEVER ? TDM_SPEC_OFF : c->options.speculation;
    /* A server that evaluates all of a prompt again for each new end is only asked for what stays. */
    bool rereads = chat_on_server(c) && atomic_load(&c->model->server->rereads);
    return rereads && level > TDM_SPEC_HISTORY ? TDM_SPEC_HISTORY : level;
}

static bool draft_counts(const struct tdm_chat *c)
{
    return chat_phase(c) == PHASE_IDLE && c->draft.n > 0 && !c->draft_held && !c->draft_too_long &&
           chat_level(c) >= TDM_SPEC_DRAFT;
}

static struct target_input target_input(const struct tdm_chat *c)
{
    enum stage_phase phase = chat_phase(c);
    const struct decoder *looked = c->decoder;
    bool decoding = phase == PHASE_DECODE; /* until the last answer has ended: the one looked at may have */
    return (struct target_input){
        .conversation = &c->conversation,
        .path_start = c->path_start,
        .level = chat_level(c),
        .think = c->options.think,
        .keep = template_keeps(c->model->form, c->options.keep_thinking),
        .reply = decoding && looked->writing ? looked->node : 0,
        .sent = phase == PHASE_PROMPT && !c->reply_node ? c->user_node : 0,
        .resumed = phase == PHASE_PROMPT ? c->reply_node : 0,
        .apart = c->again ||
                 (chat_pipeline(c)->prompt_unit != chat_pipeline(c)->decode_unit && !chat_sides_agree(c)),
        .draft = c->draft.bytes,
        .draft_length = c->draft_too_long || decoding ? 0 : c->draft.n,
        .draft_held = c->draft_held,
        .closed = c->draft_closed,
    };
}

bool chat_draft_rests(const struct tdm_chat *c, int64_t now_ns)
{
    return draft_counts(c) && chat_level(c) >= TDM_SPEC_FULL && now_ns - c->typing.last_ns >= chat_pause_ns(c);
}

bool chat_waits_for_pause(const struct tdm_chat *c)
{
    return draft_counts(c) && chat_level(c) >= TDM_SPEC_FULL && !c->draft_closed;
}

int64_t chat_rests_until(const struct tdm_chat *c, int64_t now_ns)
{
    if (c->options.reading != TDM_READ_AT_PAUSES && !chat_on_server(c)) return 0;
    if (chat_phase(c) == PHASE_DECODE) return INT64_MAX;
    int64_t until = draft_counts(c) ? c->typing.last_ns + chat_pause_ns(c) : 0;
    return until > now_ns ? until : 0;
}

void chat_compute_target(struct tdm_chat *c, int64_t now_ns)
{
    c->draft_closed = chat_draft_rests(c, now_ns);
    struct target_input in = target_input(c);
    tdm_error err;
    if (target_make(c->targets, &in, &c->target, &err)) {
        c->target = (struct target){0};
        events_post_line(c->events, TDM_EV_ERROR, "the next prompt can't be prepared: %s", err.text);
    }
    c->unfollowed = 0;
}

uint32_t chat_prompt_length(struct tdm_chat *c)
{
    struct target_input in = target_input(c);
    struct target whole;
    in.closed = true;
    return target_make(c->targets, &in, &whole, NULL) ? 0 : whole.n;
}

void chat_retarget(struct tdm_chat *c, int64_t now_ns)
{
    chat_compute_target(c, now_ns);
    c->follower_failed = false;
    follower_cancel_if_stale(&c->follower, &c->target);
    unit_wake(chat_unit(c, TDM_PREFILL_UNIT));
}
