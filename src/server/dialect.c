#include "src/server/dialect.h"

#include <string.h>

#include "engine/base/error.h"
#include "src/cli/jsonio.h"

static const char *const names[DIALECTS] = {"llama-server", "vllm", "sglang", "openai"};

const char *dialect_name(dialect d)
{
    return names[d];
}

int dialect_find(const char *name)
{
    for (int i = 0; i < DIALECTS; i++)
        if (!strcmp(name, names[i])) return i;
    return -1;
}

bool dialect_takes_prompts(dialect d)
{
    return d != DIALECT_OPENAI;
}

/* ---- What is asked ----------------------------------------------------------------------------------------------- */

/* Seconds without a byte after which a server counts as lost: evaluating a long prompt may take minutes. */
enum { SILENT_ASK = 900, SILENT_GET = 15 };

/* Tokens of a reply where neither the user nor the context sets a limit that is known. */
enum { UNKNOWN_ROOM = 2048 };

static tdm_status append_request(const char *method, const char *path, bool stream, int silent_s, const char *body,
                                 struct buffer *out, tdm_error *err)
{
    json_object *o = jsonio_object();
    jsonio_add_string(o, "method", method);
    jsonio_add_string(o, "path", path);
    if (stream) jsonio_add_bool(o, "stream", true);
    jsonio_add_int(o, "silent_s", silent_s);
    tdm_status status = jsonio_line(o, out, err);
    if (!status && body) status = buffer_append(out, "\n", 1, err);
    if (!status && body) status = buffer_append(out, body, strlen(body), err);
    json_object_put(o);
    return status;
}

/* A POST of an object, which is freed. */
static tdm_status post(const char *path, bool stream, json_object *o, struct buffer *out, tdm_error *err)
{
    struct buffer body = {0};
    tdm_status status = jsonio_line(o, &body, err);
    if (!status) status = append_request("POST", path, stream, SILENT_ASK, body.bytes, out, err);
    buffer_free(&body);
    json_object_put(o);
    return status;
}

tdm_status dialect_get(const char *path, struct buffer *out, tdm_error *err)
{
    return append_request("GET", path, false, SILENT_GET, NULL, out, err);
}

tdm_status dialect_post(const char *path, const char *body, struct buffer *out, tdm_error *err)
{
    return append_request("POST", path, false, SILENT_ASK, body, out, err);
}

static void add_stops(json_object *o, const char *const *stops)
{
    if (!stops || !stops[0]) return;
    json_object *list = jsonio_array();
    for (; *stops; stops++) jsonio_append_string(list, *stops);
    jsonio_add(o, "stop", list);
}

static void add_sampling(dialect d, json_object *o, const tdm_sampling *s)
{
    jsonio_add_real(o, "temperature", s->temperature);
    jsonio_add_real(o, "top_p", s->top_p);
    jsonio_add_real(o, "presence_penalty", s->presence_penalty);
    jsonio_add_real(o, "frequency_penalty", s->frequency_penalty);
    jsonio_add_int(o, "seed", (int64_t)(s->seed & INT32_MAX));
    if (d == DIALECT_OPENAI) return; /* what follows is no part of OpenAI's own */
    jsonio_add_int(o, "top_k", s->top_k ? s->top_k : d == DIALECT_LLAMA ? 0 : -1);
    jsonio_add_real(o, "min_p", s->min_p);
    jsonio_add_real(o, d == DIALECT_LLAMA ? "repeat_penalty" : "repetition_penalty", s->repeat_penalty);
}

static json_object *messages_of(const dialect_ask *ask)
{
    static const char *const roles[] = {[TDM_SYSTEM] = "system", [TDM_USER] = "user", [TDM_ASSISTANT] = "assistant"};
    json_object *list = jsonio_array();
    for (size_t i = 0; i < ask->n_messages; i++) {
        json_object *m = jsonio_object();
        jsonio_add_string(m, "role", roles[ask->messages[i].role]);
        jsonio_add_text(m, "content", ask->messages[i].text, ask->messages[i].length);
        jsonio_append(list, m);
    }
    return list;
}

static void add_llama(json_object *o, const dialect_ask *ask, bool ahead)
{
    jsonio_add_text(o, "prompt", ask->prompt.bytes, ask->prompt.length);
    jsonio_add_int(o, "n_predict", ahead ? 0 : ask->max_tokens ? ask->max_tokens : -1);
    jsonio_add_bool(o, "cache_prompt", true);
    jsonio_add_int(o, "id_slot", ask->slot);
    if (ahead) return;
    jsonio_add_bool(o, "timings_per_token", true);
    /* Or a slot of ik_llama.cpp keeps those of the request before, with its ignore_eos. */
    jsonio_add(o, "logit_bias", jsonio_array());
}

/* Of a reply to a rendered prompt. Left out, it would be 16; more than the context has left is refused. */
static int most_tokens(const dialect_ask *ask)
{
    int most = ask->max_tokens, room = ask->room > 0 ? ask->room : UNKNOWN_ROOM;
    return most && (most < room || ask->room <= 0) ? most : room;
}

