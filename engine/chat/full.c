#include "engine/chat/full.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/chat/reader/retarget.h"

/* ---- Room for an answer ------------------------------------------------------------------------------------------ */

/* The most tokens of a prompt that has lost turns. */
static uint32_t limit(const struct tdm_chat *c, uint32_t context)
{
    const tdm_chat_options *o = &c->options;
    uint32_t quarter = context / 4, answer = quarter < FULL_ANSWER ? quarter : FULL_ANSWER;
    if (o->max_answer_tokens > 0) answer = (uint32_t)o->max_answer_tokens;
    else if (o->max_tokens > 0)
        answer = (uint32_t)o->max_tokens;
    if (answer > context / 2) answer = context / 2;
    return answer > quarter ? context - answer : context - quarter;
}

static uint32_t tokens_of(const struct target *t)
{
    return t->n + t->reply_prefix;
}

static void tell(struct tdm_chat *c)
{
    events_post_line(c->events, TDM_EV_NOTICE, "the context is full: the oldest %d messages are left out",
                     c->front->path_start);
}

/* ---- At the beginning of a turn ---------------------------------------------------------------------------------- */

tdm_status full_fit(struct tdm_chat *c, int64_t now_ns, tdm_error *err)
{
    struct dialogue *front = c->front;
    const struct target *t = &c->reader.target;
    uint32_t context = pool_context(front->decoder->state->pool), most = limit(c, context);
    tdm_status status = retarget_compute(c, now_ns, err);
    if (status) return status;
    if (t->n == 0) return error_set(err, TDM_E_REFUSED, "the template makes an empty prompt");
    if (tokens_of(t) < context) return TDM_OK;
    /* The message to be replied to, which is never left out: a reply that goes on stands behind it. */
    int before = front->path_start,
        last = conversation_path(&front->conversation, NULL, 0) - (front->reply_node ? 2 : 1);
    while (c->options.on_full == TDM_FULL_DROP_OLDEST && tokens_of(t) > most && front->path_start + 2 <= last) {
        front->path_start += 2;
        status = retarget_compute(c, now_ns, err);
        if (!status) continue;
        front->path_start = before;
        return status;
    }
    if (tokens_of(t) < context) {
        tell(c);
        return TDM_OK;
    }
    uint32_t tokens = tokens_of(t);
    /* Would it fit with all that was said before left out? The message says so. The caller computes the target again.
     * A reply that goes on stands behind its message, so it is what fills the context. */
    bool alone = front->reply_node;
    if (!alone) {
        front->path_start = last;
        alone = !retarget_compute(c, now_ns, err) && tokens_of(t) < context;
    }
    front->path_start = before;
    return retarget_refuse(alone ? "the context is full" : "the message is too long", tokens, context, err);
}

/* ---- While the reply grows --------------------------------------------------------------------------------------- */

/* Where its prompt is to begin so that the reply can go on; the place that it has: it can't. */
static int find_start(struct tdm_chat *c, const struct decoder *d)
{
    const struct dialogue *front = c->front;
    uint32_t context = pool_context(d->state->pool), most = limit(c, context), tokens = context;
    int last = conversation_path(&front->conversation, NULL, 0) - 2, start = front->path_start;
    while (tokens > most && start + 2 <= last) {
        uint32_t fewer = retarget_resumed_length(c, d->node, start + 2);
        if (!fewer) break;
        tokens = fewer;
        start += 2;
    }
    return tokens + 1 < context ? start : front->path_start;
}

/* What the decode unit reads behind the prompt: all that the reply has, the token that was sampled last, too. */
static tdm_status take_reply(struct tdm_chat *c, struct decoder *d, tdm_error *err)
{
    const struct target *t = &c->reader.target;
    const tdm_ids *reply = &c->front->conversation.nodes[d->node].reply;
    d->prefix_ids.n = 0;
    d->state_tokens = 0;
    d->prompt = c->writer.prefix_from = t->n;
    if (!t->n) return error_set(err, TDM_E_NOMEM, "its prompt can't be made");
    return ids_list_append(&d->prefix_ids, reply->ids, reply->n, err);
}

bool full_go_on(struct tdm_chat *c, struct decoder *d)
{
    struct dialogue *front = c->front;
    const struct pipeline *pipeline = chat_pipeline(c);
    tdm_error err = {0};
    bool alone = d->dialogue == front && front->answers == 1 && !c->lost && !chat_on_server(c);
    if (c->options.on_full != TDM_FULL_DROP_OLDEST || !alone) return false;
    int before = front->path_start, start = find_start(c, d);
    if (start == before) {
        retarget_compute(c, clock_ns(), NULL); /* what was tried is no target */
        return false;
    }
    front->path_start = start;
    front->reply_node = d->node;
    c->writer.again = true;
    chat_event(c, front, pipeline->follows ? ON_FOLLOW : ON_PROMPT);
    tdm_status status = retarget_compute(c, clock_ns(), &err);
    if (!status) status = take_reply(c, d, &err);
    if (!status && !pipeline->follows)
        status = prompter_begin(&c->reader.prompter, front->pipeline, &c->reader.target, false, &err);
    if (status) {
        c->writer.again = false;
        events_post_line(c->events, TDM_EV_ERROR, "the reply can't go on: %s", err.text);
        return false;
    }
    tell(c);
    c->reader.failed = false;
    if (pipeline->follows) follower_expedite(&c->reader.follower, &c->reader.target, clock_ns());
    unit_wake(chat_unit(c, pipeline->prompt_unit));
    return true;
}
