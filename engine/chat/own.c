/* A reply is continued that is not in the decoder's state, and the units give other bits: the prefill unit reads the
 * prompt, as it did before the reply began, and the decode unit reads the reply's own ids, as it did when it decoded
 * them. So the reply goes on with the bits that it would have if nobody had stopped it.
 */
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"

#include <string.h>

tdm_status chat_take_own(struct tdm_chat *c, tdm_error *err)
{
    struct decoder *d = c->decoder;
    const struct target *t = &c->target;
    d->own.n = 0;
    c->own_from = t->n;
    return t->own ? ids_list_append(&d->own, t->ids + t->n, t->own, err) : TDM_OK;
}

/* Does the state of an answer lack the prompt, or some of the reply's own ids behind it? */
static bool lacks(const struct tdm_chat *c, const struct decoder *d)
{
    return d->writing && d->state->length < c->own_from + d->own.n;
}

/* Whose state is next: those that begin with a copy of the prompt's state before the one that has it. NULL: none. */
static struct decoder *next_decoder(const struct tdm_chat *c)
{
    struct decoder *carrier = c->carrier;
    for (int i = 0; c->again && i < c->answers; i++)
        if (c->decoders[i] != carrier && lacks(c, c->decoders[i])) return c->decoders[i];
    bool wants = carrier->own.n > 0 && c->reply_node && carrier->state->length < c->own_from + carrier->own.n;
    return wants ? carrier : NULL;
}

bool chat_lacks_own(const struct tdm_chat *c)
{
    return next_decoder(c) != NULL;
}

static void job_own(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct evaluator *evaluator = c->side[chat_pipeline(c)->decode_unit].evaluator;
    const struct own_pass *p = &c->own_pass;
    struct decoder *d = p->decoder;
    struct forward_run run = {.state = d->state, .tokens = p->ids, .n = p->n,
                              .logits = p->last ? LOGITS_LAST : LOGITS_NONE};
    tdm_error err = {0};
    int64_t start = clock_ns();
    tdm_status status = d->state->length ? TDM_OK : state_copy(d->state, c->carrier->state, &err);
    if (!status && p->n) status = evaluator_forward(team, evaluator, &run, 1, NULL, &span->bytes, &err);
    if (status) span->tokens = 0;
    chat_lock(c);
    bool wanted = c->stage == STAGE_OWN_RUN;
    chat_on(c, ON_RETURN);
    if (c->arrival.since_ns) c->arrival.since_ns += clock_ns() - start; /* that is no time of the hand-over */
    if (wanted && status && chat_lose(c, err.text)) {
        /* from the prompt on */
    } else if (wanted && status) {
        events_post_line(c->events, TDM_EV_ERROR, "the decode unit failed: %s", err.text);
        chat_end(c, TDM_FAILED);
    } else if (wanted && !chat_lacks_own(c)) {
        chat_on(c, ON_READY);
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

int64_t chat_next_own(struct tdm_chat *c, struct work *work)
{
    struct decoder *d = next_decoder(c);
    struct own_pass *p = &c->own_pass;
    if (!d) { /* what was lacking was stopped */
        chat_on(c, ON_READY);
        return UNIT_IDLE;
    }
    uint32_t most = c->side[chat_pipeline(c)->decode_unit].evaluator->form.max_tokens;
    uint32_t at = d->state->length ? d->state->length - c->own_from : 0;
    uint32_t rest = (uint32_t)d->own.n - at;
    if (most > OWN_ROWS) most = OWN_ROWS;
    p->decoder = d;
    p->n = rest < most ? rest : most;
    p->last = p->n == rest;
    if (p->n) memcpy(p->ids, d->own.ids + at, p->n * sizeof *p->ids);
    d->held = 0;
    chat_on(c, ON_CLAIM);
    *work = (struct work){.fn = job_own, .ctx = c, .kind = SPAN_PROMPT, .tokens = p->n};
    return UNIT_WORK;
}
