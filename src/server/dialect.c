#include "src/server/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"
#include "engine/json/write.h"
#include "src/image/picture.h"
#include "src/io/messages.h"
#include "src/server/refusal.h"

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
    json_object *o = json_new_object();
    json_add_string(o, "method", method);
    json_add_string(o, "path", path);
    if (stream) json_add_bool(o, "stream", true);
    json_add_int(o, "silent_s", silent_s);
    tdm_status status = json_write_line(o, out, err);
    if (!status && body) status = buffer_append(out, body, strlen(body), err);
    json_free(o);
    return status;
}

/* A POST of an object, which is freed. Every question about a prompt goes this way, and names its model: a server may
 * have several, and some ask for the name where they have one. */
static tdm_status post(const char *path, bool stream, const dialect_ask *ask, json_object *o, struct buffer *out,
                       tdm_error *err)
{
    struct buffer body = {0};
    if (ask->model) json_add_string(o, "model", ask->model);
    tdm_status status = json_write_text(o, &body, err);
    if (!status) status = append_request("POST", path, stream, SILENT_ASK, body.bytes, out, err);
    buffer_free(&body);
    json_free(o);
    return status;
}

tdm_status dialect_get(const char *path, struct buffer *out, tdm_error *err)
{
    return append_request("GET", path, false, SILENT_GET, NULL, out, err);
}

/* Percent-encoded, but for what RFC 3986 reserves for nothing. */
static tdm_status append_encoded(struct buffer *out, const char *text, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (; *text && !status; text++) {
        char code[4];
        bool plain = (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= 'a' && *text <= 'z') || strchr("-._~", *text);
        snprintf(code, sizeof code, plain ? "%c" : "%%%02X", plain ? *text : (unsigned char)*text);
        status = buffer_append(out, code, strlen(code), err);
    }
    return status;
}

tdm_status dialect_settings(const char *model, struct buffer *out, tdm_error *err)
{
    static const char page[] = "/props?model=";
    struct buffer path = {0};
    tdm_status status = buffer_append(&path, page, sizeof page - 1, err);
    if (!status) status = append_encoded(&path, model, err);
    if (!status) status = append_request("GET", path.bytes, false, SILENT_ASK, NULL, out, err);
    buffer_free(&path);
    return status;
}

static json_object *list_of(const char *const *texts)
{
    json_object *list = json_new_array();
    for (; *texts; texts++) json_append_string(list, *texts);
    return list;
}

static void add_sampling(dialect d, json_object *o, const tdm_sampling *s)
{
    json_add_real(o, "temperature", s->temperature);
    json_add_real(o, "top_p", s->top_p);
    json_add_real(o, "presence_penalty", s->presence_penalty);
    json_add_real(o, "frequency_penalty", s->frequency_penalty);
    json_add_int(o, "seed", (int64_t)(s->seed & INT32_MAX));
    if (d == DIALECT_OPENAI) return; /* what follows is no part of OpenAI's own */
    json_add_int(o, "top_k", s->top_k ? s->top_k : d == DIALECT_LLAMA ? 0 : -1);
    json_add_real(o, "min_p", s->min_p);
    json_add_real(o, d == DIALECT_LLAMA ? "repeat_penalty" : "repetition_penalty", s->repeat_penalty);
}

/* A message as it is put together: its words so far, and the parts before them once there is a picture. */
typedef struct {
    struct buffer words;
    json_object *parts; /* NULL: there is none */
} put_message;

static void end_words(put_message *c)
{
    if (!c->words.n) return;
    json_object *part = json_new_object();
    json_add_string(part, "type", "text");
    json_add_text(part, "text", c->words.bytes, c->words.n);
    json_append(c->parts, part);
    buffer_clear(&c->words);
}

/* A message's words, and its pictures in their places by their files' bytes. */
static tdm_status add_message(put_message *c, const tdm_message *m, tdm_error *err)
{
    size_t at = 0;
    tdm_status status = TDM_OK;
    for (size_t k = 0; k < m->n_pictures && !status; at = m->pictures[k++].at) {
        char *address = picture_address(picture_find(m->pictures[k].picture));
        if (!address) return error_set(err, TDM_E_NOMEM, "no memory to send a picture");
        status = buffer_append(&c->words, m->text + at, m->pictures[k].at - at, err);
        if (!c->parts) c->parts = json_new_array();
        end_words(c);
        json_append(c->parts, messages_picture_part(address));
        free(address);
    }
    return status ? status : buffer_append(&c->words, m->text + at, m->length - at, err);
}

