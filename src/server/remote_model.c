#include "src/server/remote_model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/json/json.h"
#include "src/server/joined.h"
#include "src/server/refusal.h"

enum {
    MAX_REFUSAL = 64 << 10, /* bytes of a failure's page */
    MAX_BODY = 4 << 20,     /* of an answer that is no stream */
    MAX_WAITING = 16 << 20, /* of a reply that has not been taken yet */
    TYPING_S = 30,   /* after the last key, while Enter is likely */
    MAX_WORDS = 200, /* bytes of a refusal, or of a tool's name, that are reported */
};

/* So long after a reply's end its counts, and the end of its answer, are waited for. */
#define BEHIND_NS INT64_C(2000000000)

/* How often the server learns of keys. */
#define SOON_NS INT64_C(1000000000)

struct request {
    remote_model *s;
    dialect dialect;     /* in which it is asked */
    bool ahead, orphan;  /* orphan: its result is not wanted any more */
    int holders;         /* of it: its caller, the connection, and send_request; the last one frees it */
    int answer, tries;
    uint32_t id;
    bool under_way;
    int64_t began_ns;    /* when it was made first */
    int64_t again_ns;    /* it is made again then; 0: it isn't */
    bool told;           /* ... which a line has told */
    struct buffer asks;  /* the request, to be made again */
    struct {
        int status, retry_after_s;
        struct buffer body;           /* of an answer that is no stream */
        struct buffer thinking, text; /* not taken yet */
        joined thinking_joined, text_joined;
        struct buffer refusal, tool; /* the beginning of what came of them */
        struct buffer taken;         /* by the last call of next() */
        int tokens, thinking_tokens;
        char note[120];
        bool any;               /* something of the reply */
        bool ended;             /* after what is not taken yet; counts may come behind, while it is under way ... */
        int64_t waits_until_ns; /* ... and this time has not come */
        tdm_finish finish;
        tdm_server_counts counts;
        tdm_error error; /* code TDM_OK: none */
    } got;               /* what came */
};

struct remote_model {
    server_address address;
    server_info facts;
    connection *connection;
    tdm_model *model;
    bool renders;              /* prompts are rendered here, by the template that the server reports */
    dialect_thinking thinking; /* how requests say whether to think, where prompts are rendered here by their text */
    tdm_speculation ahead;
    pthread_mutex_t lock;  /* guards what follows, and what came of each request */
    pthread_cond_t news;
    int slot;              /* of the conversation, once the server has chosen it; -1 */
    bool told;             /* what its interface lacks */
    tdm_thinking think;    /* of the reply that was asked for last: what is read ahead is for such a one */
    int64_t soon_ns;       /* when the server last learned of a key */
};

static const tdm_server_counts UNKNOWN = {-1, -1, -1, -1, -1, -1};

/* ---- What comes -------------------------------------------------------------------------------------------------- */

static void fail(struct request *r, const tdm_error *err)
{
    if (!r->got.error.code) r->got.error = *err;
}

static int64_t or_before(int64_t told, int64_t before)
{
    return told >= 0 ? told : before;
}

static tdm_status append_some(struct buffer *to, const struct buffer *from, tdm_error *err)
{
    size_t room = to->n < MAX_WORDS ? MAX_WORDS - to->n : 0;
    return buffer_append(to, from->bytes, from->n < room ? from->n : room, err);
}

/* What came of the reply's own words. The thinking has ended where the answer begins. */
static tdm_status take_words(struct request *r, const dialect_piece *p, tdm_error *err)
{
    tdm_status status = joined_add(&r->got.thinking_joined, p->thinking.bytes, p->thinking.n, &r->got.thinking, err);
    if (!status && p->text.n) status = joined_end(&r->got.thinking_joined, &r->got.thinking, err);
    return status ? status : joined_add(&r->got.text_joined, p->text.bytes, p->text.n, &r->got.text, err);
}

