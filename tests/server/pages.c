#include "tests/server/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/json/write.h"
#include "tests/server/completion.h"

enum { MAX_BODY = 64 << 20 };

/* ---- Simple pages ------------------------------------------------------------------------------------------------ */

typedef struct {
    pages *pages;
    struct MHD_Connection *connection;
    json_object *asked; /* of a POST */
} request;

static enum MHD_Result send_bare(struct MHD_Connection *c, int status, const char *header, const char *value)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (header) MHD_add_response_header(r, header, value);
    enum MHD_Result queued = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result health(request *r)
{
    if (r->pages->kind != DIALECT_LLAMA) return send_bare(r->connection, 200, NULL, NULL);
    json_object *o = json_new_object();
    json_add_string(o, "status", "ok");
    return completion_send(r->connection, 200, o);
}

static enum MHD_Result props(request *r)
{
    pages *p = r->pages;
    json_object *o = json_new_object(), *settings = json_new_object();
    json_add_int(settings, "n_ctx", p->context);
    json_add(o, "default_generation_settings", settings);
    json_add_int(o, "total_slots", p->n_slots);
    json_add_string(o, "model_path", p->path);
    json_add_text(o, "chat_template", p->chat_template.bytes, p->chat_template.length);
    json_add_string(o, "bos_token", "");
    json_add_string(o, "eos_token", "<|im_end|>");
    if (p->old)
        json_add_int(o, "n_ctx", p->context);
    else
        json_add_string(o, "build_info", "b0-tests");
    return completion_send(r->connection, 200, o);
}

static enum MHD_Result slots_page(request *r)
{
    json_object *list = json_new_array();
    for (int i = 0; i < r->pages->n_slots; i++) {
        json_object *o = json_new_object();
        json_add_int(o, "id", i);
        json_add_int(o, "n_ctx", r->pages->context);
        json_add_bool(o, "is_processing", slots_is_busy(r->pages->slots, i));
        json_append(list, o);
    }
    return completion_send(r->connection, 200, list);
}

static json_object *list_of(const tdm_ids *ids)
{
    json_object *list = json_new_array();
    for (size_t i = 0; i < ids->n; i++) json_append_int(list, ids->ids[i]);
    return list;
}

static enum MHD_Result tokenize(request *r)
{
    size_t n = 0;
    bool llama = r->pages->kind == DIALECT_LLAMA;
    const char *text = json_text(r->asked, llama ? "content" : "prompt", &n);
    json_object *o = json_new_object();
    tdm_ids ids = {0};
    bool added = json_flag(r->asked, "parse_special", true) || r->pages->old;
    if (text) tdm_tokenize(slots_model(r->pages->slots), text, n, added, &ids, NULL);
    if (!llama) {
        json_add_int(o, "count", (int64_t)ids.n);
        json_add_int(o, "max_model_len", r->pages->context);
    }
    json_add(o, "tokens", list_of(&ids));
    tdm_ids_free(&ids);
    return completion_send(r->connection, 200, o);
}

static enum MHD_Result detokenize(request *r)
{
    json_object *list = json_member(r->asked, "tokens", JSON_ARRAY), *o = json_new_object();
    size_t n = json_length(list), length = 0;
    tdm_id *ids = calloc(n + 1, sizeof *ids);
    char *text = NULL;
    for (size_t i = 0; ids && i < n; i++) ids[i] = (tdm_id)json_int_of(json_at(list, i));
    if (ids) tdm_detokenize(slots_model(r->pages->slots), ids, n, &text, &length, NULL);
    json_add_text(o, r->pages->kind == DIALECT_LLAMA ? "content" : "prompt", text ? text : "", length);
    free(text);
    free(ids);
    return completion_send(r->connection, 200, o);
}

static enum MHD_Result version(request *r)
{
    json_object *o = json_new_object();
    json_add_string(o, "version", "0.0.tests");
    return completion_send(r->connection, 200, o);
}

static enum MHD_Result model_info(request *r)
{
    json_object *o = json_new_object();
    json_add_string(o, "model_path", r->pages->name);
    json_add_string(o, "tokenizer_path", r->pages->name);
    json_add_bool(o, "is_generation", true);
    return completion_send(r->connection, 200, o);
}

static enum MHD_Result models(request *r)
{
    pages *p = r->pages;
    static const char *const owners[DIALECTS] = {"llamacpp", "vllm", "sglang", "tests"};
    json_object *o = json_new_object(), *list = json_new_array(), *m = json_new_object();
    json_add_string(o, "object", "list");
    json_add_string(m, "id", p->name);
    json_add_string(m, "object", "model");
    json_add_int(m, "created", time(NULL));
    json_add_string(m, "owned_by", owners[p->kind]);
    if (p->kind == DIALECT_VLLM || p->kind == DIALECT_SGLANG) json_add_int(m, "max_model_len", p->context);
    json_append(list, m);
    json_add(o, "data", list);
    return completion_send(r->connection, 200, o);
}