static void add_openai(dialect d, json_object *o, const dialect_ask *ask, bool ahead)
{
    if (ask->model) jsonio_add_string(o, "model", ask->model);
    if (ahead)
        jsonio_add_int(o, "max_tokens", 1);
    else if (dialect_takes_prompts(d))
        jsonio_add_int(o, "max_tokens", most_tokens(ask));
    else if (ask->max_tokens)
        jsonio_add_int(o, "max_tokens", ask->max_tokens);
    if (!ahead) {
        json_object *usage = jsonio_object();
        jsonio_add_bool(usage, "include_usage", true);
        jsonio_add(o, "stream_options", usage);
    }
    if (dialect_takes_prompts(d)) {
        jsonio_add_text(o, "prompt", ask->prompt.bytes, ask->prompt.length);
        jsonio_add_bool(o, "add_special_tokens", false); /* the rendered prompt has them */
        return;
    }
    jsonio_add(o, "messages", messages_of(ask));
    if (ask->continues) {
        jsonio_add_bool(o, "continue_final_message", true);
        jsonio_add_bool(o, "add_generation_prompt", false);
    }
    if (ask->can_think) {
        json_object *arguments = jsonio_object();
        jsonio_add_bool(arguments, "enable_thinking", ask->think);
        jsonio_add(o, "chat_template_kwargs", arguments);
    }
}

tdm_status dialect_render(const dialect_ask *ask, struct buffer *out, tdm_error *err)
{
    json_object *o = jsonio_object();
    jsonio_add(o, "messages", messages_of(ask));
    return post("/apply-template", false, o, out, err);
}

tdm_status dialect_request(dialect d, const dialect_ask *ask, bool ahead, struct buffer *out, tdm_error *err)
{
    static const char *const paths[DIALECTS] = {"/completion", "/v1/completions", "/v1/completions",
                                                "/v1/chat/completions"};
    json_object *o = jsonio_object();
    if (d == DIALECT_LLAMA)
        add_llama(o, ask, ahead);
    else
        add_openai(d, o, ask, ahead);
    jsonio_add_bool(o, "stream", !ahead);
    if (!ahead) {
        add_sampling(d, o, ask->sampling);
        add_stops(o, ask->stops);
        if (ask->ignore_eos && d != DIALECT_OPENAI) jsonio_add_bool(o, "ignore_eos", true);
    }
    return post(paths[d], !ahead, o, out, err);
}

/* ---- What comes back --------------------------------------------------------------------------------------------- */

void dialect_piece_free(dialect_piece *p)
{
    buffer_free(&p->text);
    buffer_free(&p->thinking);
}

/* {"error": {"message": ...}}, {"error": "..."}, {"message": ...} or {"detail": ...}; NULL: none of them. */
static const char *message_of(json_object *o)
{
    json_object *error = jsonio_member(o, "error", json_type_object);
    const char *text = error ? jsonio_text(error, "message", NULL) : jsonio_text(o, "error", NULL);
    if (!text && jsonio_text(o, "object", NULL) && !strcmp(jsonio_text(o, "object", NULL), "error"))
        text = jsonio_text(o, "message", NULL);
    return text ? text : error ? "an error without a message" : jsonio_text(o, "detail", NULL);
}

void dialect_failure(int status, struct span body, tdm_error *err)
{
    json_object *o = NULL;
    const char *text = jsonio_parse(&o, "", body.bytes, body.length, NULL) ? NULL : message_of(o);
    if (text)
        error_set(err, TDM_E_IO, "the server answers %d: %.250s", status, text);
    else
        error_set(err, TDM_E_IO, "the server answers %d", status);
    json_object_put(o);
}

static tdm_status append_text(struct buffer *b, json_object *o, const char *key, tdm_error *err)
{
    size_t n;
    const char *text = o ? jsonio_text(o, key, &n) : NULL;
    return text ? buffer_append(b, text, n, err) : TDM_OK;
}

static bool is_true(json_object *o, const char *key)
{
    return json_object_get_boolean(jsonio_member(o, key, json_type_boolean));
}

#define LONGEST_MS  1e9
#define SHORTEST_MS 1e-3 /* speeds are told by it */

/* Of tokens; -1: not told, or more than there can be. */
static int64_t count_of(json_object *o, const char *key)
{
    int64_t n = jsonio_int(o, key, -1);
    return n >= 0 && n <= INT32_MAX ? n : -1;
}

/* Milliseconds; -1: not told, or no time that something here can have taken. */
static double time_of(json_object *o, const char *key)
{
    double ms = jsonio_real(o, key, -1);
    return ms < 0 || ms > LONGEST_MS ? -1 : ms < SHORTEST_MS ? 0 : ms;
}

