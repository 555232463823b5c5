#include "engine/chat/reader/retarget.h"

#include "engine/base/error.h"
#include "engine/chat/remote.h"

int64_t retarget_pause_ns(const struct tdm_chat *c)
{
    if (c->options.pause_ms == TDM_PAUSE_NONE) return 0;
    if (c->options.pause_ms) return (int64_t)c->options.pause_ms * 1000000;
    if (chat_on_server(c)) return remote_pause_ns(c);
    return pause_auto(&c->draft.typing, c->draft.text.bytes, c->draft.text.n, c->reader.follower.figures.suffix_ns);
}

static bool draft_counts(const struct tdm_chat *c)
{
    return chat_phase(c) == PHASE_IDLE && (c->draft.text.n > 0 || c->draft.pictures.n > 0) && !c->draft.held &&
           !c->draft.too_long && chat_level(c) >= TDM_SPEC_DRAFT;
}

static struct target_input target_input(const struct tdm_chat *c)
{
    struct dialogue *front = c->front;
    enum stage_phase phase = chat_phase(c);
    const struct decoder *looked = front->decoder;
    struct prompt_options options = chat_prompt_options(c);
    bool decoding = phase == PHASE_DECODE; /* until the last answer has ended: the one looked at may have */
    return (struct target_input){
        .conversation = &front->conversation,
        .path_start = front->path_start,
        .level = chat_level(c),
        .think = options.think,
        .keep = options.keep,
        .reply = decoding && looked->writing ? looked->node : 0,
        .sent = phase == PHASE_PROMPT && !front->reply_node ? front->user_node : 0,
        .resumed = phase == PHASE_PROMPT ? front->reply_node : 0,
        .apart =
            c->writer.again || (chat_pipeline(c)->prompt_unit != chat_pipeline(c)->decode_unit && !chat_sides_agree(c)),
        .draft = c->draft.text.bytes,
        .draft_length = c->draft.too_long || decoding ? 0 : c->draft.text.n,
        .draft_held = c->draft.held,
        .pictures = c->draft.too_long || decoding ? NULL : &c->draft.pictures,
        .vision = c->model->vision,
        .reads = c->side[TDM_PREFILL_UNIT].residence.model,
        .served = chat_on_server(c),
        .picture_tokens = options.picture_tokens,
        .closed = c->draft.closed,
    };
}

bool retarget_draft_rests(const struct tdm_chat *c, int64_t now_ns)
{
    return draft_counts(c) && chat_level(c) >= TDM_SPEC_FULL &&
           now_ns - c->draft.typing.last_ns >= retarget_pause_ns(c);
}

bool retarget_waits_for_pause(const struct tdm_chat *c)
{
    return draft_counts(c) && chat_level(c) >= TDM_SPEC_FULL && !c->draft.closed;
}

int64_t retarget_rests_until(const struct tdm_chat *c, int64_t now_ns)
{
    if (c->options.reading != TDM_READ_AT_PAUSES && !chat_on_server(c)) return 0;
    if (chat_phase(c) == PHASE_DECODE) return INT64_MAX;
    int64_t until = draft_counts(c) ? c->draft.typing.last_ns + retarget_pause_ns(c) : 0;
    if (until > now_ns) return until;
    return chat_on_server(c) && !remote_asks(c) ? INT64_MAX : 0;
}

tdm_status retarget_compute(struct tdm_chat *c, int64_t now_ns, tdm_error *err)
{
    c->draft.closed = retarget_draft_rests(c, now_ns);
    struct target_input in = target_input(c);
    tdm_error failure;
    tdm_status status = target_make(c->reader.targets, &in, &c->reader.target, err ? err : &failure);
    if (status) {
        c->reader.target = (struct target){0};
        if (!err && !c->reader.unmade)
            events_post_line(c->events, TDM_EV_ERROR, "the next prompt can't be prepared: %s", failure.text);
    }
    c->reader.unmade = status != TDM_OK;
    if (chat_on_server(c)) remote_want(c);
    c->reader.unfollowed = 0;
    return status;
}

uint32_t retarget_prompt_length(struct tdm_chat *c)
{
    struct target_input in = target_input(c);
    struct target whole;
    in.closed = true;
    return target_make(c->reader.targets, &in, &whole, NULL) ? 0 : whole.n;
}

uint32_t retarget_resumed_length(struct tdm_chat *c, int node, int path_start)
{
    struct target_input in = target_input(c);
    struct target whole;
    in.reply = in.sent = 0;
    in.resumed = node;
    in.path_start = path_start;
    return target_make(c->reader.targets, &in, &whole, NULL) ? 0 : whole.n + whole.reply_prefix;
}

tdm_status retarget_refuse(const char *why, uint32_t tokens, uint32_t context, tdm_error *err)
{
    return error_set(err, TDM_E_CONTEXT, "%s: the prompt has %u tokens, there is room for %u", why, tokens,
                     context - 1);
}

void retarget(struct tdm_chat *c, int64_t now_ns)
{
    retarget_compute(c, now_ns, NULL);
    c->reader.failed = false;
    c->reader.pictures.failed = NULL;
    follower_cancel_if_stale(&c->reader.follower, &c->reader.target);
    unit_wake(chat_unit(c, TDM_PREFILL_UNIT));
}
