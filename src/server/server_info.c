#include "src/server/server_info.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/json/json.h"
#include "engine/os/file.h"
#include "src/server/refusal.h"

enum { MAX_BODY = 4 << 20, LOOK_MS = 100 };

/* ---- One question ------------------------------------------------------------------------------------------------ */

struct question {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool ended, too_long;
    int status, retry_after_s;
    struct buffer *body;
    double took_ms;
    tdm_error error;
};

static void on_head(void *ctx, int status, int retry_after_s)
{
    struct question *q = ctx;
    q->status = status;
    q->retry_after_s = retry_after_s;
}

static void on_data(void *ctx, struct span bytes)
{
    struct question *q = ctx;
    if (q->too_long || q->body->n + bytes.length > MAX_BODY)
        q->too_long = true;
    else if (!q->error.code)
        buffer_append(q->body, bytes.bytes, bytes.length, &q->error);
}

static void on_end(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms)
{
    struct question *q = ctx;
    (void)first_ms;
    pthread_mutex_lock(&q->lock);
    q->took_ms = total_ms - connect_ms;
    if (error) error_set(&q->error, TDM_E_IO, "%s", error);
    q->ended = true;
    pthread_cond_signal(&q->done);
    pthread_mutex_unlock(&q->lock);
}

/* The connection that is asked, how long an answer is waited for, and for how long there has been none: -1, or seconds
 * in which the server was busy or loaded its model. */
typedef struct {
    connection *c;
    const server_info_patience *patience; /* NULL: it is asked once */
    int *loading_s;
} asking;

static bool is_given_up(const asking *a)
{
    return a->patience && a->patience->given_up(a->patience->ctx, *a->loading_s);
}

