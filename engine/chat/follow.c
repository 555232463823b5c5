/* What the prefill unit does towards the newest target: the follower's dispatches, and the hand-over of its state. */
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"

/* The decode unit is copying a state for the follower. */
enum { LOOK_AGAIN_NS = 1000000 };

void chat_adopt_loaded(struct tdm_chat *c)
{
    follower_adopt(&c->follower, c->loaded);
    c->loaded = NULL;
}

bool chat_can_hand_over(const struct tdm_chat *c)
{
    if (chat_on_server(c)) return c->stage == STAGE_READ;
    return c->stage == STAGE_READ && follower_is_ready(&c->follower, &c->target);
}

void chat_hand_over(struct tdm_chat *c)
{
    int64_t start = clock_ns();
    assert_always(!c->two_pools);
    if (chat_on_server(c)) {
        chat_ask_server(c);
        return;
    }
    c->decoder->state = follower_take(&c->follower, c->decoder->state);
    chat_begin_reply(c, start, 0);
}

/* Between two pools the state is copied: a job of the prefill unit, which has no other meanwhile, so that nobody waits
 * for the lock. The follower keeps its state. */
static void job_hand_over(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct decoder *d = c->decoder;
    (void)team;
    (void)span;
    int64_t start = clock_ns();
    tdm_error err;
    tdm_turn_stats times = {0};
    struct state *moved = c->follower.state;
    tdm_status status = chat_transfer(c, &moved, d->state, &times, &err);
    chat_lock(c);
    bool wanted = c->stage == STAGE_MOVE;
    chat_on(c, ON_RETURN);
    if (status == TDM_OK) d->state = moved;
    if (wanted && status && chat_lose(c, err.text)) {
        /* the prompt is read again where its state is gone */
    } else if (wanted && chat_can_hand_over(c)) {
        if (status) {
            events_post_line(c->events, TDM_EV_ERROR, "the hand-over failed: %s", err.text);
            chat_end(c, TDM_FAILED);
        } else {
            chat_record_transfer(&c->stats, &times);
            chat_begin_reply(c, start, c->bridge.size);
        }
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

/* What a server says of its work stands in place of our estimates. What fails is said once, not at every rest. */
static void end_of_request(struct tdm_chat *c, tdm_status status, struct activity_span *span, const tdm_error *err)
{
    tdm_server_counts last = server_last(c->model->server);
    if (status == TDM_OK && last.evaluated >= 0) span->tokens = (uint32_t)last.evaluated;
    if (status == TDM_OK && last.evaluated > 0 && last.prompt_ms > 0)
        c->prefill_rate = (double)last.evaluated * 1e3 / last.prompt_ms;
    if (status == TDM_OK) c->ahead_failed = false;
    if (status == TDM_OK || status == TDM_E_CANCELLED) return;
    if (!c->ahead_failed) events_post_line(c->events, TDM_EV_NOTICE, "not read ahead: %s", err->text);
    c->ahead_failed = c->follower_failed = true;
}

static void job_follow(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    tdm_error err = {0};
    int64_t start = clock_ns();
    tdm_status status;
    if (atomic_load(&c->fail_dispatches) > 0) {
        atomic_fetch_sub(&c->fail_dispatches, 1);
        status = error_set(&err, TDM_E_NOMEM, "no memory (injected)");
    } else {
        status = follower_perform(&c->follower, team, unit_activity(chat_unit(c, TDM_PREFILL_UNIT)), span, &err);
    }
    int64_t took = clock_ns() - start;
    chat_lock(c);
    uint32_t n = c->follower.plan.n;
    follower_done(&c->follower, status, took);
    if (chat_on_server(c)) {
        end_of_request(c, status, span, &err);
        pthread_cond_broadcast(&c->settled);
        chat_unlock(c);
        return;
    }
    if (status == TDM_OK && n) {
        double rate = n * 1e9 / (double)took;
        c->prefill_rate = c->prefill_rate > 0 ? 0.7 * c->prefill_rate + 0.3 * rate : rate;
    } else if (status && status != TDM_E_CANCELLED && !chat_lose(c, err.text)) {
        events_post_line(c->events, TDM_EV_ERROR, "PREFILL failed: %s; %s", err.text,
                         chat_phase(c) == PHASE_PROMPT ? "trying once more" : "the conversation goes on without it");
        if (chat_phase(c) == PHASE_PROMPT && c->follower_failed)
            chat_end(c, TDM_FAILED);
        else
            c->follower_failed = true;
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

static bool runs_dry(const struct tdm_chat *c)
{
    struct pool_stats s = pool_stats(c->side[TDM_PREFILL_UNIT].pool);
    return s.free_pages < READY_PAGES || s.free_buffers < READY_BUFFERS;
}

/* One buffer at a time, so that a key does not wait for all of them. */
static void job_warm(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct pool *pool = c->side[TDM_PREFILL_UNIT].pool;
    (void)team;
    (void)span;
    uint32_t buffers = pool_stats(pool).free_buffers + 1;
    tdm_status status = pool_warm(pool, READY_PAGES, buffers < READY_BUFFERS ? buffers : READY_BUFFERS, NULL);
    chat_lock(c);
    c->dry = status != TDM_OK;
    chat_unlock(c);
}

int64_t chat_next_follow(struct tdm_chat *c, int64_t now_ns, struct work *work)
{
    /* Whatever else changes it computes it at once. */
    if (c->unfollowed || chat_draft_rests(c, now_ns) != c->draft_closed) chat_compute_target(c, now_ns);
    if (c->follower.plan.active) return now_ns + LOOK_AGAIN_NS;
    if (chat_can_hand_over(c)) {
        if (!c->two_pools) {
            chat_hand_over(c);
            return UNIT_IDLE;
        }
        c->decoder->held = 0;
        chat_on(c, ON_CLAIM);
        *work = (struct work){.fn = job_hand_over, .ctx = c, .kind = SPAN_NONE};
        return UNIT_WORK;
    }
    enum stage_phase phase = chat_phase(c);
    if (chat_next_adoption(c, TDM_PREFILL_UNIT, now_ns, work)) return UNIT_WORK;
    if (phase == PHASE_DECODE && chat_decoder_leads(c)) return UNIT_IDLE;
    if (c->follower_failed && phase != PHASE_PROMPT) return UNIT_IDLE;
    int64_t rests = chat_rests_until(c, now_ns);
    if (rests) return rests == INT64_MAX ? UNIT_IDLE : rests;
    if (follower_plan(&c->follower, &c->target, phase == PHASE_DECODE, phase == PHASE_PROMPT)) {
        uint32_t from = c->follower.plan.from;
        if (from < c->read_at_enter) c->read_at_enter = from;
        if (from < c->adopted.to) c->adopted.to = from;
        *work = (struct work){.fn = job_follow, .ctx = c, .kind = c->follower.plan.kind,
                              .tokens = c->follower.plan.n};
        return UNIT_WORK;
    }
    /* Between two keys as well: the next dispatch of a draft begins with a checkpoint. */
    if (phase == PHASE_IDLE && !c->dry && runs_dry(c)) {
        *work = (struct work){.fn = job_warm, .ctx = c, .kind = SPAN_NONE};
        return UNIT_WORK;
    }
    if (chat_waits_for_pause(c)) return c->typing.last_ns + chat_pause_ns(c);
    pthread_cond_broadcast(&c->settled); /* the pause may have ended without anything to do */
    return UNIT_IDLE;
}
