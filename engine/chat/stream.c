/* Replies that a server writes: a request each instead of passes of the decode unit, whose text comes as the server
 * sends it. The request begins with Enter, whatever has been read ahead: the server knows best what it still lacks.
 */
#include "engine/chat/chat.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"

#include <string.h>

enum {
    LOOK_MS = 10,         /* how often a job looks whether its replies are still wanted */
    LEAST_PAUSE_MS = 150, /* without a key, before a draft is worth a request */
    MOST_BYTES = 128,     /* of a token, as long as the longest ones are */
    SLACK = 16,           /* tokens that a server may count otherwise */
};

bool chat_on_server(const struct tdm_chat *c)
{
    return c->model->server;
}

tdm_status chat_check_server(const tdm_chat_options *o, const tdm_model *m, tdm_error *err)
{
    if (!m->server) return TDM_OK;
    if (o->pipeline != TDM_PIPE_TANDEM)
        return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server (%s): pipeline: expected tandem, found %s",
                         m->server->host, tdm_pipeline_name(o->pipeline));
    if (o->prefill_model && o->prefill_model != m)
        return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server (%s): the prefill unit can have no other",
                         m->server->host);
    return TDM_OK;
}

void chat_cap_server(struct tdm_chat *c, bool told)
{
    if (!chat_on_server(c) || c->options.speculation <= c->model->server->ahead) return;
    c->options.speculation = c->model->server->ahead;
    if (!told) return;
    events_post_line(c->events, TDM_EV_NOTICE,
                     c->options.speculation ? "speculation history: %s is sent nothing before Enter but finished turns"
                                            : "speculation off: %s is sent nothing before Enter",
                     c->model->server->host);
}

uint32_t chat_room_factor(const struct tdm_chat *c)
{
    const struct template_form *form = &c->model->form;
    bool its_own = form->kind == TEMPLATE_BUILTIN && !form->substituted; /* the server has the same vocabulary */
    return chat_on_server(c) && !its_own ? 2 : 1;
}

uint32_t chat_filled(const struct decoder *d)
{
    const tdm_turn_stats *s = &d->stats;
    return s->counted ? s->prompt_tokens + s->reply_tokens : d->prompt + d->index;
}

void chat_tell_server(struct tdm_chat *c)
{
    if (!chat_on_server(c)) return;
    const char *host = c->model->server->host;
    if (c->options.pace_tps > 0)
        events_post_line(c->events, TDM_EV_NOTICE, "pace: %s writes as fast as it likes", host);
    if (c->options.mtp > 0)
        events_post_line(c->events, TDM_EV_NOTICE, "mtp: what %s drafts is its own affair", host);
}

void chat_warn_server(const struct tdm_chat *c)
{
    const tdm_server *server = chat_on_server(c) ? &c->model->server->server : NULL;
    if (server && server->soon) server->soon(server->ctx);
}

int64_t chat_server_pause_ns(const struct tdm_chat *c)
{
    double ms = 2 * c->model->server->round_trip_ms;
    return (int64_t)(1e6 * (ms > LEAST_PAUSE_MS ? ms : LEAST_PAUSE_MS));
}

void chat_ask_server(struct tdm_chat *c)
{
    struct follower *f = &c->follower;
    c->asked = f->plan.active ? target_common_prefix(&c->target, f->path, f->plan.from)
                              : follower_reachable(f, &c->target);
    /* The reply's request takes the place of one that reads ahead; what that has come to stays with the server. Where
     * the reply goes on from all of it, a server that answers in turn would only be held up by giving it up: it looks
     * now and then whether anybody still waits, and lets nobody else on before. */
    follower_cancel_if_stale(f, &c->target);
    f->plan.joined = f->plan.active && c->model->server->in_turn && !atomic_load(&f->cancel);
    if (f->plan.active && !f->plan.joined) atomic_store(&f->cancel, true);
    server_state_set(c->decoder->state, c->target.ids, c->target.n);
    chat_begin_reply(c, 0, 0);
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
    /* Pieces come together as the network likes: the server's own clock knows better. */
    if (n->reply > 0 && n->reply_ms > 0) s->decode_tps = (double)n->reply * 1e3 / n->reply_ms;
    if (n->prompt <= 0 || n->evaluated < 0 || n->evaluated > n->prompt) return;
    uint32_t cached = (uint32_t)(n->prompt - n->evaluated);
    s->counted = true;
    s->prompt_tokens = (uint32_t)n->prompt;
    s->after_enter = (uint32_t)n->evaluated;
    s->earlier = c->turn_base < cached ? c->turn_base : cached;
    s->before_enter = cached - s->earlier;
    uint32_t before_turn = s->prompt_tokens > s->turn_tokens ? s->prompt_tokens - s->turn_tokens : 0;
    s->turn_before_enter = cached > before_turn ? cached - before_turn : 0;
}