/* Waits for the end of the request, which comes soon if it is cancelled: then true. */
static bool wait_for_end(struct question *q, const asking *a, uint32_t id)
{
    bool given_up = false;
    pthread_mutex_lock(&q->lock);
    while (!q->ended) {
        clock_wait(&q->done, &q->lock, clock_ns() + LOOK_MS * INT64_C(1000000));
        if (q->ended || given_up || !is_given_up(a)) continue;
        given_up = true;
        pthread_mutex_unlock(&q->lock);
        connection_cancel(a->c, id);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return given_up;
}

static struct span body_of(const struct question *q)
{
    return (struct span){q->body->n ? q->body->bytes : "", q->body->n};
}

static tdm_status not_waited_for(tdm_error *err)
{
    return error_set(err, TDM_E_CANCELLED, "the server's answer was not waited for");
}

static tdm_status ask_once(const asking *a, struct span request, struct question *q, tdm_error *err)
{
    struct buffer *body = q->body;
    *q = (struct question){.body = body, .retry_after_s = -1};
    pthread_mutex_init(&q->lock, NULL);
    clock_condition_init(&q->done);
    buffer_clear(body);
    uint32_t id = connection_send(a->c, request, &(connection_calls){q, on_head, on_data, on_end});
    bool given_up = wait_for_end(q, a, id);
    pthread_cond_destroy(&q->done);
    pthread_mutex_destroy(&q->lock);
    if (given_up) return not_waited_for(err);
    if (q->error.code) {
        *err = q->error;
    } else if (q->too_long) {
        error_set(err, TDM_E_FORMAT, "the server's answer has more than %d MiB", MAX_BODY >> 20);
    } else if (q->status != 200) {
        dialect_failure(q->status, body_of(q), err);
    } else {
        return TDM_OK;
    }
    return err->code;
}

/* Lets these seconds pass for a server that is waited for since then; false: it is given up. */
static bool rest(const asking *a, int64_t since_ns, int seconds)
{
    int64_t until = clock_ns() + (int64_t)seconds * 1000000000;
    for (int64_t now = clock_ns(); now < until; now = clock_ns()) {
        *a->loading_s = (int)((now - since_ns) / 1000000000);
        if (is_given_up(a)) return false;
        poll(NULL, 0, LOOK_MS);
    }
    return true;
}

/* Asks, and where there is patience again as often as refusal.h says. */
static tdm_status ask(const asking *a, struct span request, struct buffer *body, int *code, double *took_ms,
                      tdm_error *err)
{
    tdm_error own;
    if (!err) err = &own;
    int64_t since = clock_ns();
    struct question q = {.body = body};
    for (int tries = 1;; tries++) {
        tdm_status status = ask_once(a, request, &q, err);
        const refusal_answer answer = {.status = q.status, .retry_after_s = q.retry_after_s, .body = body_of(&q)};
        bool hopeless = !status || status == TDM_E_CANCELLED || !a->patience;
        int wait = hopeless ? -1 : refusal_wait_s(&answer, tries, (int)((clock_ns() - since) / 1000000000));
        if (code) *code = q.status;
        if (took_ms) *took_ms = q.took_ms;
        if (wait < 0) {
            *a->loading_s = -1;
            return status;
        }
        if (rest(a, since, wait)) continue;
        if (code) *code = 0; /* as where it can't be reached: no other page is asked */
        return not_waited_for(err);
    }
}

static tdm_status fetch(const asking *a, const char *path, struct buffer *body, int *code, double *took_ms,
                        tdm_error *err)
{
    struct buffer request = {0};
    *code = 0;
    tdm_status status = dialect_get(path, &request, err);
    struct span asked = {request.bytes, request.n};
    if (!status) status = ask(a, asked, body, code, took_ms, err);
    buffer_free(&request);
    return status;
}

/* The answer to GET path as an object, or NULL with the reason: a server that lacks the page is no failure of its own.
 */
static json_object *get(const asking *a, const char *path, int *code, double *took_ms, tdm_error *err)
{
    struct buffer body = {0};
    json_object *o = NULL;
    tdm_status status = fetch(a, path, &body, code, took_ms, err);
    if (!status) status = json_parse(&o, path, body.n ? body.bytes : "", body.n, JSON_MENDED, err);
    if (!status && !json_is(o, JSON_OBJECT)) {
        error_set(err, TDM_E_FORMAT, "%s: expected an object of the server", path);
        json_free(o);
        o = NULL;
    }
    buffer_free(&body);
    return o;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

/* A name that can be shown: control characters and what is no UTF-8 become '?'. */
static void take_name(char *out, size_t room, const char *text)
{
    tdm_error clean;
    error_set(&clean, TDM_OK, "%s", text ? text : "");
    snprintf(out, room, "%.*s", (int)room - 1, clean.text);
}

static int count_of(json_object *o, const char *key)
{
    int64_t n = json_int(o, key, 0);
    return n > 0 && n < INT32_MAX ? (int)n : 0;
}

static bool is(json_object *o, const char *key, const char *word)
{
    const char *text = json_text(o, key, NULL);
    return text && !strcmp(text, word);
}

/* Reads /props. A router's own settings are of no model. */
static tdm_status take_props(server_info *f, json_object *o, tdm_error *err)
{
    json_object *settings = json_member(o, "default_generation_settings", JSON_OBJECT);
    json_object *modalities = json_member(o, "modalities", JSON_OBJECT);
    f->blind = !json_flag(modalities, "vision", true);
    const char *text = json_text(o, "chat_template", NULL), *path = json_text(o, "model_path", NULL);
    f->kind = DIALECT_LLAMA;
    take_name(f->version, sizeof f->version, json_text(o, "build_info", NULL));
    f->router = is(o, "role", "router");
    if (f->router) return TDM_OK;
    f->context = count_of(settings, "n_ctx");
    if (!f->context) f->context = count_of(o, "n_ctx");
    f->slots = count_of(o, "total_slots");
    if (path) take_name(f->model, sizeof f->model, file_base(path));
    if (text && text[0] && !(f->chat_template = strdup(text)))
        return error_set(err, TDM_E_NOMEM, "no memory for a server's chat template");
    return TDM_OK;
}

tdm_status server_info_read_props(server_info *f, struct span text, tdm_error *err)
{
    json_object *o = NULL;
    tdm_status status = json_parse(&o, "/props", text.bytes, text.length, JSON_MENDED, err);
    if (!status && !json_member(o, "default_generation_settings", JSON_OBJECT))
        status = error_set(err, TDM_E_FORMAT, "/props: expected the settings of a llama-server");
    if (!status) status = take_props(f, o, err);
    json_free(o);
    return status;
}

/* Tokens of a conversation, by the names that servers have for that. */
static int context_of(json_object *model)
{
    static const char *const keys[] = {"max_model_len", "loaded_context_length", "context_length", "context_window",
                                       "max_context_length"};
    int n = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !n; i++) n = count_of(model, keys[i]);
    return n;
}

/* The list under one of its names, or as the whole answer; NULL: there is none. */
static json_object *list_of(json_object *o)
{
    if (json_is(o, JSON_ARRAY)) return o;
    json_object *list = json_member(o, "data", JSON_ARRAY);
    return list ? list : json_member(o, "models", JSON_ARRAY);
}

/* An object with the name, or the name alone; NULL: none that can be one. */
static const char *name_of(json_object *model)
{
    const char *name = json_text_of(model);
    if (!name) name = json_text(model, "id", NULL);
    if (!name) name = json_text(model, "name", NULL);
    return name && name[0] && strlen(name) < SERVER_INFO_NAME ? name : NULL;
}

static tdm_status take_models(server_info *f, json_object *o, const char *wanted, tdm_error *err)
{
    json_object *list = list_of(o);
    size_t n = json_length(list);
    bool found = false;
    if (!list) return error_set(err, TDM_E_FORMAT, "/v1/models: expected `data` of the server, a list");
    f->models = calloc((n < SERVER_INFO_MODELS ? n : SERVER_INFO_MODELS) + 1, sizeof *f->models);
    if (!f->models) return error_set(err, TDM_E_NOMEM, "no memory for a list of models");
    for (size_t i = 0; i < n; i++) {
        json_object *m = json_at(list, i);
        const char *id = name_of(m);
        if (!id) continue;
        bool this = !found && (!wanted || !strcmp(wanted, id));
        if (f->n_models < SERVER_INFO_MODELS) take_name(f->models[f->n_models++], SERVER_INFO_NAME, id);
        if (!this) continue;
        found = true;
        take_name(f->model, sizeof f->model, id);
        if (!f->context) f->context = context_of(m);
        f->ollama = is(m, "owned_by", "library");
    }
    if (found || (!wanted && f->model[0])) return TDM_OK;
    if (!wanted) return error_set(err, TDM_E_NOT_FOUND, "the server offers no model");
    return error_set(err, TDM_E_NOT_FOUND, "expected a model of the server, found %.100s; it offers %s%s", wanted,
                     f->n_models ? f->models[0] : "none", f->n_models > 1 ? " and others" : "");
}

tdm_status server_info_read_models(server_info *f, struct span text, const char *wanted, tdm_error *err)
{
    json_object *o = NULL;
    tdm_status status = json_parse(&o, "/v1/models", text.bytes, text.length, JSON_MENDED, err);
    if (!status) status = take_models(f, o, wanted, err);
    json_free(o);
    return status;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* No page is left to ask: the server can't be reached, or is a llama-server that is still loading its model, which says
 * later what it is. */
static bool is_final(int code, const tdm_error *why)
{
    return code == 0 || (code == 503 && strcasestr(why->text, "loading"));
}

/* Notes the first page that was refused, since all of them may be: the line reports it if the list is missing, too. */
static void note_refusal(tdm_error *refusal, int code, const tdm_error *why)
{
    if (!refusal->code && (code == 401 || code == 403 || code == 503)) *refusal = *why;
}

static tdm_status find_kind(server_info *f, const asking *a, int kind, tdm_error *refusal, tdm_error *err)
{
    int code = 0;
    json_object *o;
    if (kind < 0 || kind == DIALECT_LLAMA) {
        struct buffer body = {0};
        tdm_status status = fetch(a, "/props", &body, &code, &f->round_trip_ms, err);
        if (!status) status = server_info_read_props(f, (struct span){body.n ? body.bytes : "", body.n}, err);
        buffer_free(&body);
        if (!status || status == TDM_E_NOMEM) return status;
        if (is_final(code, err)) return err->code;
        note_refusal(refusal, code, err);
        if (kind >= 0 && refusal->code) return error_set(err, refusal->code, "%s", refusal->text);
        if (kind >= 0) return error_set(err, TDM_E_FORMAT, "expected a llama-server, whose /props tells its settings");
    }
    if (kind < 0 || kind == DIALECT_SGLANG) {
        o = get(a, "/get_model_info", &code, &f->round_trip_ms, err);
        bool is_one = json_text(o, "model_path", NULL);
        json_free(o);
        f->kind = DIALECT_SGLANG;
        if (is_one) return TDM_OK;
        if (!o && is_final(code, err)) return err->code;
        note_refusal(refusal, code, err);
    }
    if (kind < 0 || kind == DIALECT_VLLM) {
        o = get(a, "/version", &code, &f->round_trip_ms, err);
        const char *version = json_text(o, "version", NULL);
        bool is_one = version;
        if (version) take_name(f->version, sizeof f->version, version);
        json_free(o);
        f->kind = DIALECT_VLLM;
        if (is_one) return TDM_OK;
        if (!o && is_final(code, err)) return err->code;
        note_refusal(refusal, code, err);
    }
    f->kind = kind < 0 ? DIALECT_OPENAI : (dialect)kind;
    return TDM_OK;
}

/* A list of models that is there without our key, and a page that isn't: the key is wrong, as every reply would say. */
static bool is_llama_list(struct span text)
{
    return memmem(text.bytes, text.length, "\"llamacpp\"", sizeof "\"llamacpp\"" - 1);
}

/* Which models there are, and which one is used. */
static tdm_status find_model(server_info *f, const asking *a, const char *wanted, const tdm_error *refusal,
                             tdm_error *err)
{
    struct buffer body = {0};
    int code = 0;
    tdm_status status = fetch(a, "/v1/models", &body, &code, &f->round_trip_ms, err);
    if (status && code == 404 && f->kind == DIALECT_OPENAI) {
        tdm_error none;
        int other = 0;
        if (!fetch(a, "/models", &body, &other, &f->round_trip_ms, &none)) {
            f->base = "";
            status = TDM_OK;
        }
    }
    struct span text = {body.n ? body.bytes : "", body.n};
    bool listed = !status;
    char words[REFUSAL_ROOM];
    if (listed && refusal_is_page(text, words))
        status = error_set(err, TDM_E_FORMAT, "/v1/models: expected a list of models, found a web page: %s", words);
    else if (listed && refusal->code && !wanted && is_llama_list(text))
        status = error_set(err, refusal->code, "%s", refusal->text);
    else if (listed)
        status = server_info_read_models(f, text, wanted, err);
    buffer_free(&body);
    if (!status || status == TDM_E_CANCELLED || (!listed && is_final(code, err))) return status;
    bool unlisted = !listed || status == TDM_E_FORMAT;
    if (unlisted && wanted) {
        snprintf(f->model, sizeof f->model, "%s", wanted);
        return TDM_OK;
    }
    /* A llama-server serves one model whatever it is called: an old one has no such page. */
    if (unlisted && f->kind == DIALECT_LLAMA && f->model[0]) return TDM_OK;
    if (listed) return status;
    if (refusal->code) return error_set(err, refusal->code, "%s", refusal->text);
    tdm_error why = *err;
    return error_set(err, status, "%.300s; it lists no models: one can be named behind its address, #NAME", why.text);
}

/* Asks a router about the model that is used. */
static tdm_status ask_router(server_info *f, const asking *a, tdm_error *err)
{
    struct buffer request = {0}, body = {0};
    server_info own = {0};
    int code = 0;
    tdm_status status = dialect_settings(f->model, &request, err);
    struct span asked = {request.bytes, request.n};
    if (!status) status = ask(a, asked, &body, &code, NULL, err);
    if (!status) status = server_info_read_props(&own, (struct span){body.n ? body.bytes : "", body.n}, err);
    if (status == TDM_E_FORMAT || own.router)
        status = error_set(err, TDM_E_FORMAT, "/props: expected the settings of %.100s", f->model);
    if (!status) {
        f->context = own.context;
        f->slots = own.slots;
        f->chat_template = own.chat_template;
        own.chat_template = NULL;
        if (own.version[0]) memcpy(f->version, own.version, sizeof f->version);
    }
    server_info_free(&own);
    buffer_free(&body);
    buffer_free(&request);
    return status;
}

tdm_status server_info_ask(server_info *out, connection *c, int kind, const char *model,
                           const server_info_patience *patience, tdm_error *err)
{
    int answers = -1;
    const asking with = {c, patience, &answers}, *a = &with;
    tdm_error own, refusal = {0};
    if (!err) err = &own;
    *out = (server_info){0};
    tdm_status status = find_kind(out, a, kind, &refusal, err);
    if (!status) status = find_model(out, a, model, &refusal, err);
    if (!status && out->router) status = ask_router(out, a, err);
    if (status) server_info_free(out);
    return status;
}

void server_info_free(server_info *f)
{
    free(f->models);
    free(f->chat_template);
    *f = (server_info){0};
}
