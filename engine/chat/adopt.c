/* Adoption: where a past turn renders exactly as it was decoded, the decoder's own state is a prefix of the next
 * prompt, and the follower takes a copy of it instead of evaluating the reply again. Nothing but the ids decides: those
 * that the decoder evaluated against those of the target.
 *
 * The bits are the same either way (engine/README.md, 'Exactness'), hence only between units of one backend with the
 * same weights and one pool, which is to say the same kernels and types of keys and values.
 *
 * While a reply is decoded, the unit that decodes makes the copy, between two tokens and as often as the follower would
 * have evaluated a dispatch of at least 32 tokens; the follower's unit sleeps and lends its cores. If the reply turns
 * out not to render as it was decoded, no more than a dispatch's worth of tokens is left to be read. At other times the
 * prefill unit copies.
 */
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"

/* Fewer tokens are not worth a copy while a reply is decoded. */
enum { COPY_EVERY = 32 };

static bool units_agree(const struct tdm_chat *c)
{
    return !c->never_adopts && chat_sides_agree(c);
}

bool chat_decoder_leads(const struct tdm_chat *c)
{
    const struct decoder *d = c->decoder;
    const struct target *t = &c->target;
    if (t->n == 0 || t->n > d->held + decoder_behind(d) || !d->held || !units_agree(c)) return false;
    for (uint32_t i = d->held; i < t->n; i++)
        if (t->ids[i] != decoder_token(d, i - d->held)) return false;
    uint32_t n = t->n < d->held ? t->n : d->held; /* a running job writes behind these */
    return target_common_prefix(t, d->state->tokens, n) == n;
}

uint32_t chat_adoptable(const struct tdm_chat *c)
{
    const struct decoder *d = c->decoder;
    bool free = stage_transition(c->stage, ON_ADOPT).possible && d->held && units_agree(c);
    return free && state_is_prefix(d->state, c->target.ids, c->target.n) ? d->held : 0;
}

static void job_adopt(void *ctx, struct team *team, struct activity_span *span, int unit)
{
    struct tdm_chat *c = ctx;
    tdm_error err = {0};
    int64_t start = clock_ns();
    tdm_status status = follower_perform(&c->follower, team, unit_activity(chat_unit(c, unit)), span, &err);
    chat_lock(c);
    uint32_t to = c->follower.plan.from;
    follower_done(&c->follower, status, clock_ns() - start);
    chat_on(c, ON_RETURN);
    if (status == TDM_OK) {
        c->adopted.from = c->decoder->prompt < to ? c->decoder->prompt : to;
        c->adopted.to = to;
    } else if (!chat_lose(c, err.text)) { /* what it lacks is evaluated */
        events_post_line(c->events, TDM_EV_ERROR, "the reply's state could not be taken over: %s", err.text);
        c->follower_failed = true;
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

static void job_adopt_prefill(void *ctx, struct team *team, struct activity_span *span)
{
    job_adopt(ctx, team, span, TDM_PREFILL_UNIT);
}

static void job_adopt_decode(void *ctx, struct team *team, struct activity_span *span)
{
    job_adopt(ctx, team, span, TDM_DECODE_UNIT);
}

/* Tokens between two copies while a reply is decoded. */
static uint32_t copy_every(const struct tdm_chat *c)
{
    return c->follower.polite > COPY_EVERY ? c->follower.polite : COPY_EVERY;
}

/* While a reply is decoded: is it time for a copy? */
static bool is_due(struct tdm_chat *c, int64_t now_ns)
{
    uint32_t here = c->follower.length, known = c->target.n + c->unfollowed;
    if (known < here + copy_every(c) || !chat_decoder_leads(c)) return false;
    if (c->unfollowed) chat_compute_target(c, now_ns);
    if (chat_decoder_leads(c)) return true;
    unit_wake(chat_unit(c, TDM_PREFILL_UNIT)); /* the rest is to be evaluated */
    return false;
}

bool chat_next_adoption(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work)
{
    bool decoding = chat_phase(c) == PHASE_DECODE;
    if (c->follower.plan.active || c->follower_failed || c->loaded) return false;
    if (decoding && (unit != c->decoder->unit || !chat_pipeline(c)->follows || !is_due(c, now_ns))) return false;
    if (!chat_adoptable(c)) return false;
    uint32_t least = decoding ? copy_every(c) / 2 : 1; /* its newest tokens may not be stable yet */
    if (!follower_plan_adoption(&c->follower, &c->target, c->decoder->state, least)) return false;
    chat_on(c, ON_ADOPT);
    *work = (struct work){.fn = unit == TDM_PREFILL_UNIT ? job_adopt_prefill : job_adopt_decode, .ctx = c,
                          .kind = SPAN_NONE};
    return true;
}
