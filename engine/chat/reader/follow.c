#include "engine/chat/reader/follow.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/answer.h"
#include "engine/chat/lost.h"
#include "engine/chat/policy/pace.h"
#include "engine/chat/reader/adopt.h"
#include "engine/chat/reader/retarget.h"
#include "engine/chat/reader/pictures.h"
#include "engine/chat/writer/arrival.h"
#include "engine/chat/writer/stream.h"

/* While the decode unit copies a state for the follower, or encodes a picture, the source is asked again after this
 * time if nothing wakes the unit before. */
enum { LOOK_AGAIN_NS = 1000000 };

void follow_adopt_loaded(struct reader *r)
{
    follower_adopt(&r->follower, r->loaded);
    r->loaded = NULL;
    r->replica.foreign = true; /* the file's bits may be another unit's */
}

/* ---- Handing over ------------------------------------------------------------------------------------------------ */

/* Has the follower read the whole prompt that a turn waits for? */
static bool has_read(const struct tdm_chat *c)
{
    return c->front->stage == STAGE_READ && follower_is_ready(&c->reader.follower, &c->reader.target);
}

bool follow_can_hand_over(const struct tdm_chat *c)
{
    if (chat_on_server(c)) return c->front->stage == STAGE_READ;
    return has_read(c) && (!c->two_pools || replica_is_ready(&c->reader.replica, &c->reader.follower));
}

/* Is there room beside the checkpoints for a copy of what the follower has read? If not, it is copied when a turn waits
 * for it, and the copy is freed then. */
static bool has_room(const struct tdm_chat *c)
{
    const struct follower *f = &c->reader.follower;
    return replica_needs(c->side[TDM_DECODE_UNIT].pool, f->length) <= f->budget;
}

/* The follower keeps its state. What crossed before Enter took the turn no time. */
static void take_replica(struct tdm_chat *c)
{
    struct replica *r = &c->reader.replica;
    struct decoder *d = c->front->decoder;
    int64_t now = clock_ns(), enter = c->front->stats.enter_ns;
    bool waited = r->rest.until_ns > enter;
    if (waited) bridge_record(&c->front->stats, &r->rest.times);
    d->state_tokens = 0;
    d->state = replica_take(r, d->state);
    if (!has_room(c)) replica_free(r);
    arrival_begin_reply(c,
                        !waited                    ? now
                        : r->rest.since_ns > enter ? r->rest.since_ns
                                                   : enter,
                        waited ? r->rest.bytes : 0);
}

void follow_hand_over(struct tdm_chat *c)
{
    int64_t start = clock_ns();
    if (chat_on_server(c)) {
        stream_ask(c);
        return;
    }
    if (c->two_pools) {
        take_replica(c);
        return;
    }
    c->front->decoder->state = follower_take(&c->reader.follower, c->front->decoder->state);
    arrival_begin_reply(c, start, 0);
}

bool follow_wants_carriage(const struct tdm_chat *c)
{
    const struct replica *r = &c->reader.replica;
    const struct follower *f = &c->reader.follower;
    if (!c->two_pools || c->options.bridge == TDM_BRIDGE_BYTES || r->failed || c->lost || !has_room(c)) return false;
    bool rest = chat_phase(c) == PHASE_IDLE && follower_is_ready(f, &c->reader.target);
    return replica_lacks_pages(r, f) || (rest && !replica_is_ready(r, f));
}

/* A job of the prefill unit, which has no other meanwhile; the follower's state is held, the decoder's is not touched.
 * Whether a turn waits for it by now is asked at its end. */
