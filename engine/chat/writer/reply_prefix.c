#include "engine/chat/writer/reply_prefix.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/answer.h"
#include "engine/chat/lost.h"

#include <string.h>

tdm_status reply_prefix_take(struct writer *w, struct decoder *d, const struct target *t, tdm_error *err)
{
    d->prefix_ids.n = 0;
    w->prefix_from = t->n;
    return t->reply_prefix ? ids_list_append(&d->prefix_ids, t->ids + t->n, t->reply_prefix, err) : TDM_OK;
}

/* Does the state of an answer lack the prompt, or some of the reply's own ids behind it? */
static bool lacks(const struct tdm_chat *c, const struct decoder *d)
{
    return d->writing && d->state->length < c->writer.prefix_from + d->prefix_ids.n;
}

/* Whose state is next: those that begin with a copy of the prompt's state before the one that has it. NULL: none. */
static struct decoder *next_decoder(const struct tdm_chat *c)
{
    struct dialogue *front = c->front;
    struct decoder *carrier = c->writer.carrier;
    for (int i = 0; c->writer.again && i < front->answers; i++)
        if (front->decoders[i] != carrier && lacks(c, front->decoders[i])) return front->decoders[i];
    bool wants = carrier->prefix_ids.n > 0 && front->reply_node &&
                 carrier->state->length < c->writer.prefix_from + carrier->prefix_ids.n;
    return wants ? carrier : NULL;
}

bool reply_prefix_is_lacking(const struct tdm_chat *c)
{
    return next_decoder(c) != NULL;
}

static void job_own(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct evaluator *evaluator = c->side[chat_pipeline(c)->decode_unit].evaluator;
    const struct prefix_pass *p = &c->writer.prefix_pass;
    struct decoder *d = p->decoder;
    struct forward_run run = {.state = d->state, .tokens = p->ids, .n = p->n,
                              .logits = p->last ? LOGITS_LAST : LOGITS_NONE};
    tdm_error err = {0};
    int64_t start = clock_ns();
    tdm_status status = d->state->length ? TDM_OK : state_copy(d->state, c->writer.carrier->state, &err);
    if (!status && p->n) status = evaluator_forward(team, evaluator, &run, 1, NULL, &span->bytes, &err);
    if (status) span->tokens = 0;
    chat_lock(c);
    bool wanted = c->front->stage == STAGE_PREFIX_RUN;
    chat_event(c, c->front, ON_RETURN);
    if (c->writer.arrival.since_ns)
        c->writer.arrival.since_ns += clock_ns() - start; /* that is no time of the hand-over */
    if (wanted && status && lost_check(c, err.text)) {
        /* from the prompt on */
    } else if (wanted && status) {
        events_post_line(c->events, TDM_EV_ERROR, "the decode unit failed: %s", err.text);
        answer_end_all(c, c->front, TDM_FINISH_FAILED);
    } else if (wanted && !reply_prefix_is_lacking(c)) {
        chat_event(c, c->front, ON_READY);
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

int64_t reply_prefix_next(struct tdm_chat *c, struct work *work)
{
    struct decoder *d = next_decoder(c);
    struct prefix_pass *p = &c->writer.prefix_pass;
    if (!d) { /* what was lacking was stopped */
        chat_event(c, c->front, ON_READY);
        return UNIT_IDLE;
    }
    uint32_t most = c->side[chat_pipeline(c)->decode_unit].evaluator->form.max_tokens;
    uint32_t at = d->state->length ? d->state->length - c->writer.prefix_from : 0;
    uint32_t rest = (uint32_t)d->prefix_ids.n - at;
    if (most > PREFIX_ROWS) most = PREFIX_ROWS;
    p->decoder = d;
    p->n = rest < most ? rest : most;
    p->last = p->n == rest;
    if (p->n) memcpy(p->ids, d->prefix_ids.ids + at, p->n * sizeof *p->ids);
    d->state_tokens = 0;
    chat_event(c, c->front, ON_CLAIM);
    *work = (struct work){.fn = job_own, .ctx = c, .kind = SPAN_PROMPT, .tokens = p->n};
    return UNIT_WORK;
}
