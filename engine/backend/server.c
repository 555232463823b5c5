#include "engine/backend/server.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/state/memory.h"

enum {
    LOOK_MS = 20,       /* how often a pass looks whether it is still wanted: it may take 200 ms to end */
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
    link->ahead = o->ahead ? o->ahead : TDM_SPEC_OFF;
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
    server_prompt_free(&link->wanted);
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
    if (counts->reply < 0) { /* it was no reply: the count of the last one stays */
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

/* ---- Prompts ----------------------------------------------------------------------------------------------------- */

static void *copy_bytes(const void *from, size_t n)
{
    void *copy = malloc(n + 1);
    if (copy && n) memcpy(copy, from, n);
    return copy;
}

static void free_messages(tdm_message *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++) {
        for (size_t k = 0; k < list[i].n_pictures; k++) tdm_picture_drop(list[i].pictures[k].picture);
        free((tdm_placed_picture *)list[i].pictures);
        free((char *)list[i].text);
    }
    free(list);
}

static tdm_message *copy_messages(const tdm_message *from, size_t n)
{
    tdm_message *to = calloc(n + 1, sizeof *to);
    bool all = to;
    for (size_t i = 0; i < n && all; i++) {
        to[i] = (tdm_message){.role = from[i].role,
                              .text = copy_bytes(from[i].text, from[i].length),
                              .length = from[i].length,
                              .pictures = copy_bytes(from[i].pictures, from[i].n_pictures * sizeof *from[i].pictures)};
        all = to[i].text && to[i].pictures;
        if (!all) break;
        to[i].n_pictures = from[i].n_pictures;
        for (size_t k = 0; k < to[i].n_pictures; k++) tdm_picture_hold(to[i].pictures[k].picture);
    }
    if (all) return to;
    free_messages(to, n);
    return NULL;
}

tdm_status server_prompt_copy(struct server_prompt *to, const struct server_prompt *from, tdm_error *err)
{
    struct written *text = calloc(1, sizeof *text);
    *to = (struct server_prompt){
        .ids = copy_bytes(from->ids, from->n * sizeof *from->ids),
        .ends = copy_bytes(from->ends, from->n * sizeof *from->ends),
        .n = from->n,
        .text = text,
        .messages = copy_messages(from->messages, from->n_messages),
        .n_messages = from->n_messages,
        .last = from->last,
        .begun = {copy_bytes(from->begun.bytes, from->begun.length), from->begun.length},
    };
    bool all = to->ids && to->ends && text && to->messages && to->begun.bytes;
    if (!to->messages) to->n_messages = 0;
    if (all && from->text) all = !written_add_part(text, from->text, 0, from->text->n, err);
    if (all) return TDM_OK;
    server_prompt_free(to);
    return error_set(err, TDM_E_NOMEM, "no memory for a prompt of %u tokens", from->n);
}

void server_prompt_free(struct server_prompt *p)
{
    free_messages((tdm_message *)p->messages, p->n_messages);
    free((tdm_id *)p->ids);
    free((size_t *)p->ends);
    free((char *)p->begun.bytes);
    if (p->text) written_free((struct written *)p->text);
    free((struct written *)p->text);
    *p = (struct server_prompt){0};
}

tdm_status server_want(struct server_link *link, const struct server_prompt *prompt, tdm_error *err)
{
    struct server_prompt copy, before;
    tdm_status status = server_prompt_copy(&copy, prompt, err); /* an older one would be answered in its place */
    pthread_mutex_lock(&link->lock);
    before = link->wanted;
    link->wanted = copy;
    pthread_mutex_unlock(&link->lock);
    server_prompt_free(&before);
    return status;
}

tdm_status server_wanted(struct server_link *link, struct server_prompt *out, tdm_error *err)
{
    pthread_mutex_lock(&link->lock);
    *out = (struct server_prompt){0};
    tdm_status status = link->wanted.n ? server_prompt_copy(out, &link->wanted, err)
                                       : error_set(err, TDM_E_NOMEM, "no memory for the prompt");
    pthread_mutex_unlock(&link->lock);
    return status;
}

/* The marks that the template writes in a prompt. */
struct marks_written {
    struct span list[64];
    size_t n;
};

/* The length of a word <...> or [...] at text[0..n); 0: there is none. */
static size_t word_of_mark(const char *text, size_t n)
{
    char closes = text[0] == '<' ? '>' : ']';
    size_t end = 1;
    if (text[0] != '<' && text[0] != '[') return 0;
    while (end < n && end < LONGEST_NAME && text[end] != closes && text[end] != text[0] &&
           (unsigned char)text[end] > ' ')
        end++;
    return end > 1 && end < n && text[end] == closes ? end + 1 : 0;
}

static void find_marks(const struct written *w, struct marks_written *marks)
{
    marks->n = 0;
    for (size_t i = 0; i < w->n_ends; i += 2) {
        size_t length;
        for (size_t at = i ? w->ends[i - 1] : 0; at < w->ends[i]; at += length ? length : 1) {
            struct span word = {w->text + at, length = word_of_mark(w->text + at, w->ends[i] - at)};
            bool known = !length || marks->n == sizeof marks->list / sizeof *marks->list;
            for (size_t k = 0; k < marks->n && !known; k++)
                known = marks->list[k].length == length && !memcmp(marks->list[k].bytes, word.bytes, length);
            if (!known) marks->list[marks->n++] = word;
        }
    }
}

/* Whether text[0..n) begins with what is or looks like a token. */
static bool looks_like_token(const struct tokenizer *t, const struct marks_written *marks, const char *text, size_t n)
{
    if (tokenizer_spells_added(t, text, n)) return true;
    size_t word = word_of_mark(text, n);
    for (size_t i = 0; i < marks->n && word; i++)
        if (marks->list[i].length <= n && !memcmp(marks->list[i].bytes, text, marks->list[i].length)) return true;
    return word > 4 && text[0] == '<' && text[1] == '|' && text[word - 2] == '|';
}

static tdm_status append_harmless(const struct tokenizer *t, const struct marks_written *marks, const char *text,
                                  size_t n, struct buffer *out, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (size_t at = 0; at < n && !status;) {
        int32_t code;
        size_t length = utf8_decode(text + at, n - at, &code);
        if (code < 0)
            status = buffer_append(out, "\xef\xbf\xbd", 3, err);
        else
            status = buffer_append(out, text + at, length, err);
        if (!status && looks_like_token(t, marks, text + at, n - at))
            status = buffer_append(out, "\xe2\x81\xa0", 3, err);
        at += length;
    }
    return status;
}

tdm_status server_text(const struct tokenizer *t, const struct server_prompt *prompt, uint32_t n, struct buffer *out,
                       tdm_error *err)
{
    const struct written *w = prompt->text;
    size_t end = n == prompt->n ? w->n : n ? prompt->ends[n - 1] : 0;
    struct marks_written marks;
    tdm_status status = TDM_OK;
    find_marks(w, &marks);
    for (size_t i = 0, at = 0; i < w->n_ends && at < end && !status; at = w->ends[i++]) {
        size_t to = w->ends[i] < end ? w->ends[i] : end;
        if (i % 2)
            status = append_harmless(t, &marks, w->text + at, to - at, out, err);
        else
            status = buffer_append(out, w->text + at, to - at, err);
    }
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

static tdm_status is_on_the_server(tdm_error *err)
{
    return error_set(err, TDM_E_UNSUPPORTED, "the model is on a server, which keeps its states");
}

static tdm_status fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err)
{
    (void)s, (void)length, (void)seed;
    return is_on_the_server(err);
}

static tdm_status logits(struct state *s, const float **out, tdm_error *err)
{
    (void)s;
    *out = NULL;
    return is_on_the_server(err);
}

static tdm_status save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err)
{
    (void)s, (void)fingerprint, (void)out;
    return is_on_the_server(err);
}

