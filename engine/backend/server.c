#include "engine/backend/server.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/state/memory.h"

enum {
    LOOK_MS = 20,       /* how often a pass looks whether it is still wanted, of the 200 ms that it may take to end */
    WORTH_KEEPING = 64, /* a server that keeps fewer tokens than these may just keep whole blocks */
    LONGEST_NAME = 40,  /* of what looks like a token */
};

/* ---- The link ---------------------------------------------------------------------------------------------------- */

tdm_status server_link_new(struct server_link **out, const tdm_server_options *o, const struct weights *w,
                           const struct tokenizer *tokenizer, tdm_error *err)
{
    struct server_link *link = *out = calloc(1, sizeof *link);
    if (!link) return error_set(err, TDM_E_NOMEM, "no memory for a server");
    pthread_mutex_init(&link->lock, NULL);
    link->model = (struct backend_model){.backend = &backend_server, .weights = w};
    link->server = o->server;
    link->tokenizer = tokenizer;
    link->round_trip_ms = o->round_trip_ms;
    link->ahead = o->ahead;
    link->in_turn = o->in_turn;
    link->last = (tdm_server_counts){-1, -1, -1, -1, -1, -1};
    link->name = strdup(o->name);
    link->host = strdup(o->host);
    if (link->name && link->host) return TDM_OK;
    server_link_free(link);
    *out = NULL;
    return error_set(err, TDM_E_NOMEM, "no memory for a server");
}

void server_link_free(struct server_link *link)
{
    if (!link) return;
    pthread_mutex_destroy(&link->lock);
    free(link->name);
    free(link->host);
    free(link);
}

static struct server_link *link_of(const struct evaluator *e)
{
    return (struct server_link *)e->model; /* its first member */
}

void server_told(struct server_link *link, const tdm_server_counts *counts, uint32_t known)
{
    if (counts->prompt < 0 && counts->evaluated < 0 && counts->reply < 0) return;
    pthread_mutex_lock(&link->lock);
    tdm_server_counts before = link->last;
    link->last = *counts;
    if (counts->reply < 0) { /* it was no reply: that of the last one stands */
        link->last.reply = before.reply;
        link->last.reply_ms = before.reply_ms;
    }
    pthread_mutex_unlock(&link->lock);
    if (counts->cached >= 0 && known >= 2 * WORTH_KEEPING)
        atomic_store(&link->rereads, counts->cached < (int64_t)known / 2 - WORTH_KEEPING);
}

tdm_server_counts server_last(struct server_link *link)
{
    pthread_mutex_lock(&link->lock);
    tdm_server_counts last = link->last;
    pthread_mutex_unlock(&link->lock);
    return last;
}

/* ---- Prompts as text --------------------------------------------------------------------------------------------- */

/* The length of what looks like a token at text[0..n); 0: nothing does. */
static size_t looks_like_token(const struct tokenizer *t, const char *text, size_t n)
{
    size_t end = tokenizer_spells_added(t, text, n);
    if (end || n < 5 || text[0] != '<' || text[1] != '|') return end;
    for (end = 2; end < n && end < LONGEST_NAME && text[end] > ' ' && text[end] != '|' && text[end] != '<';) end++;
    return end > 2 && end + 1 < n && text[end] == '|' && text[end + 1] == '>' ? end + 2 : 0;
}

static tdm_status append_harmless(const struct tokenizer *t, const char *text, size_t n, struct buffer *out,
                                  tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (size_t at = 0; at < n && !status;) {
        int32_t code;
        size_t length = utf8_decode(text + at, n - at, &code);
        if (code < 0)
            status = buffer_append(out, "\xef\xbf\xbd", 3, err);
        else
            status = buffer_append(out, text + at, length, err);
        if (!status && looks_like_token(t, text + at, n - at)) status = buffer_append(out, "\xe2\x81\xa0", 3, err);
        at += length;
    }
    return status;
}

tdm_status server_text(const struct tokenizer *t, const tdm_id *ids, size_t n, struct buffer *out, tdm_error *err)
{
    struct buffer between = {0}; /* the text since the last added token */
    tdm_status status = TDM_OK;
    for (size_t i = 0; i <= n && !status; i++) {
        bool added = i < n && tokenizer_is_added(t, ids[i]);
        struct span text = i < n ? tokenizer_bytes(t, ids[i]) : (struct span){"", 0};
        if (i < n && !added) {
            status = buffer_append(&between, text.bytes, text.length, err);
            continue;
        }
        if (between.n) status = append_harmless(t, between.bytes, between.n, out, err);
        buffer_clear(&between);
        if (!status) status = buffer_append(out, text.bytes, text.length, err);
    }
    buffer_free(&between);
    return status;
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

static tdm_status make(struct state **out, struct pool *pool, tdm_error *err)
{
    size_t tokens = pool_context(pool) * sizeof(tdm_id);
    struct state *s = *out = malloc(sizeof *s + tokens);
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for a state of %zu bytes", sizeof *s + tokens);
    *s = (struct state){.pool = pool, .headless = true, .tokens = (tdm_id *)(s + 1)};
    return TDM_OK;
}

static void drop(struct state *s)
{
    free(s);
}

void server_state_set(struct state *s, const tdm_id *ids, uint32_t n)
{
    assert_always(n <= pool_context(s->pool));
    if (n) memcpy(s->tokens, ids, n * sizeof *ids);
    s->length = n;
    s->logits_valid = s->broken = false;
}

static void clear(struct state *s)
{
    server_state_set(s, NULL, 0);
}

static tdm_status copy(struct state *dst, const struct state *src, tdm_error *err)
{
    (void)err;
    server_state_set(dst, src->tokens, src->length);
    dst->logits_valid = src->logits_valid;
    return TDM_OK;
}

static tdm_status make_room(struct state *s, uint32_t n, tdm_error *err)
{
    (void)s, (void)n, (void)err;
    return TDM_OK;
}

static uint32_t shared_pages(const struct state *a, const struct state *b)
{
    (void)a, (void)b;
    return 0;
}

static tdm_status is_elsewhere(tdm_error *err)
{
    return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server, which keeps its states");
}

static tdm_status fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err)
{
    (void)s, (void)length, (void)seed;
    return is_elsewhere(err);
}