/* Messages of the user that follow each other, since there was no reply between them, are one: templates refuse two.
 * NULL: no memory, with its line. */
static json_object *messages_of(const dialect_ask *ask, tdm_error *err)
{
    static const char *const roles[] = {[TDM_SYSTEM] = "system", [TDM_USER] = "user", [TDM_ASSISTANT] = "assistant"};
    json_object *list = json_new_array();
    put_message c = {0};
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < ask->n_messages && !status; i++) {
        const tdm_message *this = &ask->messages[i];
        status = add_message(&c, this, err);
        if (!status && i + 1 < ask->n_messages && this->role == TDM_USER && this[1].role == TDM_USER) {
            status = buffer_append(&c.words, "\n\n", 2, err);
            continue;
        }
        if (status) break;
        json_object *m = json_new_object();
        json_add_string(m, "role", roles[this->role]);
        if (c.parts) end_words(&c);
        if (c.parts)
            json_add(m, "content", c.parts);
        else
            json_add_text(m, "content", c.words.n ? c.words.bytes : "", c.words.n);
        json_append(list, m);
        c.parts = NULL;
        buffer_clear(&c.words);
    }
    buffer_free(&c.words);
    json_free(c.parts);
    if (!status) return list;
    json_free(list);
    return NULL;
}

static void add_llama(json_object *o, const dialect_ask *ask, bool ahead)
{
    json_add_text(o, "prompt", ask->prompt.bytes, ask->prompt.length);
    json_add_int(o, "n_predict", ahead ? 0 : ask->max_tokens ? ask->max_tokens : -1);
    json_add_bool(o, "cache_prompt", true);
    json_add_int(o, "id_slot", ask->slot);
    if (ahead) return;
    json_add_bool(o, "timings_per_token", true);
    /* Or a slot of ik_llama.cpp keeps those of the request before, with its ignore_eos. */
    json_add(o, "logit_bias", json_new_array());
    if (ask->marks && ask->marks[0]) json_add(o, "preserved_tokens", list_of(ask->marks));
}

/* Of a reply to a rendered prompt. Left out, it would be 16; more than the context has left is refused. */
static int most_tokens(const dialect_ask *ask)
{
    int most = ask->max_tokens, room = ask->room > 0 ? ask->room : UNKNOWN_ROOM;
    return most && (most < room || ask->room <= 0) ? most : room;
}

/* Templates call it by two names: that of Qwen, GLM and Gemma, and that of DeepSeek and Granite. How much is a third,
 * gpt-oss'. */
static void add_thinking(json_object *o, const dialect_ask *ask)
{
    const char *effort = tdm_thinking_name(ask->think == TDM_THINK_ON ? TDM_THINK_MEDIUM : ask->think);
    if (ask->thinking == DIALECT_THINK_TEMPLATE) {
        json_object *arguments = json_new_object();
        json_add_bool(arguments, "enable_thinking", ask->think);
        json_add_bool(arguments, "thinking", ask->think);
        if (ask->think > TDM_THINK_ON) json_add_string(arguments, "reasoning_effort", effort);
        json_add(o, "chat_template_kwargs", arguments);
    } else if (ask->think && ask->thinking != DIALECT_THINK_RENDERED) {
        json_add_string(o, "reasoning_effort", effort);
    } else if (ask->thinking == DIALECT_THINK_EFFORT) {
        json_add_string(o, "reasoning_effort", "none");
    }
}

static tdm_status add_openai(dialect d, json_object *o, const dialect_ask *ask, bool ahead, tdm_error *err)
{
    if (ahead)
        json_add_int(o, "max_tokens", 1);
    else if (dialect_takes_prompts(d))
        json_add_int(o, "max_tokens", most_tokens(ask));
    else if (ask->max_tokens)
        json_add_int(o, "max_tokens", ask->max_tokens);
    if (!ahead) {
        json_object *usage = json_new_object();
        json_add_bool(usage, "include_usage", true);
        json_add(o, "stream_options", usage);
    }
    if (dialect_takes_prompts(d)) {
        json_add_text(o, "prompt", ask->prompt.bytes, ask->prompt.length);
        json_add_bool(o, "add_special_tokens", false); /* the rendered prompt has them */
        if (!ahead && ask->marks && ask->marks[0]) json_add_bool(o, "skip_special_tokens", false);
        return TDM_OK;
    }
    json_object *messages = messages_of(ask, err);
    if (!messages) return TDM_E_NOMEM;
    json_add(o, "messages", messages);
    if (ask->continues) {
        json_add_bool(o, "continue_final_message", true);
        json_add_bool(o, "add_generation_prompt", false);
    }
    add_thinking(o, ask);
    return TDM_OK;
}