/* More text than tokens of the context can stand for: the server does not end it. */
static bool is_endless(const struct stream *s)
{
    return s->bytes > (size_t)MOST_BYTES * pool_context(s->d->state->pool);
}

/* A reply that has reached the limit that its server was told ends there, with its counts, and the connection stays: it
 * is only cut off if it runs on. */
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
    bool repeats = chat_guards(c, d) && guard_push_text(&d->guard, &text, chat_message_of(c, d));
    if (reply_push_text(&d->reply, text, news->thinking, &piece, NULL)) {
        events_post_line(c->events, TDM_EV_ERROR, "no memory for the reply: it ends here");
        return TDM_FAILED;
    }
    if (s->first_id_ns == 0) s->first_id_ns = now;
    if (news->counts.reply <= 0) s->reply_tokens += (uint32_t)news->tokens;
    if (thought) s->thinking_tokens += (uint32_t)news->tokens;
    d->index = s->reply_tokens;
    s->ids_hash = fnv_bytes(s->ids_hash, text.bytes, text.length);
    s->last_id_ns = now;
    if (s->server_reply_ms <= 0 && now > s->first_id_ns)
        s->decode_tps = (s->reply_tokens - 1) * 1e9 / (double)(now - s->first_id_ns);
    chat_give_text(c, d, piece.thinking, true, -1);
    chat_give_text(c, d, piece.answer, false, -1);
    if (piece.stopped) return TDM_STOP_STRING;
    stream->bytes += text.length;
    if (is_long(stream)) return TDM_LENGTH;
    return repeats ? TDM_REPEATS : is_endless(stream) ? TDM_CONTEXT : TDM_UNFINISHED;
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
        s->finish = TDM_FAILED;
        break;
    case TDM_SERVER_END:
        server_told(server, &news->counts, c->asked);
        s->finish = news->finish;
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
    uint32_t answer = d->reply.thinking ? 0 : d->max_answer;
    s->told = !d->max_tokens || (answer && answer < d->max_tokens) ? answer : d->max_tokens;
    tdm_server_ask ask = {
        .prompt = prompt->bytes,
        .length = prompt->n,
        .answer = d->number,
        .think = d->reply.thinking,
        .sampling = &sampling,
        .max_tokens = (int)s->told,
        .stops = (const char *const *)c->stops,
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
    if (c->stage != STAGE_DECODE_RUN) return false;
    if (!s->d->writing) return s->open = false;
    if (s->finish == TDM_UNFINISHED) return true;
    if (chat_writing(c) > 1) {
        chat_end_answer(c, s->d, s->finish);
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
    if (news.kind != TDM_SERVER_NOTHING && c->stage == STAGE_DECODE_RUN && s->d->writing) take_news(c, s, &news);
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
    struct decode_pass *p = &c->pass;
    struct stream streams[TDM_ANSWERS_MAX];
    struct buffer prompt = {0};
    const struct state *state = c->decoders[0]->state;
    (void)team;
    uint32_t running = p->n;
    tdm_status status = server_text(c->model->tokenizer, state->tokens, state->length, &prompt, NULL);
    span->bytes = prompt.n;
    for (uint32_t i = 0; i < p->n; i++) {
        streams[i] = (struct stream){.d = p->decoder[i], .open = true, .finish = TDM_UNFINISHED};
        if (status)
            streams[i].finish = TDM_FAILED;
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
    bool wanted = c->stage == STAGE_DECODE_RUN;
    /* What the reply was to go on from has ended before it; if its answer was lost, nobody waits for that any more. */
    if (c->follower.plan.active) atomic_store(&c->follower.cancel, true);
    record(c, p->decoder[0], span);
    chat_on(c, ON_RETURN);
    for (uint32_t i = 0; i < p->n && wanted; i++)
        if (streams[i].open && streams[i].d->writing) chat_end_answer(c, streams[i].d, streams[i].finish);
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

int64_t chat_next_stream(struct tdm_chat *c, struct work *work)
{
    struct decode_pass *p = &c->pass;
    p->n = 0;
    for (int i = 0; i < c->answers; i++)
        if (c->decoders[i]->writing) p->decoder[p->n++] = c->decoders[i];
    chat_on(c, ON_CLAIM);
    *work = (struct work){.fn = job_stream, .ctx = c, .kind = SPAN_DECODE};
    return UNIT_WORK;
}