/* The reply has ended. TDM_E_IO: for a reason that is no end, whose words are the error's. */
static tdm_status take_end(struct request *r, const dialect_piece *p, tdm_error *err)
{
    tdm_status status = joined_end(&r->got.thinking_joined, &r->got.thinking, err);
    if (!status) status = joined_end(&r->got.text_joined, &r->got.text, err);
    if (status) return status;
    r->got.ended = true;
    r->got.finish = p->finish;
    r->got.waits_until_ns = clock_ns() + BEHIND_NS;
    if (r->ahead) return TDM_OK;
    if (r->got.refusal.n) return error_set(err, TDM_E_IO, "the model refuses: %s", r->got.refusal.bytes);
    if (p->finish != TDM_FINISH_FAILED && !r->got.tool.n) return TDM_OK;
    const char *why = p->finish == TDM_FINISH_FAILED ? p->reason : "the model calls a tool, and there is none here";
    return error_set(err, TDM_E_IO, "%s%s%s", why, r->got.tool.n ? ": " : "", r->got.tool.n ? r->got.tool.bytes : "");
}

/* A piece of the reply, or the answer to a request that reads ahead. With the lock. */
static void take_piece(struct request *r, struct span data)
{
    dialect_piece p = {0};
    tdm_error err = {0};
    tdm_status status = dialect_read(r->dialect, data, &p, &err);
    tdm_server_counts *n = &r->got.counts;
    n->prompt = or_before(p.prompt_tokens, n->prompt);
    n->cached = or_before(p.cached_tokens, n->cached);
    n->evaluated = or_before(p.evaluated_tokens, n->evaluated);
    n->reply = or_before(p.reply_tokens, n->reply);
    if (p.prompt_ms >= 0) n->prompt_ms = p.prompt_ms;
    if (p.reply_ms >= 0) n->reply_ms = p.reply_ms;
    if (n->prompt < 0 && n->cached >= 0 && n->evaluated >= 0) n->prompt = n->cached + n->evaluated;
    if (p.slot >= 0 && r->answer == 1) r->s->slot = p.slot;
    if (!r->ahead && !r->got.ended) {
        tdm_error none;
        tdm_error *at = status ? &none : &err; /* what came beside an error is kept; the error is the line */
        tdm_status kept = take_words(r, &p, at);
        if (!kept) kept = append_some(&r->got.refusal, &p.refusal, at);
        if (!kept && !r->got.tool.n) kept = append_some(&r->got.tool, &p.tool, at);
        r->got.tokens += p.text.n > 0;
        r->got.thinking_tokens += p.thinking.n > 0;
        r->got.any |= p.text.n || p.thinking.n;
        if (!status) status = kept;
    }
    if (r->got.text.n + r->got.thinking.n > MAX_WAITING)
        status = error_set(&err, TDM_E_FORMAT, "the server sends more than can be taken");
    if (r->got.ended) status = TDM_OK; /* data after the end are counts, or are ignored */
    if (!status && p.end && !r->got.ended) status = take_end(r, &p, &err);
    if (status) fail(r, &err);
    dialect_piece_free(&p);
}

static bool streams(const struct request *r)
{
    return !r->ahead && r->got.status == 200;
}

static void on_head(void *ctx, int status, int retry_after_s)
{
    struct request *r = ctx;
    pthread_mutex_lock(&r->s->lock);
    r->got.status = status;
    r->got.retry_after_s = retry_after_s;
    pthread_mutex_unlock(&r->s->lock);
}

static void on_data(void *ctx, struct span bytes)
{
    struct request *r = ctx;
    pthread_mutex_lock(&r->s->lock);
    tdm_error err;
    size_t most = r->got.status == 200 ? MAX_BODY : MAX_REFUSAL;
    if (r->orphan || r->got.error.code) {
        /* its result is not wanted any more */
    } else if (streams(r)) {
        take_piece(r, bytes);
    } else if (r->got.body.n + bytes.length <= most) {
        if (buffer_append(&r->got.body, bytes.bytes, bytes.length, &err)) fail(r, &err);
    } else if (r->got.status == 200) {
        error_set(&err, TDM_E_FORMAT, "the server's answer has more than %d MiB", MAX_BODY >> 20);
        fail(r, &err);
    }
    pthread_cond_broadcast(&r->s->news);
    pthread_mutex_unlock(&r->s->lock);
}