static enum MHD_Result respond(request *r, answer_form form)
{
    pages *p = r->pages;
    int cut = -1;
    pthread_mutex_lock(&p->lock);
    if (p->fault.kind == FAULT_CUT && json_flag(r->asked, "stream", false)) {
        cut = p->fault.value;
        if (p->fault.times > 0 && --p->fault.times == 0) p->fault.kind = FAULT_NONE;
    }
    pthread_mutex_unlock(&p->lock);
    return completion_answer(p, r->connection, form, r->asked, cut);
}

static enum MHD_Result completion(request *r)
{
    return respond(r, FORM_LLAMA);
}

static enum MHD_Result completions(request *r)
{
    return respond(r, FORM_COMPLETION);
}

static enum MHD_Result chat_completions(request *r)
{
    return respond(r, FORM_CHAT);
}

static enum MHD_Result generate(request *r)
{
    return respond(r, FORM_GENERATE);
}

enum { LLAMA = 1 << DIALECT_LLAMA, VLLM = 1 << DIALECT_VLLM, SGLANG = 1 << DIALECT_SGLANG, ALL = 15 };

static const struct {
    int kinds;
    bool post;
    const char *path;
    enum MHD_Result (*answer)(request *r);
} page[] = {
    {LLAMA | VLLM | SGLANG, false, "/health", health},
    {LLAMA, false, "/props", props},
    {LLAMA, false, "/slots", slots_page},
    {LLAMA | VLLM, true, "/tokenize", tokenize},
    {LLAMA | VLLM, true, "/detokenize", detokenize},
    {LLAMA, true, "/completion", completion},
    {VLLM, false, "/version", version},
    {SGLANG, false, "/get_model_info", model_info},
    {SGLANG, true, "/generate", generate},
    {LLAMA | VLLM | SGLANG, true, "/v1/completions", completions},
    {ALL, false, "/v1/models", models},
    {ALL, true, "/v1/chat/completions", chat_completions},
};

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

/* The fault that happens to this request. */
static fault take_fault(pages *p, const char *url)
{
    pthread_mutex_lock(&p->lock);
    p->requests++;
    json_add_int(p->by_path, url, json_int(p->by_path, url, 0) + 1);
    fault f = p->fault;
    if (f.kind == FAULT_CUT) f.kind = FAULT_NONE; /* it is for streams, of which is not known yet whether this is one */
    if (f.kind && f.times > 0 && --p->fault.times == 0) p->fault.kind = FAULT_NONE;
    pthread_mutex_unlock(&p->lock);
    return f;
}

static ssize_t read_flood(void *ctx, uint64_t at, char *out, size_t room)
{
    const fault *f = ctx;
    if (at >= (uint64_t)f->value << 20) return MHD_CONTENT_READER_END_OF_STREAM;
    memset(out, 'x', room);
    if (at == 0 && room > 6) memcpy(out, "data: ", 6);
    return (ssize_t)room;
}