static void carry(struct tdm_chat *c, bool sealed, struct team *team, struct activity_span *span)
{
    struct reader *r = &c->reader;
    tdm_error err;
    int64_t start = clock_ns();
    tdm_status status = replica_carry(&r->replica, &c->writer.bridge, c->side[TDM_DECODE_UNIT].pool, r->follower.state,
                                      sealed, team, &err);
    int64_t took = clock_ns() - start;
    span->bytes = r->replica.bytes;
    chat_lock(c);
    *(r->replica.awaited ? &r->replica.carried.after : &r->replica.carried.ahead) += span->bytes;
    r->replica.carried.ns += took;
    follower_count_external(&r->follower, has_room(c) ? replica_bytes(&r->replica) : 0);
    follower_done(&r->follower, TDM_OK, took);
    if (chat_phase(c) == PHASE_DECODE) {
        struct activity_totals t = activity_total(unit_activity(chat_unit(c, TDM_DECODE_UNIT)), SPAN_DECODE);
        r->replica.rests_ns = clock_ns() + pace_carrying_ns(span->bytes, t.bytes, t.ns);
    }
    r->replica.failed = status != TDM_OK;
    if (status && !lost_check(c, err.text) && r->replica.awaited && has_read(c)) {
        events_post_line(c->events, TDM_EV_ERROR, "the hand-over failed: %s", err.text);
        answer_end_all(c, c->front, TDM_FINISH_FAILED);
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

static void job_carry_pages(void *ctx, struct team *team, struct activity_span *span)
{
    carry(ctx, true, team, span);
}

static void job_carry(void *ctx, struct team *team, struct activity_span *span)
{
    carry(ctx, false, team, span);
}

/* Until when nothing is copied while a reply is decoded; 0: copying may begin. */
static int64_t carriage_rests_until(const struct tdm_chat *c, int64_t now_ns)
{
    int64_t until = c->reader.replica.rests_ns;
    return chat_phase(c) == PHASE_DECODE && until > now_ns ? until : 0;
}

/* Plans the next copy to the decode unit's memory, if there is one: everything if a turn waits, otherwise what is there
 * by now. */
static bool carry_next(struct tdm_chat *c, int64_t now_ns, struct work *work)
{
    const struct follower *f = &c->reader.follower;
    bool waits = c->two_pools && has_read(c);
    if (!waits && (chat_phase(c) == PHASE_PROMPT || !follow_wants_carriage(c))) return false;
    if (carriage_rests_until(c, now_ns)) return false;
    bool whole = waits || (chat_phase(c) == PHASE_IDLE && follower_is_ready(f, &c->reader.target));
    if (waits && !c->reader.replica.state) {
        replica_borrow(&c->reader.replica, &c->front->decoder->state);
        c->front->decoder->state_tokens = 0;
    }
    c->writer.bridge.way = c->options.bridge;
    c->reader.replica.awaited = waits;
    follower_hold(&c->reader.follower);
    *work = (struct work){
        .fn = whole ? job_carry : job_carry_pages, .ctx = c, .kind = SPAN_CARRY, .on_borrowed_cores = true};
    return true;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* The counts that a server reports replace our estimates. A failure is reported once, not at every rest. */
static void end_of_request(struct tdm_chat *c, tdm_status status, struct activity_span *span, const tdm_error *err)
{
    tdm_server_counts last = server_last(c->model->server);
    if (status == TDM_OK && last.evaluated >= 0) span->tokens = (uint32_t)last.evaluated;
    if (status == TDM_OK && last.evaluated > 0 && last.prompt_ms > 0)
        c->reader.prefill_rate = (double)last.evaluated * 1e3 / last.prompt_ms;
    if (status == TDM_OK) c->reader.ahead_failed = false;
    if (status == TDM_OK || status == TDM_E_CANCELLED) return;
    if (!c->reader.ahead_failed) events_post_line(c->events, TDM_EV_NOTICE, "not read ahead: %s", err->text);
    c->reader.ahead_failed = c->reader.failed = true;
}

static void job_follow(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    tdm_error err = {0};
    int64_t start = clock_ns();
    tdm_status status;
    if (atomic_load(&c->reader.fail_dispatches) > 0) {
        atomic_fetch_sub(&c->reader.fail_dispatches, 1);
        status = error_set(&err, TDM_E_NOMEM, "no memory (injected)");
    } else {
        status = follower_perform(&c->reader.follower, team, unit_activity(chat_unit(c, TDM_PREFILL_UNIT)), span, &err);
    }
    int64_t took = clock_ns() - start;
    chat_lock(c);
    uint32_t n = c->reader.follower.plan.n;
    follower_done(&c->reader.follower, status, took);
    if (chat_on_server(c)) {
        end_of_request(c, status, span, &err);
        pthread_cond_broadcast(&c->settled);
        chat_unlock(c);
        return;
    }
    if (status == TDM_OK && n) {
        double rate = n * 1e9 / (double)took;
        c->reader.prefill_rate = c->reader.prefill_rate > 0 ? 0.7 * c->reader.prefill_rate + 0.3 * rate : rate;
        c->reader.ahead_failed = false;
    } else if (status && status != TDM_E_CANCELLED && !lost_check(c, err.text)) {
        bool prompt = chat_phase(c) == PHASE_PROMPT, again = prompt && c->reader.failed;
        if (prompt || !c->reader.ahead_failed)
            events_post_line(c->events, TDM_EV_ERROR, "PREFILL failed: %s; %s", err.text,
                             again    ? "the turn ends"
                             : prompt ? "trying once more"
                                      : "the conversation goes on without it");
        c->reader.failed = true;
        c->reader.ahead_failed |= !prompt;
        if (again) answer_end_all(c, c->front, TDM_FINISH_FAILED);
    }
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

bool follow_keep_next(struct tdm_chat *c, struct work *work)
{
    if (chat_phase(c) != PHASE_IDLE || !follower_plan_checkpoint(&c->reader.follower, &c->reader.target)) return false;
    *work = (struct work){.fn = job_follow, .ctx = c, .kind = SPAN_NONE};
    return true;
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
    c->reader.dry = status != TDM_OK;
    chat_unlock(c);
}

int64_t follow_next(struct tdm_chat *c, int64_t now_ns, struct work *work)
{
    /* All other changes of the target compute it at once. */
    if (c->reader.unfollowed || retarget_draft_rests(c, now_ns) != c->draft.closed) retarget_compute(c, now_ns, NULL);
    if (c->reader.follower.plan.active) return now_ns + LOOK_AGAIN_NS;
    if (follow_can_hand_over(c)) {
        follow_hand_over(c);
        return c->draft.pictures.n ? now_ns : UNIT_IDLE; /* which are encoded while the reply is written */
    }
    if (carry_next(c, now_ns, work)) return UNIT_WORK;
    enum stage_phase phase = chat_phase(c);
    if (adopt_next(c, TDM_PREFILL_UNIT, now_ns, work)) return UNIT_WORK;
    bool failed = c->reader.failed && phase != PHASE_PROMPT, busy = false;
    int64_t rests = retarget_rests_until(c, now_ns);
    if (!failed && !rests && pictures_next(c, work, &busy)) return UNIT_WORK;
    if (busy) return now_ns + LOOK_AGAIN_NS;
    if (phase == PHASE_DECODE && adopt_leads(c)) return UNIT_IDLE;
    if (failed) return UNIT_IDLE;
    if (rests) return rests == INT64_MAX ? UNIT_IDLE : rests;
    if (follower_plan(&c->reader.follower, &c->reader.target, phase == PHASE_DECODE, phase == PHASE_PROMPT)) {
        uint32_t from = c->reader.follower.plan.from;
        if (from < c->reader.read_at_enter) c->reader.read_at_enter = from;
        if (from < c->reader.adopted.to) c->reader.adopted.to = from;
        *work = (struct work){
            .fn = job_follow, .ctx = c, .kind = c->reader.follower.plan.kind, .tokens = c->reader.follower.plan.n};
        return UNIT_WORK;
    }
    /* Between two keys as well: the next dispatch of a draft begins with a checkpoint. */
    if (phase == PHASE_IDLE && !c->reader.dry && runs_dry(c)) {
        *work = (struct work){.fn = job_warm, .ctx = c, .kind = SPAN_NONE};
        return UNIT_WORK;
    }
    if (retarget_waits_for_pause(c)) return c->draft.typing.last_ns + retarget_pause_ns(c);
    pthread_cond_broadcast(&c->settled); /* the pause may have ended without anything to do */
    int64_t carries = carriage_rests_until(c, now_ns);
    return carries && follow_wants_carriage(c) ? carries : UNIT_IDLE;
}
