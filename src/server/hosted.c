#include "src/server/hosted.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/cli/jsonio.h"
#include "src/server/prompt_turns.h"

enum {
    MOST_REFUSAL = 64 << 10, /* bytes of a failure's page */
    MOST_BODY = 4 << 20,     /* of an answer that is no stream */
    MOST_WAITING = 16 << 20, /* of a reply that nobody has taken yet */
    TRIES = 4,               /* of a request that is told to come later */
    MOST_WAIT_S = 60,        /* that it is worth waiting for that */
    LOADING_S = 5,
    TYPING_S = 30,           /* after the last key, while Enter is likely */
};

/* So often a key is told on. */
#define SOON_NS INT64_C(1000000000)

/* Stands where a message that is read ahead may go on, while a server renders it: a text that nobody types. */
#define CUT "\xe2\x81\xa0tandem-cuts-here\xe2\x81\xa0"

/* What is under way of a request. */
typedef enum { STEP_RENDER, STEP_ASK } step;

struct request {
    hosted *s;
    dialect dialect;     /* in which it is asked */
    bool ahead, orphan;  /* orphan: nobody looks at it any more */
    int holders;         /* of it: who began it, the connection, and send_step; the last one frees it */
    int answer, tries;
    step step;
    uint32_t id;
    bool under_way;
    int64_t again_ns;    /* it is made again then; 0: it isn't */
    struct buffer asks;  /* the step's request, to be made again */
    dialect_ask ask;     /* STEP_RENDER: what is left to be filled in; its strings are the request's or the facts' */
    struct buffer begun; /* STEP_RENDER: goes behind the prompt that the server renders */
    bool open;           /* STEP_RENDER: that is cut off at CUT */
    tdm_sampling sampling;
    char **stops;
    /* what came */
    int status, retry_after_s;
    struct buffer body;           /* of an answer that is no stream */
    struct buffer thinking, text; /* not taken yet */
    struct buffer taken;          /* by the last call of next() */
    int tokens, thinking_tokens;
    char note[120];
    bool ended;                   /* after what is not taken yet; counts may come behind, while it is under way */
    tdm_finish finish;
    tdm_server_counts counts;
    tdm_error error;              /* code TDM_OK: none */
};

struct hosted {
    place place;
    facts facts;
    connection *connection;
    tdm_model *model;
    bool own_template;     /* Tandem's text is what the server's template makes */
    tdm_speculation ahead;
    pthread_mutex_t lock;  /* guards what follows, and what came of each request */
    pthread_cond_t news;
    int slot;              /* of the conversation, once the server has chosen it; -1 */
    bool told;             /* what its interface lacks */
    int64_t soon_ns;       /* when the last key was told on */
};

static const tdm_server_counts UNKNOWN = {-1, -1, -1, -1, -1, -1};

/* ---- What comes -------------------------------------------------------------------------------------------------- */

static void fail(struct request *r, const tdm_error *err)
{
    if (!r->error.code) r->error = *err;
}

static int64_t or_before(int64_t told, int64_t before)
{
    return told >= 0 ? told : before;
}

/* A piece of the reply, or the answer to a request that reads ahead. With the lock. */
static void take_piece(struct request *r, struct span data)
{
    dialect_piece p = {0};
    tdm_error err = {0};
    tdm_status status = dialect_read(r->dialect, data, &p, &err);
    tdm_server_counts *n = &r->counts;
    n->prompt = or_before(p.prompt_tokens, n->prompt);
    n->cached = or_before(p.cached_tokens, n->cached);
    n->evaluated = or_before(p.evaluated_tokens, n->evaluated);
    n->reply = or_before(p.reply_tokens, n->reply);
    if (p.prompt_ms >= 0) n->prompt_ms = p.prompt_ms;
    if (p.reply_ms >= 0) n->reply_ms = p.reply_ms;
    if (n->prompt < 0 && n->cached >= 0 && n->evaluated >= 0) n->prompt = n->cached + n->evaluated;
    if (p.slot >= 0 && r->answer == 1) r->s->slot = p.slot;
    if (!status && !r->ahead) status = buffer_append(&r->thinking, p.thinking.bytes, p.thinking.n, &err);
    if (!status && !r->ahead) status = buffer_append(&r->text, p.text.bytes, p.text.n, &err);
    r->tokens += p.text.n > 0;
    r->thinking_tokens += p.thinking.n > 0;
    if (r->text.n + r->thinking.n > MOST_WAITING)
        status = error_set(&err, TDM_E_FORMAT, "the server sends more than can be taken");
    if (!status && p.end && !r->ended) {
        r->ended = true;
        r->finish = p.finish;
    }
    if (status) fail(r, &err);
    dialect_piece_free(&p);
}

