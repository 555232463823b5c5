#include "engine/chat/writer/stream.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/chat/answer.h"
#include "engine/chat/writer/arrival.h"

#include <string.h>

enum {
    LOOK_MS = 10,    /* how often a job looks whether its replies are still wanted */
    MAX_BYTES = 128, /* of a token, as long as the longest ones are */
    SLACK = 16,      /* tokens that a server may count otherwise */
};

void stream_ask(struct tdm_chat *c)
{
    struct follower *f = &c->reader.follower;
    c->reader.asked = f->plan.active ? target_common_prefix(&c->reader.target, f->path, f->plan.from)
                                     : follower_reachable(f, &c->reader.target);
    /* The reply's request takes the place of one that reads ahead; what that has come to stays with the server. Where
     * the reply goes on from all of it, a server that answers in turn would only be held up by giving it up: it looks
     * now and then whether the reply is still wanted, and lets no other request on before. */
    follower_cancel_if_stale(f, &c->reader.target);
    f->plan.joined = f->plan.active && c->model->server->in_turn && !atomic_load(&f->cancel);
    if (f->plan.active && !f->plan.joined) atomic_store(&f->cancel, true);
    server_state_set(c->front->decoder->state, c->reader.target.ids, c->reader.target.n);
    server_prompt_free(&c->writer.asked);
    server_wanted(c->model->server, &c->writer.asked, NULL); /* without memory the job reports that there is none */
    arrival_begin_reply(c, 0, 0);
}

/* ---- What comes -------------------------------------------------------------------------------------------------- */

struct stream {
    struct decoder *d;
    void *request; /* NULL: it has ended, or never began */
    bool open;     /* its reply has not ended here */
    uint32_t told; /* the limit that the server keeps to; 0: none */
    size_t bytes;  /* of text so far */
    tdm_finish finish;
};

/* The server's counts take the place of the estimates. */
static void take_counts(struct tdm_chat *c, struct decoder *d, const tdm_server_counts *n)
{
    tdm_turn_stats *s = &d->stats;
    s->by_server = true;
    if (n->reply > 0) d->index = s->reply_tokens = (uint32_t)n->reply;
    if (n->prompt_ms > 0) s->server_prompt_ms = n->prompt_ms;
    if (n->reply_ms > 0) s->server_reply_ms = n->reply_ms;
    /* The network may deliver pieces together, so the server's own clock is more exact. */
    if (n->reply > 0 && n->reply_ms > 0) s->decode_tps = (double)n->reply * 1e3 / n->reply_ms;
    if (n->prompt <= 0 || n->evaluated < 0 || n->evaluated > n->prompt) return;
    uint32_t cached = (uint32_t)(n->prompt - n->evaluated);
    s->counted = true;
    s->prompt_tokens = (uint32_t)n->prompt;
    s->after_enter = (uint32_t)n->evaluated;
    s->earlier = c->reader.turn_base < cached ? c->reader.turn_base : cached;
    s->before_enter = cached - s->earlier;
    uint32_t before_turn = s->prompt_tokens > s->turn_tokens ? s->prompt_tokens - s->turn_tokens : 0;
    s->turn_before_enter = cached > before_turn ? cached - before_turn : 0;
    if (s->kind == TDM_TURN_WARM || s->kind == TDM_TURN_COLD)
        s->kind = s->turn_before_enter ? TDM_TURN_WARM : TDM_TURN_COLD; /* its beginning told what was expected */
}

/* More text than tokens of the context can stand for: the server does not end it. */
static bool is_endless(const struct stream *s)
{
    return s->bytes > (size_t)MAX_BYTES * pool_context(s->d->state->pool);
}

/* A reply that has reached the limit that was sent to its server ends there, with its counts, and the connection stays:
 * it is only cut off if it runs on. */
static bool is_long(const struct stream *s)
{
    const tdm_turn_stats *n = &s->d->stats;
    if (s->told && n->reply_tokens >= s->told + SLACK) return true;
    uint32_t most = s->d->max_answer;
    return most && most != s->told && n->reply_tokens - n->thinking_tokens >= most;
}

