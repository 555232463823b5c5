#include "engine/chat/reader/prompt.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/answer.h"
#include "engine/chat/lost.h"
#include "engine/chat/prepare.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/reader/pictures.h"
#include "engine/chat/writer/arrival.h"

/* While the other unit encodes a picture, the source is asked again after this time. */
enum { LOOK_AGAIN_NS = 1000000 };

/* Where a prompt is evaluated. */
static const struct side *side_of(const struct tdm_chat *c)
{
    return &c->side[pipeline_of(c->reader.prompter.pipeline)->prompt_unit];
}

/* The cold prompt has its first logits: compares them, and posts the result. */
static void cold_done(struct tdm_chat *c)
{
    struct prompter *p = &c->reader.prompter;
    struct sampling_request request = {c->front->decoder->sampler, &c->options.sampling, p->turn, p->attempt, 0};
    tdm_error err;
    tdm_id id = -1;
    sampler_start(request.sampler, p->ids.ids, p->ids.n);
    if (evaluator_sample(side_of(c)->evaluator, p->state, &request, &id, &err))
        events_post_line(c->events, TDM_EV_ERROR, "the prompt could not be evaluated: %s", err.text);
    p->answer.cold_ms = (double)(clock_ns() - p->start_ns) / 1e6;
    p->answer.cold_tokens = (uint32_t)p->ids.n;
    p->answer.same_first_token = id == p->first_id;
    chat_event(c, c->front, ON_END);
    events_post(c->events, &(tdm_event){.kind = TDM_EV_COLD, .node = p->reply, .cold = p->answer});
}

static void job_prompt(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct prompter *p = &c->reader.prompter;
    struct dialogue *front = c->front;
    tdm_error err = {0};
    tdm_turn_stats times = {0};
    int64_t moving_ns = 0;
    struct crossing x = {.team = team};
    tdm_status status = prompter_perform(p, side_of(c)->evaluator, team, span, &err);
    bool last = status == TDM_OK && prompter_is_last(p);
    bool moves = last && !p->cold && pipeline_of(p->pipeline)->transfer != TRANSFER_NONE;
    if (moves) {
        moving_ns = clock_ns();
        status = bridge_move(&c->writer.bridge, p->reply_state, p->state, &x, &times, &err);
    }
    chat_lock(c);
    p->done += status ? 0 : p->piece;
    bool stopped = front->stage == STAGE_IDLE_DROP; /* perhaps too late for the pass to notice */
    chat_event(c, front, ON_RETURN);
    bool again = status && status != TDM_E_CANCELLED && !stopped && !p->cold && lost_check(c, err.text);
    if (status && status != TDM_E_CANCELLED && !again)
        events_post_line(c->events, TDM_EV_ERROR, "the prompt could not be evaluated: %s", err.text);
    if (again) {
        /* from its beginning, on the cores */
    } else if (status && !stopped && p->cold) {
        chat_event(c, front, ON_END);
    } else if (status && !stopped) {
        answer_end_all(c, front, TDM_FINISH_FAILED);
    } else if (last && !stopped && p->cold) {
        cold_done(c);
    } else if (last && !stopped) {
        if (moves) {
            bridge_record(&front->stats, &times);
        } else {
            front->decoder->state = p->state;
            p->state = p->reply_state;
        }
        arrival_begin_reply(c, moves ? moving_ns : 0, x.bytes);
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

int64_t prompt_next(struct tdm_chat *c, int64_t now_ns, struct work *work)
{
    struct prompter *p = &c->reader.prompter;
    bool busy;
    if (c->front->stage != STAGE_PROMPT && c->front->stage != STAGE_COLD) return UNIT_IDLE;
    if (pictures_next(c, work, &busy)) return UNIT_WORK;
    if (busy) return now_ns + LOOK_AGAIN_NS;
    if (p->done == 0) state_clear(p->state);
    p->dispatch = chat_dispatch(c, side_of(c)->residence.model);
    p->reply_state = c->front->decoder->state;
    c->writer.bridge.way = c->options.bridge;
    chat_event(c, c->front, ON_CLAIM);
    if (!p->cold) c->front->decoder->state_tokens = 0; /* its state is where the prompt's goes */
    *work = (struct work){.fn = job_prompt, .ctx = c, .kind = SPAN_PROMPT};
    return UNIT_WORK;
}

tdm_status prompt_begin_cold(struct tdm_chat *c, int reply, tdm_pipeline pipeline, tdm_error *err)
{
    struct prompter *p = &c->reader.prompter;
    const struct conversation *all = &c->front->conversation;
    const struct node *node = &all->nodes[reply];
    tdm_status status = events_reserve(c->events, 1 + dialogue_writing(c->back), err);
    if (!status) status = prepare_turn(c, pipeline, 1, true, err);
    if (status) return status;
    struct prompt_options options = chat_prompt_options(c);
    struct target_input in = {.conversation = all,
                              .path_start = c->front->path_start,
                              .think = options.think,
                              .keep = options.keep,
                              .sent = node->parent,
                              .vision = c->model->vision,
                              .reads = c->side[TDM_PREFILL_UNIT].residence.model,
                              .picture_tokens = options.picture_tokens};
    struct target prompt;
    uint32_t context = (uint32_t)c->options.context;
    status = target_make(c->reader.targets, &in, &prompt, err);
    if (!status && prompt.n >= context) /* it may have grown since: with pictures of more tokens, or a system prompt */
        status = retarget_refuse("the context is full", prompt.n, context, err);
    if (status == TDM_OK) status = prompter_begin(p, pipeline, &prompt, true, err);
    retarget(c, clock_ns());
    if (status) return status;
    const tdm_turn_stats *warm = &node->stats;
    p->answer = (tdm_cold){.pipeline = pipeline, .warm_tokens = warm->after_enter,
                           .warm_engine_ms = (double)(warm->first_id_ns - warm->enter_ns) / 1e6};
    p->first_id = node->reply.ids[0];
    p->turn = (uint32_t)conversation_turns(all, reply);
    p->attempt = node->attempt;
    p->reply = reply;
    p->start_ns = clock_ns();
    chat_event(c, c->front, ON_COLD);
    unit_wake(chat_unit(c, pipeline_of(pipeline)->prompt_unit));
    return TDM_OK;
}