tdm_status dialect_request(dialect d, const dialect_ask *ask, bool ahead, struct buffer *out, tdm_error *err)
{
    static const char *const paths[DIALECTS] = {"/completion", "/v1/completions", "/v1/completions",
                                                "/v1/chat/completions"};
    const char *path = paths[d];
    char based[200];
    if (d == DIALECT_OPENAI && ask->base) {
        snprintf(based, sizeof based, "%s/chat/completions", ask->base);
        path = based;
    }
    json_object *o = json_new_object();
    tdm_status status = TDM_OK;
    if (d == DIALECT_LLAMA)
        add_llama(o, ask, ahead);
    else
        status = add_openai(d, o, ask, ahead, err);
    if (status) {
        json_free(o);
        return status;
    }
    json_add_bool(o, "stream", !ahead);
    if (!ahead) {
        add_sampling(d, o, ask->sampling);
        if (ask->stops && ask->stops[0]) json_add(o, "stop", list_of(ask->stops));
        if (ask->ignore_eos && d != DIALECT_OPENAI) json_add_bool(o, "ignore_eos", true);
    }
    return post(path, !ahead, ask, o, out, err);
}

/* ---- What comes back --------------------------------------------------------------------------------------------- */

void dialect_piece_free(dialect_piece *p)
{
    buffer_free(&p->text);
    buffer_free(&p->thinking);
    buffer_free(&p->refusal);
    buffer_free(&p->tool);
}

void dialect_failure(int status, struct span body, tdm_error *err)
{
    char words[REFUSAL_ROOM];
    if (refusal_read(body, words))
        error_set(err, TDM_E_IO, "the server answers %d: %s", status, words);
    else
        error_set(err, TDM_E_IO, "the server answers %d", status);
}

static tdm_status append_text(struct buffer *b, json_object *o, const char *key, tdm_error *err)
{
    size_t n;
    const char *text = json_text(o, key, &n);
    return text ? buffer_append(b, text, n, err) : TDM_OK;
}

#define LONGEST_MS  1e9
#define SHORTEST_MS 1e-3 /* shorter times give no speed */

/* A count of tokens; -1: unknown, or more than there can be. */
static int64_t count_of(json_object *o, const char *key)
{
    int64_t n = json_int(o, key, -1);
    return n >= 0 && n <= INT32_MAX ? n : -1;
}

/* Milliseconds; -1: unknown, or no time that something here can have taken. */
static double time_of(json_object *o, const char *key)
{
    double ms = json_real(o, key, -1);
    return ms < 0 || ms > LONGEST_MS ? -1 : ms < SHORTEST_MS ? 0 : ms;
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

/* Why a reply has ended, in the words that servers have for it; all others are no ends. */
static const struct {
    const char *word;
    tdm_finish finish;
} ends[] = {
    {"stop", TDM_FINISH_END},
    {"eos", TDM_FINISH_END},
    {"eos_token", TDM_FINISH_END},
    {"end_turn", TDM_FINISH_END},
    {"complete", TDM_FINISH_END},
    {"completed", TDM_FINISH_END},
    {"none", TDM_FINISH_END},
    {"word", TDM_FINISH_STOP_STRING},
    {"stop_sequence", TDM_FINISH_STOP_STRING},
    {"length", TDM_FINISH_LENGTH},
    {"limit", TDM_FINISH_LENGTH},
    {"max_tokens", TDM_FINISH_LENGTH},
    {"max_output_tokens", TDM_FINISH_LENGTH},
    {"model_length", TDM_FINISH_CONTEXT},
    {"model_context_window_exceeded", TDM_FINISH_CONTEXT},
};

/* What the user reads of the other values; for unknown ones the server's own word. */
static const struct { const char *word, *says; } no_ends[] = {
    {"content_filter", "a content filter ended the reply (content_filter)"},
    {"error", "the server ended the reply with an error"},
    {"abort", "the server has broken the reply off"},
    {"tool_calls", "the model calls a tool, and there is none here"},
    {"function_call", "the model calls a function, and there is none here"},
    {"tool_use", "the model calls a tool, and there is none here"},
    {"refusal", "the model refuses to answer"},
};

static void end_by(dialect_piece *p, const char *word)
{
    p->end = true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (strcasecmp(word, ends[i].word)) continue;
        p->finish = ends[i].finish;
        return;
    }
    tdm_error line = {0};
    const char *says = NULL;
    for (size_t i = 0; i < sizeof no_ends / sizeof *no_ends; i++)
        if (!strcasecmp(word, no_ends[i].word)) says = no_ends[i].says;
    error_set(&line, TDM_E_IO, "%s%.40s%s", says ? says : "the server ended the reply (", says ? "" : word,
              says ? "" : ")");
    p->finish = TDM_FINISH_FAILED;
    snprintf(p->reason, sizeof p->reason, "%.*s", (int)sizeof p->reason - 1, line.text);
}