static tdm_finish take_text(struct tdm_chat *c, struct stream *stream, const tdm_server_news *news)
{
    struct decoder *d = stream->d;
    struct reply_piece piece;
    tdm_turn_stats *s = &d->stats;
    int64_t now = clock_ns();
    bool thought = news->thinking || d->reply.thinking;
    struct span text = {news->text, news->length};
    bool repeats = answer_is_guarded(c, d) && guard_push_text(&d->guard, &text, decoder_message(d));
    if (reply_push_text(&d->reply, text, news->thinking, &piece, NULL)) {
        events_post_line(c->events, TDM_EV_ERROR, "no memory for the reply: it ends here");
        return TDM_FINISH_FAILED;
    }
    if (news->counts.reply <= 0) s->reply_tokens += (uint32_t)news->tokens;
    if (thought) s->thinking_tokens += (uint32_t)news->tokens;
    d->index = s->reply_tokens;
    s->ids_hash = fnv_bytes(s->ids_hash, text.bytes, text.length);
    decoder_came(d, (uint32_t)news->tokens, now);
    if (s->server_reply_ms <= 0) s->decode_tps = decoder_rate(d);
    answer_add(c, d, piece.thinking, true, -1);
    answer_add(c, d, piece.answer, false, -1);
    if (piece.stopped) return TDM_FINISH_STOP_STRING;
    if (piece.ended) return TDM_FINISH_END;
    stream->bytes += text.length;
    if (is_long(stream)) return TDM_FINISH_LENGTH;
    return repeats ? TDM_FINISH_REPEATS : is_endless(stream) ? TDM_FINISH_CONTEXT : TDM_FINISH_UNFINISHED;
}

/* Once for each server: nothing but the reply shows whether one has heeded that its model is to think. */
static void tell_thoughtless(struct tdm_chat *c, const struct decoder *d, tdm_finish finish)
{
    struct server_link *server = c->model->server;
    bool thought = d->dialogue->conversation.nodes[d->node].thinking.n || d->reply.thinking;
    if (!d->think || !server->renders || finish != TDM_FINISH_END || thought) return;
    if (atomic_exchange(&server->told_thoughtless, true)) return;
    events_post_line(c->events, TDM_EV_NOTICE, "%s: asked to think first, %s showed no thinking", server->host,
                     server->name);
}

static bool has_words(const struct buffer *held)
{
    return !span_is_blank((struct span){held->bytes, held->n});
}

/* Takes the server's end of a reply. A reply without any text is no reply, whatever the reason of its end. */
static tdm_finish take_end(struct tdm_chat *c, const struct decoder *d, tdm_finish finish)
{
    const struct conversation *all = &d->dialogue->conversation;
    const struct reply *r = &d->reply;
    if (!conversation_is_wordless(all, d->node) || has_words(&r->held) || has_words(&r->thought) ||
        has_words(&r->marked)) {
        tell_thoughtless(c, d, finish);
        return finish;
    }
    events_post_line(c->events, TDM_EV_ERROR, "%s: the server ended the reply without a word of it%s",
                     c->model->server->host, finish == TDM_FINISH_LENGTH ? ": its limit of tokens was reached" : "");
    return TDM_FINISH_FAILED;
}

static void take_news(struct tdm_chat *c, struct stream *s, const tdm_server_news *news)
{
    struct server_link *server = c->model->server;
    if (news->kind != TDM_SERVER_NOTE) take_counts(c, s->d, &news->counts);
    switch (news->kind) {
    case TDM_SERVER_TEXT: s->finish = take_text(c, s, news); break;
    case TDM_SERVER_NOTE:
        events_post_line(c->events, TDM_EV_NOTICE, "%s: %.*s", server->host, (int)news->length, news->text);
        break;
    case TDM_SERVER_FAILED:
        events_post_line(c->events, TDM_EV_ERROR, "%s: %.*s", server->host, (int)news->length, news->text);
        s->finish = TDM_FINISH_FAILED;
        break;
    case TDM_SERVER_END:
        server_told(server, &news->counts, c->reader.asked);
        s->finish = take_end(c, s->d, news->finish);
        break;
    default: break;
    }
}

/* ---- The job ----------------------------------------------------------------------------------------------------- */

static void start(struct tdm_chat *c, struct stream *s, const struct buffer *prompt)
{
    const tdm_server *server = &c->model->server->server;
    struct decoder *d = s->d;
    tdm_sampling sampling = d->sampling;
    sampling.seed = fnv_step(fnv_step(sampling.seed, d->turn), d->attempt); /* each sample has one of its own */
    tdm_error err = {0};
    /* It has no word for a limit of what follows the thinking. */
    uint32_t answer = d->think ? 0 : d->max_answer;
    s->told = !d->max_tokens || (answer && answer < d->max_tokens) ? answer : d->max_tokens;
    tdm_server_ask ask = {
        .prompt = prompt->bytes,
        .length = prompt->n,
        .messages = c->writer.asked.messages,
        .n_messages = c->writer.asked.n_messages,
        .begun = c->writer.asked.begun.bytes,
        .begun_length = c->writer.asked.begun.length,
        .answer = d->number,
        .think = d->think,
        .sampling = &sampling,
        .max_tokens = (int)s->told,
        .stops = c->options.stops,
        .marks = (const char *const *)template_facts(c->model->template)->barred,
        .ignore_eos = c->options.ignore_eos,
    };
    if (server->start(server->ctx, &ask, &s->request, &err) == TDM_OK) return;
    chat_lock(c);
    take_news(c, s, &(tdm_server_news){.kind = TDM_SERVER_FAILED, .text = err.text, .length = strlen(err.text),
                                       .counts = {-1, -1, -1, -1, -1, -1}});
    chat_unlock(c);
    s->request = NULL;
}