static void release(struct request *r)
{
    pthread_mutex_lock(&r->s->lock);
    bool last = --r->holders == 0;
    pthread_mutex_unlock(&r->s->lock);
    if (!last) return;
    buffer_free(&r->asks);
    buffer_free(&r->got.body);
    buffer_free(&r->got.thinking);
    buffer_free(&r->got.text);
    buffer_free(&r->got.refusal);
    buffer_free(&r->got.tool);
    buffer_free(&r->got.taken);
    free(r);
}

static struct span body_of(const struct request *r)
{
    return (struct span){r->got.body.n ? r->got.body.bytes : "", r->got.body.n};
}

/* Whether the request is made again later, because the server is busy or loads its model. A line says so; of a model
 * that loads the first time alone. */
static bool repeat_later(struct request *r)
{
    int64_t now = clock_ns();
    const refusal_answer a = {r->got.status, r->got.retry_after_s, body_of(r), r->s->facts.kind == DIALECT_LLAMA};
    int wait = r->ahead ? -1 : refusal_wait_s(&a, r->tries, (int)((now - r->began_ns) / 1000000000));
    bool loads = refusal_is_loading(&a);
    if (wait < 0) return false;
    if (loads && !r->told)
        snprintf(r->got.note, sizeof r->got.note, "loads its model (503): asked again in %d s, for at most %d minutes",
                 wait, REFUSAL_MAX_S / 60);
    else if (!loads)
        snprintf(r->got.note, sizeof r->got.note, "busy (%d): asked again in %d s", r->got.status, wait);
    r->told = true;
    r->again_ns = now + (int64_t)wait * 1000000000 + 1;
    return true;
}

/* An answer is there, or there will be none. With the lock. */
static void conclude(struct request *r, const char *error)
{
    tdm_error err = {0};
    r->under_way = false;
    if (r->orphan || r->got.error.code) return;
    if (r->got.ended) {
        /* ignore data after the end */
    } else if (error) {
        r->s->slot = -1; /* the next server to answer may be another one */
        error_set(&err, TDM_E_IO, "%s", error);
    } else if (r->got.status != 200 && repeat_later(r)) {
        /* there is none yet */
    } else if (r->got.status != 200) {
        dialect_failure(r->got.status, body_of(r), &err);
    } else if (r->ahead) {
        take_piece(r, body_of(r));
        r->got.ended = true;
    } else {
        error_set(&err, TDM_E_IO, r->got.any ? "the reply was cut off" : "the server's answer has no reply in it");
    }
    if (err.code) fail(r, &err);
}

static void on_end(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms)
{
    struct request *r = ctx;
    (void)connect_ms, (void)first_ms, (void)total_ms;
    pthread_mutex_lock(&r->s->lock);
    conclude(r, error);
    pthread_cond_broadcast(&r->s->news);
    pthread_mutex_unlock(&r->s->lock);
    release(r);
}

/* ---- What is asked ----------------------------------------------------------------------------------------------- */

/* Without the lock, since a request that fails at once reports it by a call. */
static void send_request(struct request *r)
{
    remote_model *s = r->s;
    pthread_mutex_lock(&s->lock);
    r->got.status = 0;
    r->got.retry_after_s = -1;
    r->again_ns = 0;
    r->under_way = true;
    if (!r->tries++) r->began_ns = clock_ns();
    r->holders += 2;
    buffer_clear(&r->got.body);
    pthread_mutex_unlock(&s->lock);
    uint32_t id = connection_send(s->connection, (struct span){r->asks.bytes, r->asks.n},
                                  &(connection_calls){.ctx = r, .head = on_head, .data = on_data, .end = on_end});
    pthread_mutex_lock(&s->lock);
    r->id = id;
    bool unwanted = r->orphan && r->under_way; /* it was given up meanwhile */
    pthread_mutex_unlock(&s->lock);
    if (unwanted) connection_cancel(s->connection, id);
    release(r);
}