static bool streams(const struct request *r)
{
    return r->step == STEP_ASK && !r->ahead && r->status == 200;
}

static void on_head(void *ctx, int status, int retry_after_s)
{
    struct request *r = ctx;
    pthread_mutex_lock(&r->s->lock);
    r->status = status;
    r->retry_after_s = retry_after_s;
    pthread_mutex_unlock(&r->s->lock);
}

static void on_data(void *ctx, struct span bytes)
{
    struct request *r = ctx;
    pthread_mutex_lock(&r->s->lock);
    tdm_error err;
    size_t most = r->status == 200 ? MOST_BODY : MOST_REFUSAL;
    if (r->orphan || r->error.code) {
        /* nobody wants it */
    } else if (streams(r)) {
        take_piece(r, bytes);
    } else if (r->body.n + bytes.length <= most) {
        if (buffer_append(&r->body, bytes.bytes, bytes.length, &err)) fail(r, &err);
    } else if (r->status == 200) {
        error_set(&err, TDM_E_FORMAT, "the server's answer has more than %d MiB", MOST_BODY >> 20);
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
    for (size_t i = 0; r->stops && r->stops[i]; i++) free(r->stops[i]);
    free(r->stops);
    buffer_free(&r->asks);
    buffer_free(&r->begun);
    buffer_free(&r->body);
    buffer_free(&r->thinking);
    buffer_free(&r->text);
    buffer_free(&r->taken);
    free(r);
}

/* The server has rendered the prompt: STEP_ASK is what follows. */
static tdm_status take_prompt(struct request *r, tdm_error *err)
{
    json_object *o = NULL;
    size_t n = 0;
    struct buffer prompt = {0};
    tdm_status status = jsonio_parse(&o, "/apply-template", r->body.n ? r->body.bytes : "", r->body.n, err);
    const char *text = status ? NULL : jsonio_text(o, "prompt", &n);
    if (!status && !text) status = error_set(err, TDM_E_FORMAT, "/apply-template: expected `prompt` of the server");
    const char *cut = !status && r->open ? memmem(text, n, CUT, sizeof CUT - 1) : NULL;
    if (!status && r->open && !cut)
        status = error_set(err, TDM_E_FORMAT, "/apply-template: expected the messages in the prompt");
    if (cut) n = (size_t)(cut - text);
    if (!status) status = buffer_append(&prompt, text, n, err);
    if (!status) status = buffer_append(&prompt, r->begun.bytes, r->begun.n, err);
    r->ask.prompt = (struct span){prompt.n ? prompt.bytes : "", prompt.n};
    r->ask.slot = r->s->slot;
    buffer_clear(&r->body);
    buffer_clear(&r->asks);
    if (!status) status = dialect_request(r->dialect, &r->ask, r->ahead, &r->asks, err);
    buffer_free(&prompt);
    json_object_put(o);
    r->step = STEP_ASK;
    r->tries = 0;
    return status;
}

/* An answer is there, or there will be none. True: another request is to follow at once. With the lock. */
static bool conclude(struct request *r, const char *error)
{
    tdm_error err = {0};
    r->under_way = false;
    if (r->orphan || r->error.code) return false;
    /* A llama-server that is loading its model doesn't say for how long. */
    bool loads = r->status == 503 && r->retry_after_s < 0 && r->s->facts.kind == DIALECT_LLAMA;
    if (loads) r->retry_after_s = LOADING_S;
    bool later = (r->status == 429 || r->status == 503) && r->retry_after_s >= 0 && r->retry_after_s <= MOST_WAIT_S;
    if (r->ended) {
        /* what comes behind an end is missed by nobody */
    } else if (error) {
        r->s->slot = -1; /* who answers next may be another one */
        error_set(&err, TDM_E_IO, "%s", error);
    } else if (r->status != 200 && later && !r->ahead && r->tries < TRIES) {
        snprintf(r->note, sizeof r->note, "busy (%d): asked again in %d s", r->status, r->retry_after_s);
        r->again_ns = clock_ns() + (int64_t)r->retry_after_s * 1000000000 + 1;
    } else if (r->status != 200) {
        dialect_failure(r->status, (struct span){r->body.n ? r->body.bytes : "", r->body.n}, &err);
    } else if (r->step == STEP_RENDER) {
        if (take_prompt(r, &err) == TDM_OK) return true;
    } else if (r->ahead) {
        take_piece(r, (struct span){r->body.n ? r->body.bytes : "", r->body.n});
        r->ended = true;
    } else {
        error_set(&err, TDM_E_IO, "the reply was cut off");
    }
    if (err.code) fail(r, &err);
    return false;
}

static void send_step(struct request *r);

static void on_end(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms)
{
    struct request *r = ctx;
    (void)connect_ms, (void)first_ms, (void)total_ms;
    pthread_mutex_lock(&r->s->lock);
    bool next = conclude(r, error);
    pthread_cond_broadcast(&r->s->news);
    pthread_mutex_unlock(&r->s->lock);
    if (next) send_step(r);
    release(r);
}

/* ---- What is asked ----------------------------------------------------------------------------------------------- */

/* Without the lock, since what fails at once is told by a call. */
static void send_step(struct request *r)
{
    hosted *s = r->s;
    pthread_mutex_lock(&s->lock);
    r->status = 0;
    r->retry_after_s = -1;
    r->again_ns = 0;
    r->under_way = true;
    r->tries++;
    r->holders += 2;
    buffer_clear(&r->body);
    pthread_mutex_unlock(&s->lock);
    uint32_t id = connection_send(s->connection, (struct span){r->asks.bytes, r->asks.n},
                                  &(connection_calls){.ctx = r, .head = on_head, .data = on_data, .end = on_end});
    pthread_mutex_lock(&s->lock);
    r->id = id;
    bool unwanted = r->orphan && r->under_way; /* it was given up between two steps */
    pthread_mutex_unlock(&s->lock);
    if (unwanted) connection_cancel(s->connection, id);
    release(r);
}

/* By a page that costs the server nothing. While a request reads ahead, the reply's can't use its connection, and
 * servers close one that has rested for some seconds: both would cost the reply a round trip or more. */
static void make_ready(hosted *s, uint32_t seconds)
{
    struct buffer request = {0};
    const char *path = s->facts.kind == DIALECT_LLAMA ? "/health" : "/v1/models";
    if (dialect_get(path, &request, NULL) == TDM_OK)
        connection_ready(s->connection, (struct span){request.bytes, request.n}, seconds);
    buffer_free(&request);
}

static tdm_status copy_stops(struct request *r, const char *const *stops, tdm_error *err)
{
    size_t n = 0;
    while (stops && stops[n]) n++;
    if (!(r->stops = calloc(n + 1, sizeof *r->stops))) return error_set(err, TDM_E_NOMEM, "no memory for a request");
    for (size_t i = 0; i < n; i++)
        if (!(r->stops[i] = strdup(stops[i]))) return error_set(err, TDM_E_NOMEM, "no memory for a request");
    return TDM_OK;
}

/* The request for messages that the server renders: whole, or its first step. */
static tdm_status ask_by_messages(struct request *r, struct span prompt, tdm_error *err)
{
    prompt_turns m;
    tdm_status status = prompt_turns_read(&m, prompt, err);
    if (status) return status;
    struct buffer marked = {0};
    if (r->step == STEP_RENDER) {
        status = buffer_append(&r->begun, m.begun.bytes, m.begun.length, err);
        if (m.open) { /* what the server renders is cut off where the message may go on */
            tdm_message *last = &m.list[m.n - 1];
            status = buffer_append(&marked, last->text, last->length, err);
            if (!status) status = buffer_append(&marked, CUT, sizeof CUT - 1, err);
            *last = (tdm_message){.role = TDM_USER, .text = marked.bytes, .length = marked.n};
        }
        r->open = m.open;
        r->ask.messages = m.list;
        r->ask.n_messages = m.n;
        if (!status) status = dialect_render(&r->ask, &r->asks, err);
    } else {
        if (m.open && !m.list[m.n - 1].length) m.n--;
        r->ask.continues = m.begun.length > 0;
        if (r->ask.continues)
            m.list[m.n++] = (tdm_message){.role = TDM_ASSISTANT, .text = m.begun.bytes, .length = m.begun.length};
        r->ask.messages = m.list;
        r->ask.n_messages = m.n;
        status = dialect_request(r->dialect, &r->ask, r->ahead, &r->asks, err);
    }
    r->ask.messages = NULL;
    buffer_free(&marked);
    prompt_turns_free(&m);
    return status;
}

static void take_ask(struct request *r, const tdm_server_ask *ask)
{
    hosted *s = r->s;
    const facts *f = &s->facts;
    if (ask->sampling) r->sampling = *ask->sampling;
    const tdm_sampling *own = &r->sampling;
    bool more = own->top_k || own->min_p > 0 || own->repeat_penalty != 1;
    if (!ask->ahead && r->dialect == DIALECT_OPENAI && more && !s->told) {
        s->told = true;
        snprintf(r->note, sizeof r->note, "its interface has no top-k, min-p and repeat penalty: left out");
    }
    r->ask = (dialect_ask){
        .model = f->model[0] ? f->model : NULL,
        .sampling = &r->sampling,
        .max_tokens = ask->max_tokens,
        .ignore_eos = ask->ignore_eos,
        .stops = (const char *const *)r->stops,
        .slot = r->answer == 1 ? s->slot : -1,
        .can_think = f->form,
        .think = ask->think,
    };
}

/* Tokens that the context has left behind a prompt, by our tokenizer, whose few words make more tokens of a text than
 * those of larger models; 0: not known. */
static int room_behind(const hosted *s, struct span prompt)
{
    tdm_ids ids = {0};
    int left = s->facts.context;
    if (!left || tdm_tokenize(s->model, prompt.bytes, prompt.length, true, &ids, NULL)) return 0;
    left -= (int)ids.n;
    tdm_ids_free(&ids);
    return left > 1 ? left : 1;
}

static tdm_status start(void *ctx, const tdm_server_ask *ask, void **out, tdm_error *err)
{
    hosted *s = ctx;
    struct request *r = *out = calloc(1, sizeof *r);
    if (!r) return error_set(err, TDM_E_NOMEM, "no memory for a request");
    bool renders = !s->own_template && s->facts.kind == DIALECT_LLAMA;
    r->s = s;
    r->holders = 1;
    r->ahead = ask->ahead;
    r->answer = ask->answer;
    r->dialect = s->own_template || renders ? s->facts.kind : DIALECT_OPENAI;
    r->step = renders ? STEP_RENDER : STEP_ASK;
    r->counts = UNKNOWN;
    struct span prompt = {ask->prompt, ask->length};
    tdm_status status = copy_stops(r, ask->stops, err);
    pthread_mutex_lock(&s->lock);
    take_ask(r, ask);
    pthread_mutex_unlock(&s->lock);
    r->ask.prompt = prompt;
    if (s->own_template && s->facts.kind != DIALECT_LLAMA) r->ask.room = room_behind(s, prompt);
    if (!status && s->own_template)
        status = dialect_request(r->dialect, &r->ask, r->ahead, &r->asks, err);
    else if (!status)
        status = ask_by_messages(r, prompt, err);
    if (!status) {
        send_step(r);
        if (r->ahead) make_ready(s, 0);
        return TDM_OK;
    }
    release(r);
    *out = NULL;
    return status;
}

/* ---- What is told ------------------------------------------------------------------------------------------------ */

static bool has_news(const struct request *r)
{
    return r->note[0] || r->text.n || r->thinking.n || (r->ended && !r->under_way) || r->error.code;
}

/* One thing at a time, in their order. With the lock. */
static void give(struct request *r, tdm_server_news *out)
{
    struct buffer *from = r->thinking.n ? &r->thinking : &r->text;
    buffer_clear(&r->taken);
    out->counts = r->counts;
    if (r->note[0]) {
        out->kind = TDM_SERVER_NOTE;
        buffer_append(&r->taken, r->note, strlen(r->note), NULL);
        r->note[0] = 0;
    } else if (from->n) {
        struct buffer text = *from;
        *from = r->taken;
        r->taken = text;
        out->kind = TDM_SERVER_TEXT;
        out->thinking = from == &r->thinking;
        int *tokens = out->thinking ? &r->thinking_tokens : &r->tokens;
        out->tokens = *tokens;
        *tokens = 0;
    } else if (r->error.code) {
        out->kind = TDM_SERVER_FAILED;
        buffer_append(&r->taken, r->error.text, strlen(r->error.text), NULL);
    } else if (r->ended && !r->under_way) {
        out->kind = TDM_SERVER_END;
        out->finish = r->finish;
    }
    out->text = r->taken.n ? r->taken.bytes : "";
    out->length = r->taken.n;
}

static void next(void *ctx, void *request, int timeout_ms, tdm_server_news *out)
{
    hosted *s = ctx;
    struct request *r = request;
    int64_t until = clock_ns() + (int64_t)timeout_ms * 1000000;
    struct timespec at = {until / 1000000000, until % 1000000000};
    *out = (tdm_server_news){.kind = TDM_SERVER_NOTHING, .text = "", .counts = UNKNOWN};
    pthread_mutex_lock(&s->lock);
    while (!has_news(r) && clock_ns() < until)
        if (pthread_cond_timedwait(&s->news, &s->lock, &at)) break;
    /* What has come of an answer is worth having: its end is told only when that is taken, however it ended. */
    give(r, out);
    bool again = r->again_ns && clock_ns() >= r->again_ns;
    pthread_mutex_unlock(&s->lock);
    if (again) send_step(r);
}

static void end(void *ctx, void *request)
{
    hosted *s = ctx;
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
    hosted *s = ctx;
    int64_t now = clock_ns();
    pthread_mutex_lock(&s->lock);
    bool due = now - s->soon_ns >= SOON_NS;
    if (due) s->soon_ns = now;
    pthread_mutex_unlock(&s->lock);
    if (due) make_ready(s, TYPING_S);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static tdm_status open_model(hosted *s, const hosted_options *o, tdm_error *err)
{
    const facts *f = &s->facts;
    tdm_model_info info;
    s->ahead = o->ahead >= 0                ? (tdm_speculation)o->ahead
               : f->kind == DIALECT_OPENAI ? TDM_SPEC_OFF
                                           : TDM_SPEC_HISTORY;
    tdm_server_options m = {
        .name = f->model,
        .host = s->place.host,
        .chat_template = f->chat_template,
        .template_name = dialect_takes_prompts(f->kind) ? f->form : NULL,
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
    s->own_template = dialect_takes_prompts(f->kind) && !info.template_replaced;
    return TDM_OK;
}

tdm_status hosted_open(hosted **out, const hosted_options *o, tdm_error *err)
{
    hosted *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for a server");
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&s->lock, NULL);
    s->slot = -1;
    tdm_status status = place_parse(&s->place, o->address, err);
    if (!status && !o->agreed)
        status = error_set(err, TDM_E_REFUSED, "nothing was sent to %s: --yes says that what you write may go there",
                           s->place.host);
    connection_options c = {.url = s->place.url, .key_file = o->key_file, .key_env = o->key_env};
    if (!status) status = connection_open(&s->connection, &c, err);
    if (!status)
        status = facts_ask(&s->facts, s->connection, o->kind, s->place.model[0] ? s->place.model : NULL,
                           o->patience.given_up ? &o->patience : NULL, err);
    if (!status) status = open_model(s, o, err);
    if (status) {
        hosted_close(s);
        return status;
    }
    *out = s;
    return TDM_OK;
}

void hosted_close(hosted *s)
{
    if (!s) return;
    connection_close(s->connection);
    tdm_model_close(s->model);
    facts_free(&s->facts);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

tdm_model *hosted_model(const hosted *s)
{
    return s->model;
}

const facts *hosted_facts(const hosted *s)
{
    return &s->facts;
}

const place *hosted_place(const hosted *s)
{
    return &s->place;
}

tdm_speculation hosted_ahead(const hosted *s)
{
    return s->ahead;
}