/* Old servers tell the reason by a truth value each, newer ones by one word. */
static void end_of_llama(json_object *o, dialect_piece *p)
{
    const char *type = json_text(o, "stop_type", NULL), *word = json_text(o, "stopping_word", NULL);
    end_by(p, type && type[0] ? type : "eos");
    if (json_flag(o, "truncated", false))
        p->finish = TDM_FINISH_CONTEXT;
    else if (json_flag(o, "stopped_word", false) || (word && word[0]))
        p->finish = TDM_FINISH_STOP_STRING;
    else if (json_flag(o, "stopped_limit", false))
        p->finish = TDM_FINISH_LENGTH;
}

/* ---- Content ----------------------------------------------------------------------------------------------------- */

/* Text under a key: itself, or in parts [{"type": "text", "text": ...}, ...], of which one may stand alone. */
static tdm_status append_content(dialect_piece *p, struct buffer *to, json_object *o, const char *key, tdm_error *err);

static tdm_status append_part(dialect_piece *p, struct buffer *to, json_object *part, tdm_error *err)
{
    struct span text = json_span_of(part);
    if (text.bytes) return buffer_append(to, text.bytes, text.length, err);
    if (!json_is(part, JSON_OBJECT)) return TDM_OK;
    const char *type = json_text(part, "type", NULL);
    bool thinks = type && (!strcmp(type, "thinking") || !strcmp(type, "reasoning"));
    if (thinks) to = &p->thinking;
    tdm_status status = append_content(p, to, part, "text", err);
    if (!status && thinks) status = append_content(p, to, part, type, err);
    if (!status && type && !strcmp(type, "reasoning.summary")) status = append_content(p, to, part, "summary", err);
    return status ? status : append_text(&p->refusal, part, "refusal", err);
}

static tdm_status append_content(dialect_piece *p, struct buffer *to, json_object *o, const char *key, tdm_error *err)
{
    json_object *content = json_get(o, key);
    tdm_status status = TDM_OK;
    if (!json_is(content, JSON_ARRAY)) return append_part(p, to, content, err);
    for (size_t i = 0; i < json_length(content) && !status; i++) status = append_part(p, to, json_at(content, i), err);
    return status;
}

/* Servers have several names for it, and some write the same text under two: the first that holds any counts. */
static tdm_status append_thinking(dialect_piece *p, json_object *delta, tdm_error *err)
{
    static const char *const keys[] = {"reasoning_content", "reasoning", "thinking", "reasoning_details"};
    size_t before = p->thinking.n;
    tdm_status status = TDM_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !status && p->thinking.n == before; i++)
        status = append_content(p, &p->thinking, delta, keys[i], err);
    return status;
}

/* The name of the first tool that is called; later pieces of a call have none. */
static tdm_status append_tool(dialect_piece *p, json_object *delta, tdm_error *err)
{
    json_object *calls = json_member(delta, "tool_calls", JSON_ARRAY);
    json_object *call = json_at(calls, 0);
    json_object *function = json_is(call, JSON_OBJECT) ? json_member(call, "function", JSON_OBJECT)
                                                       : json_member(delta, "function_call", JSON_OBJECT);
    return append_text(&p->tool, function, "name", err);
}

static tdm_status read_llama(json_object *o, dialect_piece *p, tdm_error *err)
{
    json_object *content = json_get(o, "content");
    if (content && !json_is(content, JSON_STRING) && !json_is(content, JSON_ARRAY))
        return error_set(err, TDM_E_FORMAT, "expected text in `content` of the server");
    tdm_status status = append_content(p, &p->text, o, "content", err);
    json_object *timings = json_member(o, "timings", JSON_OBJECT);
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
    if (json_flag(o, "stop", false)) end_of_llama(o, p);
    return status;
}