/* By a page that costs the server nothing. While a request reads ahead, the reply's can't use its connection, and
 * servers close one that has rested for some seconds: both would cost the reply a round trip or more. */
static void make_ready(remote_model *s, uint32_t seconds)
{
    struct buffer request = {0};
    const char *path = s->facts.kind == DIALECT_LLAMA ? "/health" : s->facts.base ? "/models" : "/v1/models";
    if (dialect_get(path, &request, NULL) == TDM_OK)
        connection_ready(s->connection, (struct span){request.bytes, request.n}, seconds);
    buffer_free(&request);
}

/* The messages for a server that renders them, with a reply that is continued behind them. A blank one is none: many
 * servers refuse it. */
static tdm_message *messages_of(const tdm_server_ask *ask, size_t *n)
{
    tdm_message *list = calloc(ask->n_messages + 1, sizeof *list);
    *n = ask->n_messages;
    for (size_t i = 0; i < *n && list; i++) list[i] = ask->messages[i];
    if (list && !span_is_blank((struct span){ask->begun, ask->begun_length}))
        list[(*n)++] = (tdm_message){.role = TDM_ASSISTANT, .text = ask->begun, .length = ask->begun_length};
    return list;
}

/* What is asked of the server, for this request. */
static void take_ask(struct request *r, const tdm_server_ask *from, dialect_ask *ask)
{
    static const tdm_sampling none;
    remote_model *s = r->s;
    const server_info *f = &s->facts;
    if (!from->ahead) s->think = from->think;
    const tdm_sampling *own = from->sampling ? from->sampling : &none;
    bool more = own->top_k || own->min_p > 0 || own->repeat_penalty != 1;
    if (!from->ahead && r->dialect == DIALECT_OPENAI && more && !s->told) {
        s->told = true;
        snprintf(r->got.note, sizeof r->got.note, "its interface has no top-k, min-p and repeat penalty: left out");
    }
    *ask = (dialect_ask){
        .model = f->model[0] ? f->model : NULL,
        .base = f->base,
        .prompt = {from->prompt, from->length},
        .continues = from->begun_length > 0,
        .sampling = own,
        .max_tokens = from->max_tokens,
        .ignore_eos = from->ignore_eos,
        .stops = from->stops,
        .marks = from->marks,
        .slot = r->answer == 1 ? s->slot : -1,
        .thinking = s->thinking,
        .think = s->think,
    };
}

/* Services behind an unknown address may have a model whose template is known to have arguments. */
static bool has_arguments(const char *model)
{
    static const char *const known[] = {"qwen3.5", "qwen3_5", "qwen3.6", "qwen3_6", "qwen3.8", "qwen3_8"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasestr(model, known[i])) return true;
    return false;
}

static dialect_thinking thinking_of(const server_info *f)
{
    if (dialect_takes_prompts(f->kind) || has_arguments(f->model)) return DIALECT_THINK_TEMPLATE;
    return f->ollama ? DIALECT_THINK_EFFORT : DIALECT_THINK_ASKED;
}

static bool has_pictures(const tdm_server_ask *ask)
{
    for (size_t i = 0; i < ask->n_messages; i++)
        if (ask->messages[i].n_pictures) return true;
    return false;
}

/* Tokens that the context has left behind a prompt, by our tokenizer, whose few words make more tokens of a text than
 * those of larger models; 0: not known. */
static int room_behind(const remote_model *s, struct span prompt)
{
    tdm_ids ids = {0};
    int left = s->facts.context;
    if (!left || tdm_tokenize(s->model, prompt.bytes, prompt.length, true, &ids, NULL)) return 0;
    left -= (int)ids.n;
    tdm_ids_free(&ids);
    return left > 1 ? left : 1;
}