static enum MHD_Result flood(struct MHD_Connection *c, const fault *f)
{
    fault *copy = malloc(sizeof *copy);
    if (!copy) return MHD_NO;
    *copy = *f;
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 16, read_flood, copy, free);
    MHD_add_response_header(r, "Content-Type", "text/event-stream");
    enum MHD_Result queued = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result garbage(struct MHD_Connection *c)
{
    static const char bytes[] = "data: {\"content\": [[[\n\n\x1b[2J\x00\xff\xfe data: \x1b]0;x\x07\n\ndata: 7\n\n";
    struct MHD_Response *r = MHD_create_response_from_buffer(sizeof bytes - 1, (void *)bytes, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(r, "Content-Type", "text/event-stream");
    enum MHD_Result queued = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return queued;
}

/* False: the fault leaves the answer as it is. */
static bool misbehave(pages *p, struct MHD_Connection *c, const char *url, const fault *f, enum MHD_Result *out)
{
    char text[600];
    switch (f->kind) {
    case FAULT_SILENT:
        while (!completion_gone(c)) usleep(10000);
        *out = MHD_NO;
        return true;
    case FAULT_BUSY:
    case FAULT_LOADING:
        snprintf(text, sizeof text, "%d", f->value);
        *out = send_bare(c, f->kind == FAULT_BUSY ? 429 : 503, "Retry-After", text);
        return true;
    case FAULT_BROKEN: {
        int status = f->value ? f->value : 503;
        *out = completion_send(c, status, answer_error(p->kind, status, "server_error", "out of order"));
        return true;
    }
    case FAULT_GARBAGE:
        *out = garbage(c);
        return true;
    case FAULT_FLOOD:
        *out = flood(c, f);
        return true;
    case FAULT_REDIRECT:
        snprintf(text, sizeof text, "%s%s", f->to, url);
        *out = send_bare(c, 307, "Location", text);
        return true;
    default:
        return false;
    }
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* libmicrohttpd hands over a body piece by piece, before the request is answered: it is gathered in *state. */
static bool gather(const char *data, size_t *n, void **state, enum MHD_Result *out)
{
    struct buffer *body = *state;
    *out = MHD_YES;
    if (!body) {
        *out = (*state = calloc(1, sizeof *body)) ? MHD_YES : MHD_NO;
        return true;
    }
    if (!*n) return false;
    if (body->n + *n > MAX_BODY || buffer_append(body, data, *n, NULL)) *out = MHD_NO;
    *n = 0;
    return true;
}

void pages_done(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
    (void)ctx, (void)c, (void)why;
    if (*state) buffer_free(*state);
    free(*state);
    *state = NULL;
}

/* The names of models are public in llama-server. */
static bool has_key(const pages *p, struct MHD_Connection *c, const char *url)
{
    if (!p->key) return true;
    if (p->kind == DIALECT_LLAMA && (!strcmp(url, "/health") || !strcmp(url, "/v1/models"))) return true;
    const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    return given && !strncmp(given, "Bearer ", 7) && !strcmp(given + 7, p->key);
}

enum MHD_Result pages_serve(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                            const char *version_, const char *data, size_t *n, void **state)
{
    pages *p = ctx;
    enum MHD_Result out;
    (void)version_;
    if (gather(data, n, state, &out)) return out;
    const struct buffer *body = *state;
    fault f = take_fault(p, url);
    if (misbehave(p, c, url, &f, &out)) return out;
    if (!has_key(p, c, url))
        return completion_send(c, 401, answer_error(p->kind, 401, "authentication_error", "Invalid API Key"));
    bool post = !strcmp(method, "POST");
    for (size_t i = 0; i < sizeof page / sizeof *page; i++) {
        if (!(page[i].kinds >> p->kind & 1) || page[i].post != post || strcmp(page[i].path, url)) continue;
        request r = {.pages = p, .connection = c};
        if (post && json_parse(&r.asked, "body", body->n ? body->bytes : "", body->n, JSON_UTF8, NULL))
            return completion_send(c, 400, answer_error(p->kind, 400, "invalid_request_error", "expected JSON"));
        out = page[i].answer(&r);
        json_free(r.asked);
        return out;
    }
    return completion_send(c, 404, answer_error(p->kind, 404, "not_found_error", "File Not Found"));
}

/* ---- The tests' own pages ---------------------------------------------------------------------------------------- */

static enum MHD_Result counters(pages *p, struct MHD_Connection *c)
{
    line_counts counts;
    uint64_t of_prompts, of_replies;
    json_object *o = json_new_object(), *paths = json_new_object();
    line_count(p->line, &counts);
    slots_evaluated(p->slots, &of_prompts, &of_replies);
    json_add_int(o, "connections", (int64_t)counts.connections);
    json_add_int(o, "open", (int64_t)counts.open);
    json_add_int(o, "bytes_there", (int64_t)counts.bytes_there);
    json_add_int(o, "bytes_back", (int64_t)counts.bytes_back);
    json_add_int(o, "prompt_tokens", (int64_t)of_prompts);
    json_add_int(o, "reply_tokens", (int64_t)of_replies);
    pthread_mutex_lock(&p->lock);
    json_add_int(o, "requests", (int64_t)p->requests);
    for (struct json_walk m = json_walk(p->by_path); json_next(&m);) json_add_int(paths, m.key, json_int_of(m.value));
    pthread_mutex_unlock(&p->lock);
    json_add(o, "paths", paths);
    return completion_send(c, 200, o);
}

enum MHD_Result pages_control(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version_, const char *data, size_t *n, void **state)
{
    pages *p = ctx;
    enum MHD_Result out;
    fault f;
    (void)method, (void)version_;
    if (gather(data, n, state, &out)) return out;
    const struct buffer *body = *state;
    if (!strcmp(url, "/test/counters")) return counters(p, c);
    if (!strcmp(url, "/test/restart")) {
        slots_forget(p->slots);
        line_cut(p->line);
        return send_bare(c, 200, NULL, NULL);
    }
    if (strcmp(url, "/test/fault") || !fault_parse(&f, body->n ? body->bytes : "none"))
        return send_bare(c, 400, NULL, NULL);
    pthread_mutex_lock(&p->lock);
    p->fault = f;
    pthread_mutex_unlock(&p->lock);
    return send_bare(c, 200, NULL, NULL);
}