static void read_usage(json_object *usage, dialect_piece *p)
{
    if (!usage) return;
    p->prompt_tokens = count_of(usage, "prompt_tokens");
    p->reply_tokens = count_of(usage, "completion_tokens");
    json_object *details = json_member(usage, "prompt_tokens_details", JSON_OBJECT);
    if (details) p->cached_tokens = count_of(details, "cached_tokens");
    if (p->prompt_tokens >= 0 && p->cached_tokens >= 0 && p->cached_tokens <= p->prompt_tokens)
        p->evaluated_tokens = p->prompt_tokens - p->cached_tokens;
}

static tdm_status read_choice(json_object *choice, dialect_piece *p, tdm_error *err)
{
    json_object *delta = json_member(choice, "delta", JSON_OBJECT);
    json_object *message = delta ? NULL : json_member(choice, "message", JSON_OBJECT);
    if (message) delta = message;
    tdm_status status = append_text(&p->text, choice, "text", err);
    if (!status) status = append_content(p, &p->text, delta, "content", err);
    if (!status) status = append_thinking(p, delta, err);
    if (!status) status = append_text(&p->refusal, delta, "refusal", err);
    if (!status && delta) status = append_tool(p, delta, err);
    const char *reason = json_text(choice, "finish_reason", NULL);
    if (reason && reason[0])
        end_by(p, reason);
    else if (message)
        end_by(p, "stop"); /* all there is */
    /* vLLM and SGLang: the stop string that ended it; a number is the end token's. */
    bool stop = json_text(choice, "stop_reason", NULL) || json_text(choice, "matched_stop", NULL);
    if (stop && p->finish == TDM_FINISH_END) p->finish = TDM_FINISH_STOP_STRING;
    return status;
}

static tdm_status read_openai(json_object *o, dialect_piece *p, tdm_error *err)
{
    json_object *choices = json_get(o, "choices"), *choice = json_at(choices, 0);
    read_usage(json_member(o, "usage", JSON_OBJECT), p);
    if (choices && !json_is(choices, JSON_ARRAY))
        return error_set(err, TDM_E_FORMAT, "expected a list in `choices` of the server");
    return json_is(choice, JSON_OBJECT) ? read_choice(choice, p, err) : TDM_OK;
}

/* An error of its own that stands beside the choices, or in one. */
static bool says_error(json_object *o, char words[REFUSAL_ROOM])
{
    json_object *choice = json_at(json_get(o, "choices"), 0);
    return refusal_of(o, words) || (json_member(choice, "error", JSON_OBJECT) && refusal_of(choice, words));
}

static tdm_status read_object(dialect d, json_object *o, dialect_piece *p, tdm_error *err)
{
    char words[REFUSAL_ROOM];
    tdm_status status = TDM_OK;
    bool object = json_is(o, JSON_OBJECT);
    if (object) status = d == DIALECT_LLAMA ? read_llama(o, p, err) : read_openai(o, p, err);
    if (says_error(o, words)) return error_set(err, TDM_E_FORMAT, "the server says: %s", words);
    if (o && !object) return error_set(err, TDM_E_FORMAT, "expected an object as the server's answer");
    return status;
}

static bool is_nothing(struct span data)
{
    while (data.length && strchr(" \t\n", *data.bytes)) data.bytes++, data.length--;
    return !data.length || span_is(data, "null");
}

tdm_status dialect_read(dialect d, struct span data, dialect_piece *p, tdm_error *err)
{
    struct buffer *const all[] = {&p->text, &p->thinking, &p->refusal, &p->tool};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buffer_clear(all[i]);
    p->end = span_is(data, "[DONE]");
    p->finish = TDM_FINISH_END;
    p->reason[0] = 0;
    p->prompt_tokens = p->cached_tokens = p->evaluated_tokens = p->reply_tokens = -1;
    p->prompt_ms = p->reply_ms = -1;
    p->slot = -1;
    if (p->end || is_nothing(data)) return TDM_OK;
    json_object *o = NULL;
    tdm_status status = json_parse(&o, "the server's answer", data.bytes, data.length, JSON_PIECES, err);
    if (!status) status = read_object(d, o, p, err);
    json_free(o);
    return status;
}
