/* Prompts evaluated from an empty state: those of pipelines that do not follow, and cold ones for comparison. */
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"

/* The cold prompt has its first logits: compares and tells. */
static void cold_done(struct tdm_chat *c)
{
    struct prompter *p = &c->prompter;
    struct draw draw = {c->decoder->sampler, &c->options.sampling, p->turn, p->attempt, 0};
    tdm_error err;
    tdm_id id = -1;
    sampler_start(draw.sampler, p->ids.ids, p->ids.n);
    if (evaluator_draw(c->side[pipeline_of(p->pipeline)->prompt_unit].evaluator, p->state, &draw, &id, &err))
        events_post_line(c->events, TDM_EV_ERROR, "the prompt could not be evaluated: %s", err.text);
    p->answer.cold_ms = (double)(clock_ns() - p->start_ns) / 1e6;
    p->answer.cold_tokens = (uint32_t)p->ids.n;
    p->answer.same_first_token = id == p->first_id;
    chat_on(c, ON_END);
    events_post(c->events, &(tdm_event){.kind = TDM_EV_COLD, .node = p->reply, .cold = p->answer});
}

static void job_prompt(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct prompter *p = &c->prompter;
    const struct pipeline *pipeline = pipeline_of(p->pipeline);
    const struct side *side = &c->side[pipeline->prompt_unit];
    uint32_t rest = (uint32_t)p->ids.n - p->done, rows;
    uint32_t n = pipeline_piece(pipeline, rest, p->dispatch, side->evaluator->form.max_tokens, &rows);
    struct forward_run run = {.state = p->state, .tokens = p->ids.ids + p->done, .n = n, .pad = rows - n,
                              .logits = n == rest ? LOGITS_LAST : LOGITS_NONE};
    struct forward_options options = {.cancel = &p->cancel};
    tdm_error err = {0};
    tdm_turn_stats times = {0};
    int64_t moving_ns = 0;
    struct state *state = p->state;
    tdm_status status = evaluator_forward(team, side->evaluator, &run, 1, &options, &span->bytes, &err);
    span->tokens = status ? 0 : n;
    span->first = p->done;
    span->ids_hash = status ? 0 : activity_hash(run.tokens, n);
    bool last = status == TDM_OK && n == rest, moves = last && !p->cold && pipeline->transfer != TRANSFER_NONE;
    if (moves) {
        moving_ns = clock_ns();
        status = chat_transfer(c, &state, c->decoder->state, &times, &err);
    }
    chat_lock(c);
    p->done += status ? 0 : n;
    bool stopped = c->stage == STAGE_IDLE_DROP; /* perhaps too late for the pass to notice */
    chat_on(c, ON_RETURN);
    bool again = status && status != TDM_E_CANCELLED && !stopped && !p->cold && chat_lose(c, err.text);
    if (status && status != TDM_E_CANCELLED && !again)
        events_post_line(c->events, TDM_EV_ERROR, "the prompt could not be evaluated: %s", err.text);
    if (again) {
        /* from its beginning, on the cores */
    } else if (status && !stopped && p->cold) {
        chat_on(c, ON_END);
    } else if (status && !stopped) {
        chat_end(c, TDM_FAILED);
    } else if (last && !stopped && p->cold) {
        cold_done(c);
    } else if (last && !stopped) {
        if (moves) {
            chat_record_transfer(&c->stats, &times);
            c->decoder->state = state;
        } else {
            p->state = c->decoder->state;
            c->decoder->state = state;
        }
        chat_begin_reply(c, moves ? moving_ns : 0, c->bridge.size);
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}
int64_t chat_next_prompt(struct tdm_chat *c, struct work *work)
{
    struct prompter *p = &c->prompter;
    if (c->stage != STAGE_PROMPT && c->stage != STAGE_COLD) return UNIT_IDLE;
    if (p->done == 0) state_clear(p->state);
    p->dispatch = chat_dispatch(c, c->side[pipeline_of(p->pipeline)->prompt_unit].place.model);
    chat_on(c, ON_CLAIM);
    if (!p->cold) c->decoder->held = 0; /* its state is where the prompt's goes */
    *work = (struct work){.fn = job_prompt, .ctx = c, .kind = SPAN_PROMPT};
    return UNIT_WORK;
}

static tdm_status start(struct prompter *p, tdm_pipeline pipeline, const struct target *prompt, bool cold,
                        tdm_error *err)
{
    p->done = 0;
    p->pipeline = pipeline;
    p->cold = cold;
    atomic_store(&p->cancel, false);
    p->ids.n = 0;
    return ids_list_append(&p->ids, prompt->ids, prompt->n, err);
}

tdm_status chat_begin_prompt(struct tdm_chat *c, tdm_error *err)
{
    return start(&c->prompter, c->pipeline, &c->target, false, err);
}

tdm_status chat_begin_cold(struct tdm_chat *c, int reply, tdm_pipeline pipeline, tdm_error *err)
{
    struct prompter *p = &c->prompter;
    const struct node *node = &c->conversation.nodes[reply];
    tdm_status status = events_reserve(c->events, 1 + chat_writing_elsewhere(c), err);
    if (!status) status = chat_prepare(c, pipeline, 1, true, err);
    if (status) return status;
    struct target_input in = {.conversation = &c->conversation, .path_start = c->path_start, .think = c->options.think,
                              .keep = template_keeps(c->model->form, c->options.keep_thinking), .sent = node->parent};
    struct target prompt;
    status = target_make(c->targets, &in, &prompt, err);
    if (status == TDM_OK) status = start(p, pipeline, &prompt, true, err);
    chat_retarget(c, clock_ns());
    if (status) return status;
    const tdm_turn_stats *warm = &node->stats;
    p->answer = (tdm_cold){.pipeline = pipeline, .warm_tokens = warm->after_enter,
                           .warm_engine_ms = (double)(warm->first_id_ns - warm->enter_ns) / 1e6};
    p->first_id = node->reply.ids[0];
    p->turn = (uint32_t)conversation_turns(&c->conversation, reply);
    p->attempt = node->attempt;
    p->reply = reply;
    p->start_ns = clock_ns();
    chat_on(c, ON_COLD);
    unit_wake(chat_unit(c, pipeline_of(pipeline)->prompt_unit));
    return TDM_OK;
}