static tdm_status logits(struct state *s, const float **out, tdm_error *err)
{
    (void)s;
    *out = NULL;
    return is_elsewhere(err);
}

static tdm_status save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err)
{
    (void)s, (void)fingerprint, (void)out;
    return is_elsewhere(err);
}

static tdm_status load(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err)
{
    (void)s, (void)fingerprint, (void)data, (void)size;
    return is_elsewhere(err);
}

static tdm_status warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err)
{
    (void)p, (void)pages, (void)buffers, (void)err;
    return TDM_OK;
}

static struct pool_stats stats(struct pool *p)
{
    (void)p;
    return (struct pool_stats){.free_pages = UINT32_MAX, .free_buffers = UINT32_MAX};
}

static void close_pool(struct pool *p)
{
    (void)p;
}

static const struct state_memory memory = {
    .make = make,
    .drop = drop,
    .clear = clear,
    .copy = copy,
    .make_room = make_room,
    .shared_pages = shared_pages,
    .fill = fill,
    .logits = logits,
    .save = save,
    .load = load,
    .warm = warm,
    .stats = stats,
    .close = close_pool,
};

static tdm_status pool(struct pool **out, const struct backend_model *m, enum kv_type kv, uint32_t context,
                       tdm_error *err)
{
    struct state_shape shape = state_shape_of(&m->weights->config);
    struct pool_form form = {.shape = &shape, .kv = kv, .context = context,
                             .buffer_bytes = sizeof(struct state) + context * sizeof(tdm_id)};
    return pool_new_device(out, &memory, NULL, &form, err);
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

static tdm_status new_evaluator(struct evaluator **out, const struct backend_model *m,
                                const struct evaluator_form *form, tdm_error *err)
{
    *out = malloc(sizeof **out);
    if (!*out) return error_set(err, TDM_E_NOMEM, "no memory for requests");
    **out = (struct evaluator){.model = m, .form = *form};
    return TDM_OK;
}

static void drop_evaluator(struct evaluator *e)
{
    free(e);
}

/* Has the server evaluate a prompt, until it has, or nobody wants it any more. */
static tdm_status evaluate(struct server_link *link, const struct buffer *prompt, uint32_t known,
                           const atomic_bool *cancel, tdm_error *err)
{
    tdm_server_ask ask = {.prompt = prompt->bytes, .length = prompt->n, .ahead = true, .answer = 1};
    tdm_server_news news = {.kind = TDM_SERVER_NOTHING};
    void *request;
    tdm_status status = link->server.start(link->server.ctx, &ask, &request, err);
    if (status) return status;
    while (!status && news.kind != TDM_SERVER_END && news.kind != TDM_SERVER_FAILED) {
        link->server.next(link->server.ctx, request, LOOK_MS, &news);
        if (cancel && atomic_load(cancel) && news.kind != TDM_SERVER_END)
            status = error_set(err, TDM_E_CANCELLED, "given up");
    }
    if (!status && news.kind == TDM_SERVER_FAILED)
        status = error_set(err, TDM_E_IO, "%s: %.*s", link->host, (int)news.length, news.text);
    news.counts.reply = -1;
    if (!status) server_told(link, &news.counts, known);
    link->server.end(link->server.ctx, request);
    return status;
}

static tdm_status run_forward(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                              const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    struct server_link *link = link_of(e);
    struct state *s = runs[0].state;
    struct buffer prompt = {0};
    (void)team;
    assert_always(n_runs == 1 && !runs[0].kept && !runs[0].all);
    if (runs[0].n > pool_context(s->pool) - s->length)
        return error_set(err, TDM_E_CONTEXT, "the context is full: %u tokens", pool_context(s->pool));
    memcpy(s->tokens + s->length, runs[0].tokens, runs[0].n * sizeof *s->tokens);
    tdm_status status = server_text(link->tokenizer, s->tokens, s->length + runs[0].n, &prompt, err);
    if (!status) status = evaluate(link, &prompt, s->length, options ? options->cancel : NULL, err);
    if (!status) {
        s->length += runs[0].n;
        s->logits_valid = runs[0].logits != LOGITS_NONE;
        if (bytes) *bytes = prompt.n;
    }
    buffer_free(&prompt);
    return status;
}

static tdm_status draw(struct evaluator *e, struct state *s, const struct draw *d, tdm_id *out, tdm_error *err)
{
    (void)e, (void)s, (void)d;
    *out = -1;
    return is_elsewhere(err);
}

const struct backend backend_server = {
    .name = "server",
    .pool = pool,
    .evaluator = new_evaluator,
    .evaluator_drop = drop_evaluator,
    .forward = run_forward,
    .draw = draw,
};
