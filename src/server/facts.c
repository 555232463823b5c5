#include "src/server/facts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/cli/jsonio.h"

enum { MOST_BODY = 4 << 20, LOOK_MS = 100 };

/* ---- One question ------------------------------------------------------------------------------------------------ */

struct question {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool ended, too_long;
    int status;
    struct buffer *body;
    double took_ms;
    tdm_error error;
};

static void on_head(void *ctx, int status, int retry_after_s)
{
    struct question *q = ctx;
    (void)retry_after_s;
    q->status = status;
}

static void on_data(void *ctx, struct span bytes)
{
    struct question *q = ctx;
    if (q->too_long || q->body->n + bytes.length > MOST_BODY || buffer_append(q->body, bytes.bytes, bytes.length, NULL))
        q->too_long = true;
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

/* Until its end, which comes soon where it is given up: then true. */
static bool wait_for_end(struct question *q, connection *c, uint32_t id, const facts_patience *patience)
{
    bool given_up = false;
    pthread_mutex_lock(&q->lock);
    while (!q->ended) {
        int64_t until = clock_ns() + LOOK_MS * INT64_C(1000000);
        struct timespec at = {until / 1000000000, until % 1000000000};
        pthread_cond_timedwait(&q->done, &q->lock, &at);
        if (q->ended || given_up || !patience || !patience->given_up(patience->ctx)) continue;
        given_up = true;
        pthread_mutex_unlock(&q->lock);
        connection_cancel(c, id);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return given_up;
}

tdm_status facts_get(connection *c, struct span request, struct buffer *body, int *code, double *took_ms,
                     const facts_patience *patience, tdm_error *err)
{
    struct question q = {.body = body};
    pthread_mutex_init(&q.lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&q.done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    buffer_clear(body);
    uint32_t id = connection_send(c, request, &(connection_calls){&q, on_head, on_data, on_end});
    bool given_up = wait_for_end(&q, c, id, patience);
    pthread_cond_destroy(&q.done);
    pthread_mutex_destroy(&q.lock);
    if (code) *code = q.status;
    if (took_ms) *took_ms = q.took_ms;
    tdm_error own;
    if (!err) err = &own;
    if (given_up) {
        error_set(err, TDM_E_CANCELLED, "the server's answer was not waited for");
    } else if (q.error.code) {
        *err = q.error;
    } else if (q.too_long) {
        error_set(err, TDM_E_FORMAT, "the server's answer has more than %d MiB", MOST_BODY >> 20);
    } else if (q.status != 200) {
        dialect_failure(q.status, (struct span){body->n ? body->bytes : "", body->n}, err);
    } else {
        return TDM_OK;
    }
    return err->code;
}

/* Of whom, and for how long an answer is waited for. */
typedef struct {
    connection *c;
    const facts_patience *patience;
} asking;

static tdm_status fetch(const asking *a, const char *path, struct buffer *body, int *code, double *took_ms,
                        tdm_error *err)
{
    struct buffer request = {0};
    *code = 0;
    tdm_status status = dialect_get(path, &request, err);
    struct span asked = {request.bytes, request.n};
    if (!status) status = facts_get(a->c, asked, body, code, took_ms, a->patience, err);
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
    if (!status) status = jsonio_parse(&o, path, body.n ? body.bytes : "", body.n, err);
    if (!status && !json_object_is_type(o, json_type_object)) {
        error_set(err, TDM_E_FORMAT, "%s: expected an object of the server", path);
        json_object_put(o);
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
    int64_t n = jsonio_int(o, key, 0);
    return n > 0 && n < INT32_MAX ? (int)n : 0;
}

static void take_props(facts *f, json_object *o)
{
    json_object *settings = jsonio_member(o, "default_generation_settings", json_type_object);
    const char *text = jsonio_text(o, "chat_template", NULL), *path = jsonio_text(o, "model_path", NULL);
    f->kind = DIALECT_LLAMA;
    f->context = count_of(settings, "n_ctx");
    if (!f->context) f->context = count_of(o, "n_ctx");
    f->slots = count_of(o, "total_slots");
    take_name(f->version, sizeof f->version, jsonio_text(o, "build_info", NULL));
    if (text && text[0]) f->chat_template = strdup(text);
    if (path) take_name(f->model, sizeof f->model, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

bool facts_read_props(facts *f, struct span text)
{
    json_object *o = NULL;
    bool is = !jsonio_parse(&o, "/props", text.bytes, text.length, NULL) &&
              jsonio_member(o, "default_generation_settings", json_type_object);
    if (is) take_props(f, o);
    json_object_put(o);
    return is;
}

static tdm_status take_models(facts *f, json_object *o, const char *wanted, tdm_error *err)
{
    json_object *list = jsonio_member(o, "data", json_type_array);
    size_t n = list ? json_object_array_length(list) : 0;
    bool found = false;
    if (!list) return error_set(err, TDM_E_FORMAT, "/v1/models: expected `data` of the server");
    if (n > FACTS_MODELS) n = FACTS_MODELS;
    f->models = calloc(n + 1, sizeof *f->models);
    if (!f->models) return error_set(err, TDM_E_NOMEM, "no memory for a list of models");
    for (size_t i = 0; i < n; i++) {
        json_object *m = json_object_array_get_idx(list, i);
        const char *id = json_object_is_type(m, json_type_object) ? jsonio_text(m, "id", NULL) : NULL;
        if (!id || !id[0] || strlen(id) >= FACTS_NAME) continue;
        take_name(f->models[f->n_models], FACTS_NAME, id);
        bool this = wanted ? !strcmp(wanted, id) : f->n_models == 0;
        f->n_models++;
        if (!this) continue;
        found = true;
        take_name(f->model, sizeof f->model, id);
        if (!f->context) f->context = count_of(m, "max_model_len");
    }
    if (found || (!wanted && f->model[0])) return TDM_OK;
    if (!wanted) return error_set(err, TDM_E_NOT_FOUND, "the server offers no model");
    return error_set(err, TDM_E_NOT_FOUND, "expected a model of the server, found %.100s; it offers %s%s", wanted,
                     f->n_models ? f->models[0] : "none", f->n_models > 1 ? " and others" : "");
}

tdm_status facts_read_models(facts *f, struct span text, const char *wanted, tdm_error *err)
{
    json_object *o = NULL;
    tdm_status status = jsonio_parse(&o, "/v1/models", text.bytes, text.length, err);
    if (!status && !json_object_is_type(o, json_type_object))
        status = error_set(err, TDM_E_FORMAT, "/v1/models: expected an object of the server");
    if (!status) status = take_models(f, o, wanted, err);
    json_object_put(o);
    return status;
}

/* No page is left to ask: the server can't be reached, refuses, or is still loading its model. */
static bool is_final(int code)
{
    return code == 0 || code == 401 || code == 403 || code == 503;
}

static tdm_status find_kind(facts *f, const asking *a, int kind, tdm_error *err)
{
    int code = 0;
    json_object *o;
    if (kind < 0 || kind == DIALECT_LLAMA) {
        struct buffer body = {0};
        bool is = !fetch(a, "/props", &body, &code, &f->round_trip_ms, err) &&
                  facts_read_props(f, (struct span){body.n ? body.bytes : "", body.n});
        buffer_free(&body);
        if (is) return TDM_OK;
        if (is_final(code)) return err->code;
        if (kind >= 0) return error_set(err, TDM_E_FORMAT, "expected a llama-server, whose /props tells its settings");
    }
    if (kind < 0 || kind == DIALECT_SGLANG) {
        o = get(a, "/get_model_info", &code, &f->round_trip_ms, err);
        bool is = o && jsonio_text(o, "model_path", NULL);
        json_object_put(o);
        f->kind = DIALECT_SGLANG;
        if (is) return TDM_OK;
        if (is_final(code)) return err->code;
    }
    if (kind < 0 || kind == DIALECT_VLLM) {
        o = get(a, "/version", &code, &f->round_trip_ms, err);
        const char *version = o ? jsonio_text(o, "version", NULL) : NULL;
        if (version) take_name(f->version, sizeof f->version, version);
        json_object_put(o);
        f->kind = DIALECT_VLLM;
        if (version) return TDM_OK;
        if (is_final(code)) return err->code;
    }
    f->kind = kind < 0 ? DIALECT_OPENAI : (dialect)kind;
    return TDM_OK;
}

/* Servers that don't tell their template have a model whose name says which one it is. */
static const char *form_of(const char *model)
{
    static const struct { const char *part, *form; } known[] = {
        {"qwen3.5", "qwen3.5"}, {"qwen3_5", "qwen3.5"}, {"qwen3.6", "qwen3.6"}, {"qwen3_6", "qwen3.6"},
        {"qwen3.8", "qwen3.8"}, {"qwen3_8", "qwen3.8"}, {"tandem-demo", "built-in"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasestr(model, known[i].part)) return known[i].form;
    return NULL;
}

tdm_status facts_ask(facts *out, connection *c, int kind, const char *model, const facts_patience *patience,
                     tdm_error *err)
{
    const asking with = {c, patience}, *a = &with;
    int code;
    tdm_error own;
    if (!err) err = &own;
    *out = (facts){0};
    tdm_status status = find_kind(out, a, kind, err);
    if (!status) {
        struct buffer body = {0};
        status = fetch(a, "/v1/models", &body, &code, &out->round_trip_ms, err);
        /* llama-server serves one model whatever it is called: an old one has no such page. */
        if (status && out->kind == DIALECT_LLAMA && out->model[0] && !is_final(code))
            status = TDM_OK;
        else if (!status)
            status = facts_read_models(out, (struct span){body.n ? body.bytes : "", body.n}, model, err);
        buffer_free(&body);
    }
    if (!status && !out->chat_template) out->form = form_of(out->model);
    if (status) facts_free(out);
    return status;
}

void facts_free(facts *f)
{
    free(f->models);
    free(f->chat_template);
    *f = (facts){0};
}