static tdm_status start(void *ctx, const tdm_server_ask *from, void **out, tdm_error *err)
{
    remote_model *s = ctx;
    struct request *r = *out = calloc(1, sizeof *r);
    size_t n;
    tdm_message *messages = messages_of(from, &n);
    if (!r || !messages) {
        free(r);
        free(messages);
        return error_set(err, TDM_E_NOMEM, "no memory for a request");
    }
    r->s = s;
    r->holders = 1;
    r->ahead = from->ahead;
    r->answer = from->answer;
    bool pictures = has_pictures(from);
    r->dialect = s->renders && !pictures ? s->facts.kind : DIALECT_OPENAI;
    r->got.counts = UNKNOWN;
    dialect_ask ask;
    pthread_mutex_lock(&s->lock);
    take_ask(r, from, &ask);
    pthread_mutex_unlock(&s->lock);
    ask.messages = messages;
    ask.n_messages = n;
    if (pictures && s->renders) ask.thinking = thinking_of(&s->facts); /* which the prompt would tell else */
    if (s->renders && s->facts.kind != DIALECT_LLAMA) ask.room = room_behind(s, ask.prompt);
    tdm_status status =
        pictures && s->facts.blind
            ? error_set(err, TDM_E_UNSUPPORTED, "the server's model sees no pictures (its /props say so)")
            : dialect_request(r->dialect, &ask, r->ahead, &r->asks, err);
    free(messages);
    if (!status) {
        send_request(r);
        if (r->ahead) make_ready(s, 0);
        return TDM_OK;
    }
    release(r);
    *out = NULL;
    return status;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* A server may leave a stream open behind its end. */
static bool is_over(const struct request *r)
{
    return r->got.ended && (!r->under_way || clock_ns() >= r->got.waits_until_ns);
}

static bool has_news(const struct request *r)
{
    return r->got.note[0] || r->got.text.n || r->got.thinking.n || is_over(r) || r->got.error.code;
}

/* One thing at a time, in their order. With the lock. */
static void give(struct request *r, tdm_server_news *out)
{
    struct buffer *from = r->got.thinking.n ? &r->got.thinking : &r->got.text;
    buffer_clear(&r->got.taken);
    out->counts = r->got.counts;
    if (r->got.note[0]) {
        out->kind = TDM_SERVER_NOTE;
        buffer_append(&r->got.taken, r->got.note, strlen(r->got.note), NULL);
        r->got.note[0] = 0;
    } else if (from->n) {
        struct buffer text = *from;
        *from = r->got.taken;
        r->got.taken = text;
        out->kind = TDM_SERVER_TEXT;
        out->thinking = from == &r->got.thinking;
        int *tokens = out->thinking ? &r->got.thinking_tokens : &r->got.tokens;
        out->tokens = *tokens;
        *tokens = 0;
    } else if (r->got.error.code) {
        out->kind = TDM_SERVER_FAILED;
        buffer_append(&r->got.taken, r->got.error.text, strlen(r->got.error.text), NULL);
    } else if (is_over(r)) {
        out->kind = TDM_SERVER_END;
        out->finish = r->got.finish;
    }
    out->text = r->got.taken.n ? r->got.taken.bytes : "";
    out->length = r->got.taken.n;
}

static void next(void *ctx, void *request, int timeout_ms, tdm_server_news *out)
{
    remote_model *s = ctx;
    struct request *r = request;
    int64_t until = clock_ns() + (int64_t)timeout_ms * 1000000;
    *out = (tdm_server_news){.kind = TDM_SERVER_NOTHING, .text = "", .counts = UNKNOWN};
    pthread_mutex_lock(&s->lock);
    while (!has_news(r) && clock_ns() < until)
        if (clock_wait(&s->news, &s->lock, until)) break;
    /* What has come of an answer is worth having: its end is reported only after it was taken, however it ended. */
    give(r, out);
    bool again = r->again_ns && clock_ns() >= r->again_ns;
    pthread_mutex_unlock(&s->lock);
    if (again) send_request(r);
}

static void end(void *ctx, void *request)
{
    remote_model *s = ctx;
    struct request *r = request;
    pthread_mutex_lock(&s->lock);
    bool under_way = r->under_way;
    uint32_t id = r->id;
    r->orphan = true;
    pthread_mutex_unlock(&s->lock);
    if (under_way) connection_cancel(s->connection, id);
    release(r);
}

static void soon(void *ctx)
{
    remote_model *s = ctx;
    int64_t now = clock_ns();
    pthread_mutex_lock(&s->lock);
    bool due = now - s->soon_ns >= SOON_NS;
    if (due) s->soon_ns = now;
    pthread_mutex_unlock(&s->lock);
    if (due) make_ready(s, TYPING_S);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static tdm_status open_model(remote_model *s, const remote_model_options *o, tdm_error *err)
{
    const server_info *f = &s->facts;
    tdm_model_info info;
    s->ahead = o->ahead >= 0                ? (tdm_speculation)o->ahead
               : f->kind == DIALECT_OPENAI ? TDM_SPEC_OFF
                                           : TDM_SPEC_HISTORY;
    tdm_server_options m = {
        .name = f->model,
        .host = s->address.host,
        .chat_template = o->chat_template ? o->chat_template : f->chat_template,
        .tokenizer = o->tokenizer,
        .context = f->context,
        .ahead = s->ahead,
        .in_turn = f->kind == DIALECT_LLAMA,
        .round_trip_ms = f->round_trip_ms,
        .server = {.ctx = s, .start = start, .next = next, .end = end, .soon = soon},
    };
    tdm_status status = tdm_model_open_server(&s->model, &m, err);
    if (status) return status;
    tdm_model_describe(s->model, &info);
    s->renders = dialect_takes_prompts(f->kind) && !strcmp(info.template_name, "own");
    s->thinking = s->renders ? DIALECT_THINK_RENDERED : thinking_of(f);
    return TDM_OK;
}

tdm_status remote_model_open(remote_model **out, const remote_model_options *o, tdm_error *err)
{
    remote_model *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for a server");
    clock_condition_init(&s->news);
    pthread_mutex_init(&s->lock, NULL);
    s->slot = -1;
    tdm_status status = server_address_parse(&s->address, o->address, err);
    if (!status && !o->agreed)
        status = error_set(err, TDM_E_REFUSED, "nothing was sent to %s: --yes says that what you write may go there",
                           s->address.host);
    connection_options c = {
        .url = s->address.url, .key_file = o->key_file, .key_env = o->key_env, .plain_http = o->plain_http};
    if (!status) status = connection_open(&s->connection, &c, err);
    if (!status)
        status = server_info_ask(&s->facts, s->connection, o->kind, s->address.model[0] ? s->address.model : NULL,
                                 o->patience.given_up ? &o->patience : NULL, err);
    if (status && s->connection && connection_lacks_plain_http(s->connection)) {
        status = error_set(err, TDM_E_REFUSED, "%s: plain http to another computer on an overlay network: nothing was "
                           "sent; a chat asks, and server.NAME.plain-http = yes says that it may go there",
                           s->address.host);
        if (o->lacks_plain_http) *o->lacks_plain_http = true;
    }
    if (!status) status = open_model(s, o, err);
    if (status) {
        remote_model_close(s);
        return status;
    }
    *out = s;
    return TDM_OK;
}

void remote_model_close(remote_model *s)
{
    if (!s) return;
    connection_close(s->connection);
    tdm_model_close(s->model);
    server_info_free(&s->facts);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

tdm_model *remote_model_of(const remote_model *s)
{
    return s->model;
}

const server_info *remote_model_info(const remote_model *s)
{
    return &s->facts;
}

const server_address *remote_model_address(const remote_model *s)
{
    return &s->address;
}

tdm_speculation remote_model_ahead(const remote_model *s)
{
    return s->ahead;
}