static tdm_status load(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err)
{
    (void)s, (void)fingerprint, (void)data, (void)size;
    return is_on_the_server(err);
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

/* Has the server evaluate a prompt; returns when it has, or when the prompt is not wanted any more. */
static tdm_status evaluate(struct server_link *link, const tdm_server_ask *ask, uint32_t known,
                           const atomic_bool *cancel, tdm_error *err)
{
    tdm_server_news news = {.kind = TDM_SERVER_NOTHING};
    void *request;
    tdm_status status = link->server.start(link->server.ctx, ask, &request, err);
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

/* A copy of the prompt that is wanted, if these tokens are its beginning. */
static tdm_status take_wanted(struct server_link *link, const tdm_id *tokens, uint32_t n, struct server_prompt *out,
                              tdm_error *err)
{
    pthread_mutex_lock(&link->lock);
    const struct server_prompt *w = &link->wanted;
    bool same = n <= w->n && (!n || !memcmp(w->ids, tokens, n * sizeof *tokens));
    tdm_status status = same ? server_prompt_copy(out, w, err) : error_set(err, TDM_E_CANCELLED, "given up");
    pthread_mutex_unlock(&link->lock);
    return status;
}

/* Cuts off the messages that its ids don't stand for yet. */
static void cut_messages(const struct server_prompt *p, tdm_message *list, size_t *n)
{
    *n = p->n_messages;
    for (size_t i = 0; i < *n; i++) list[i] = p->messages[i];
    tdm_message *last = *n ? &list[*n - 1] : NULL;
    if (last && p->last < last->length) last->length = p->last;
    while (last && last->n_pictures && last->pictures[last->n_pictures - 1].at > last->length) last->n_pictures--;
    if (last && !last->length && !last->n_pictures) --*n;
}

static tdm_status run_forward(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                              const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    struct server_link *link = link_of(e);
    struct state *s = runs[0].state;
    struct server_prompt wanted = {0};
    struct buffer text = {0};
    uint32_t n = s->length + runs[0].n;
    (void)team;
    assert_always(n_runs == 1 && !runs[0].kept && !runs[0].all);
    if (runs[0].n > pool_context(s->pool) - s->length)
        return error_set(err, TDM_E_CONTEXT, "the context is full: %u tokens", pool_context(s->pool));
    memcpy(s->tokens + s->length, runs[0].tokens, runs[0].n * sizeof *s->tokens);
    tdm_status status = take_wanted(link, s->tokens, n, &wanted, err);
    if (status) return status;
    tdm_message *messages = calloc(wanted.n_messages + 1, sizeof *messages);
    status = messages ? server_text(link->tokenizer, &wanted, n, &text, err)
                      : error_set(err, TDM_E_NOMEM, "no memory for a prompt of %u tokens", n);
    if (!status) {
        tdm_server_ask ask = {.prompt = text.bytes, .length = text.n, .messages = messages, .ahead = true, .answer = 1};
        cut_messages(&wanted, messages, &ask.n_messages);
        status = evaluate(link, &ask, s->length, options ? options->cancel : NULL, err);
    }
    if (!status) {
        s->length = n;
        s->logits_valid = runs[0].logits != LOGITS_NONE;
        if (bytes) *bytes = text.n;
    }
    free(messages);
    buffer_free(&text);
    server_prompt_free(&wanted);
    return status;
}

static tdm_status sample(struct evaluator *e, struct state *s, const struct sampling_request *d, tdm_id *out,
                         tdm_error *err)
{
    (void)e, (void)s, (void)d;
    *out = -1;
    return is_on_the_server(err);
}

const struct backend backend_server = {
    .name = "server",
    .pool = pool,
    .evaluator = new_evaluator,
    .evaluator_drop = drop_evaluator,
    .forward = run_forward,
    .sample = sample,
};
