#include "engine/chat/reader/adopt.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/lost.h"
#include "engine/chat/reader/retarget.h"

/* Fewer tokens are not worth a copy while a reply is decoded. */
enum { COPY_EVERY = 32 };

static bool units_agree(const struct tdm_chat *c)
{
    return !c->reader.never_adopts && chat_sides_agree(c);
}

bool adopt_leads(const struct tdm_chat *c)
{
    const struct decoder *d = c->front->decoder;
    const struct target *t = &c->reader.target;
    if (t->n == 0 || t->n > d->state_tokens + decoder_behind(d) || !d->state_tokens || !units_agree(c)) return false;
    for (uint32_t i = d->state_tokens; i < t->n; i++)
        if (t->ids[i] != decoder_token(d, i - d->state_tokens)) return false;
    uint32_t n = t->n < d->state_tokens ? t->n : d->state_tokens; /* a running job writes behind these */
    return target_common_prefix(t, d->state->tokens, n) == n;
}

uint32_t adopt_tokens(const struct tdm_chat *c)
{
    const struct decoder *d = c->front->decoder;
    bool free = stage_transition(c->front->stage, ON_ADOPT).possible && d->state_tokens && units_agree(c);
    return free && state_is_prefix(d->state, c->reader.target.ids, c->reader.target.n) ? d->state_tokens : 0;
}

static void job_adopt(void *ctx, struct team *team, struct activity_span *span, int unit)
{
    struct tdm_chat *c = ctx;
    tdm_error err = {0};
    int64_t start = clock_ns();
    tdm_status status = follower_perform(&c->reader.follower, team, unit_activity(chat_unit(c, unit)), span, &err);
    chat_lock(c);
    uint32_t to = c->reader.follower.plan.from;
    follower_done(&c->reader.follower, status, clock_ns() - start);
    chat_event(c, c->front, ON_RETURN);
    if (status == TDM_OK) {
        c->reader.adopted.from = c->front->decoder->prompt < to ? c->front->decoder->prompt : to;
        c->reader.adopted.to = to;
    } else if (!lost_check(c, err.text)) { /* what it lacks is evaluated */
        events_post_line(c->events, TDM_EV_ERROR, "the reply's state could not be taken over: %s", err.text);
        c->reader.failed = true;
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
    return c->reader.follower.max_while_decoding > COPY_EVERY ? c->reader.follower.max_while_decoding : COPY_EVERY;
}

/* While a reply is decoded: is it time for a copy? */
static bool is_due(struct tdm_chat *c, int64_t now_ns)
{
    uint32_t here = c->reader.follower.length, known = c->reader.target.n + c->reader.unfollowed;
    if (known < here + copy_every(c) || !adopt_leads(c)) return false;
    if (c->reader.unfollowed) retarget_compute(c, now_ns, NULL);
    if (adopt_leads(c)) return true;
    unit_wake(chat_unit(c, TDM_PREFILL_UNIT)); /* the rest is to be evaluated */
    return false;
}

bool adopt_next(struct tdm_chat *c, int unit, int64_t now_ns, struct work *work)
{
    bool decoding = chat_phase(c) == PHASE_DECODE;
    if (c->reader.follower.plan.active || c->reader.failed || c->reader.loaded) return false;
    if (decoding && (unit != c->front->decoder->unit || !chat_pipeline(c)->follows || !is_due(c, now_ns))) return false;
    if (!adopt_tokens(c)) return false;
    uint32_t least = decoding ? copy_every(c) / 2 : 1; /* its newest tokens may not be stable yet */
    if (!follower_plan_adoption(&c->reader.follower, &c->reader.target, c->front->decoder->state, least)) return false;
    chat_event(c, c->front, ON_ADOPT);
    *work = (struct work){.fn = unit == TDM_PREFILL_UNIT ? job_adopt_prefill : job_adopt_decode, .ctx = c,
                          .kind = SPAN_NONE};
    return true;
}