/* Ends what has ended. The turn's last reply is left for later: with it the next turn may begin. False: no reply is
 * wanted any more, or this one. With the lock. */
static bool go_on(struct tdm_chat *c, struct stream *s)
{
    if (c->front->stage != STAGE_DECODE_RUN) return false;
    if (!s->d->writing) return s->open = false;
    if (s->finish == TDM_FINISH_UNFINISHED) return true;
    if (dialogue_writing(c->front) > 1) {
        answer_end(c, s->d, s->finish);
        s->open = false;
    }
    return false;
}

/* Takes what has come of one reply; false: nothing had. */
static bool look(struct tdm_chat *c, struct stream *s, int timeout_ms)
{
    const tdm_server *server = &c->model->server->server;
    tdm_server_news news = {.kind = TDM_SERVER_NOTHING};
    if (s->request) server->next(server->ctx, s->request, timeout_ms, &news);
    chat_lock(c);
    if (news.kind != TDM_SERVER_NOTHING && c->front->stage == STAGE_DECODE_RUN && s->d->writing) take_news(c, s, &news);
    bool wanted = go_on(c, s);
    chat_unlock(c);
    if (wanted || !s->request) return news.kind != TDM_SERVER_NOTHING;
    server->end(server->ctx, s->request);
    s->request = NULL;
    return true;
}

/* What the two phases of a request looked like from here. */
static void record(struct tdm_chat *c, const struct decoder *d, struct activity_span *span)
{
    const tdm_turn_stats *s = &d->stats;
    span->tokens = s->reply_tokens;
    if (!s->first_id_ns) {
        span->kind = SPAN_PROMPT;
        span->tokens = s->counted ? s->after_enter : 0;
        return;
    }
    struct activity_span prompt = {.start_ns = span->start_ns, .end_ns = s->first_id_ns, .kind = SPAN_PROMPT,
                                   .tokens = s->after_enter, .bytes = span->bytes};
    activity_add(unit_activity(chat_unit(c, TDM_DECODE_UNIT)), &prompt);
    span->start_ns = s->first_id_ns;
}

static void job_stream(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct decode_pass *p = &c->writer.pass;
    struct stream streams[TDM_ANSWERS_MAX];
    struct buffer prompt = {0};
    (void)team;
    uint32_t running = p->n;
    tdm_error err = {.code = TDM_E_NOMEM, .text = "no memory for the prompt: there is no reply"};
    tdm_status status = err.code;
    if (c->writer.asked.n)
        status = server_text(c->model->tokenizer, &c->writer.asked, c->writer.asked.n, &prompt, &err);
    if (status) events_post_line(c->events, TDM_EV_ERROR, "%s", err.text);
    span->bytes = prompt.n;
    for (uint32_t i = 0; i < p->n; i++) {
        streams[i] = (struct stream){.d = p->decoder[i], .open = true, .finish = TDM_FINISH_UNFINISHED};
        if (status)
            streams[i].finish = TDM_FINISH_FAILED;
        else
            start(c, &streams[i], &prompt);
    }
    buffer_free(&prompt);
    for (uint32_t last = 0; running > 0;) {
        bool news = false;
        running = 0;
        for (uint32_t i = 0; i < p->n; i++) {
            news |= look(c, &streams[i], 0);
            running += streams[i].request != NULL;
        }
        if (news || !running) continue;
        do last = (last + 1) % p->n;
        while (!streams[last].request);
        look(c, &streams[last], LOOK_MS);
    }
    chat_lock(c);
    bool wanted = c->front->stage == STAGE_DECODE_RUN;
    /* What the reply was to go on from has ended before it; if its answer was lost, it is not waited for any more. */
    if (c->reader.follower.plan.active) atomic_store(&c->reader.follower.cancel, true);
    record(c, p->decoder[0], span);
    chat_event(c, c->front, ON_RETURN);
    for (uint32_t i = 0; i < p->n && wanted; i++)
        if (streams[i].open && streams[i].d->writing) answer_end(c, streams[i].d, streams[i].finish);
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

int64_t stream_next(struct tdm_chat *c, struct work *work)
{
    struct decode_pass *p = &c->writer.pass;
    p->n = 0;
    for (int i = 0; i < c->front->answers; i++)
        if (c->front->decoders[i]->writing) p->decoder[p->n++] = c->front->decoders[i];
    chat_event(c, c->front, ON_CLAIM);
    *work = (struct work){.fn = job_stream, .ctx = c, .kind = SPAN_DECODE};
    return UNIT_WORK;
}