/* Old servers tell the reason by a truth value each, newer ones by one word. */
static tdm_finish finish_of_llama(json_object *o)
{
    const char *type = jsonio_text(o, "stop_type", NULL), *word = jsonio_text(o, "stopping_word", NULL);
    if (is_true(o, "truncated")) return TDM_CONTEXT;
    if (is_true(o, "stopped_word") || (type && !strcmp(type, "word")) || (word && word[0])) return TDM_STOP_STRING;
    if (is_true(o, "stopped_limit") || (type && !strcmp(type, "limit"))) return TDM_LENGTH;
    return TDM_END;
}

static tdm_status read_llama(json_object *o, dialect_piece *p, tdm_error *err)
{
    if (!jsonio_text(o, "content", NULL)) return error_set(err, TDM_E_FORMAT, "expected `content` of the server");
    tdm_status status = append_text(&p->text, o, "content", err);
    json_object *timings = jsonio_member(o, "timings", json_type_object);
    p->slot = (int)count_of(o, "id_slot");
    if (timings) {
        p->evaluated_tokens = count_of(timings, "prompt_n");
        p->cached_tokens = count_of(timings, "cache_n");
        p->reply_tokens = count_of(timings, "predicted_n");
        p->prompt_ms = time_of(timings, "prompt_ms");
        p->reply_ms = time_of(timings, "predicted_ms");
    }
    p->prompt_tokens = count_of(o, "tokens_evaluated");
    if (p->cached_tokens < 0 && p->prompt_tokens >= 0 && p->evaluated_tokens >= 0)
        p->cached_tokens = p->prompt_tokens - p->evaluated_tokens;
    if (!is_true(o, "stop")) return status;
    p->end = true;
    p->finish = finish_of_llama(o);
    return status;
}

static void read_usage(json_object *usage, dialect_piece *p)
{
    if (!usage) return;
    p->prompt_tokens = count_of(usage, "prompt_tokens");
    p->reply_tokens = count_of(usage, "completion_tokens");
    json_object *details = jsonio_member(usage, "prompt_tokens_details", json_type_object);
    if (details) p->cached_tokens = count_of(details, "cached_tokens");
    if (p->prompt_tokens >= 0 && p->cached_tokens >= 0 && p->cached_tokens <= p->prompt_tokens)
        p->evaluated_tokens = p->prompt_tokens - p->cached_tokens;
}

static tdm_status read_openai(json_object *o, dialect_piece *p, tdm_error *err)
{
    json_object *choices = jsonio_member(o, "choices", json_type_array);
    if (!choices) return error_set(err, TDM_E_FORMAT, "expected `choices` of the server");
    read_usage(jsonio_member(o, "usage", json_type_object), p);
    json_object *choice = json_object_array_length(choices) ? json_object_array_get_idx(choices, 0) : NULL;
    if (!choice || !json_object_is_type(choice, json_type_object)) return TDM_OK;
    json_object *delta = jsonio_member(choice, "delta", json_type_object);
    if (!delta) delta = jsonio_member(choice, "message", json_type_object);
    tdm_status status = append_text(&p->text, choice, "text", err);
    if (!status) status = append_text(&p->text, delta, "content", err);
    if (!status) status = append_text(&p->thinking, delta, "reasoning_content", err);
    if (!status && delta && !jsonio_text(delta, "reasoning_content", NULL))
        status = append_text(&p->thinking, delta, "reasoning", err);
    const char *reason = jsonio_text(choice, "finish_reason", NULL);
    if (!reason) return status;
    if (!strcmp(reason, "abort")) return error_set(err, TDM_E_IO, "the server has broken the reply off");
    /* vLLM and SGLang: the stop string that ended it; a number is the end token's. */
    bool stop = jsonio_text(choice, "stop_reason", NULL) || jsonio_text(choice, "matched_stop", NULL);
    p->end = true;
    p->finish = !strcmp(reason, "length") ? TDM_LENGTH : stop ? TDM_STOP_STRING : TDM_END;
    return status;
}

tdm_status dialect_read(dialect d, struct span data, dialect_piece *p, tdm_error *err)
{
    buffer_clear(&p->text);
    buffer_clear(&p->thinking);
    p->end = false;
    p->prompt_tokens = p->cached_tokens = p->evaluated_tokens = p->reply_tokens = -1;
    p->prompt_ms = p->reply_ms = -1;
    p->slot = -1;
    if (span_is(data, "[DONE]")) return TDM_OK;
    json_object *o = NULL;
    tdm_status status = jsonio_parse(&o, "the server's answer", data.bytes, data.length, err);
    if (status) return status;
    const char *failure = message_of(o);
    if (!json_object_is_type(o, json_type_object))
        status = error_set(err, TDM_E_FORMAT, "expected an object as the server's answer");
    else if (failure)
        status = error_set(err, TDM_E_FORMAT, "the server says: %.300s", failure);
    else
        status = d == DIALECT_LLAMA ? read_llama(o, p, err) : read_openai(o, p, err);
    json_object_put(o);
    return status;
}
