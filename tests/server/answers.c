#include "tests/server/answers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/json/write.h"

static void add_text(json_object *o, const char *key, const struct buffer *b, size_t from)
{
    json_add_text(o, key, b->n > from ? b->bytes + from : "", b->n > from ? b->n - from : 0);
}

/* ---- llama-server ------------------------------------------------------------------------------------------------ */

static void add_rate(json_object *o, const char *name, int n, double ms)
{
    char key[60];
    snprintf(key, sizeof key, "%s_n", name);
    json_add_int(o, key, n);
    snprintf(key, sizeof key, "%s_ms", name);
    json_add_real(o, key, ms);
    snprintf(key, sizeof key, "%s_per_token_ms", name);
    json_add_real(o, key, n ? ms / n : 0);
    snprintf(key, sizeof key, "%s_per_second", name);
    json_add_real(o, key, ms > 0 ? n * 1000 / ms : 0);
}

static json_object *timings(const answer *a)
{
    json_object *o = json_new_object();
    if (!a->old) json_add_int(o, "cache_n", a->work.cached);
    add_rate(o, "prompt", a->work.evaluated, a->work.ms);
    add_rate(o, "predicted", a->reply->tokens, a->reply->ms);
    if (a->old) json_add_int(o, "n_past", a->work.prompt + a->reply->tokens);
    return o;
}

static json_object *llama_piece(const answer *a, const char *text, size_t n)
{
    json_object *o = json_new_object();
    if (!a->old) json_add_int(o, "index", 0);
    json_add_text(o, "content", text, n);
    if (!a->old) json_add(o, "tokens", json_new_array());
    json_add_bool(o, "stop", false);
    json_add_int(o, "id_slot", a->slot);
    if (a->old) json_add_bool(o, "multimodal", false);
    if (!a->old) json_add_int(o, "tokens_predicted", a->reply->tokens);
    if (!a->old) json_add_int(o, "tokens_evaluated", a->work.prompt);
    return o;
}

static void add_why(json_object *o, const answer *a)
{
    reply_end end = a->reply->end;
    if (a->old) {
        json_add_bool(o, "stopped_eos", end == REPLY_EOS);
        json_add_bool(o, "stopped_word", end == REPLY_STOP);
        json_add_bool(o, "stopped_limit", end == REPLY_LIMIT || end == REPLY_FULL);
    } else {
        json_add_string(o, "stop_type", end == REPLY_EOS ? "eos" : end == REPLY_STOP ? "word" : "limit");
    }
    json_add_string(o, "stopping_word", end == REPLY_STOP ? a->reply->stop : "");
    json_add_bool(o, "truncated", end == REPLY_FULL);
}

static json_object *llama_end(const answer *a, bool whole)
{
    json_object *o = json_new_object(), *settings = json_new_object();
    if (!a->old) json_add_int(o, "index", 0);
    add_text(o, "content", &a->reply->text, whole ? 0 : a->reply->text.n);
    if (!a->old) json_add(o, "tokens", json_new_array());
    json_add_int(o, "id_slot", a->slot);
    json_add_bool(o, "stop", true);
    json_add_string(o, "model", a->model);
    json_add_int(o, "tokens_predicted", a->reply->tokens);
    json_add_int(o, "tokens_evaluated", a->work.prompt);
    json_add_real(settings, "temperature", (double)a->reply->sampling.temperature);
    json_add_int(settings, "n_predict", a->reply->most);
    json_add(o, "generation_settings", settings);
    json_add_string(o, "prompt", a->prompt);
    add_why(o, a);
    json_add_int(o, "tokens_cached", a->work.prompt + a->reply->tokens);
    json_add(o, "timings", timings(a));
    return o;
}

/* ---- The form of OpenAI ------------------------------------------------------------------------------------------ */

static json_object *head(const answer *a, bool stream)
{
    json_object *o = json_new_object();
    bool chat = a->form == FORM_CHAT;
    json_add_string(o, "id", chat ? "chatcmpl-1" : "cmpl-1");
    json_add_string(o, "object", !chat ? "text_completion" : stream ? "chat.completion.chunk" : "chat.completion");
    json_add_int(o, "created", time(NULL));
    json_add_string(o, "model", a->model);
    return o;
}

static void add_choice(json_object *o, json_object *choice)
{
    json_object *list = json_new_array();
    json_add_int(choice, "index", 0);
    json_add_null(choice, "logprobs");
    json_append(list, choice);
    json_add(o, "choices", list);
}

static void add_finish(json_object *choice, const answer *a)
{
    reply_end end = a->reply->end;
    json_add_string(choice, "finish_reason", end == REPLY_EOS || end == REPLY_STOP ? "stop" : "length");
    const char *key = a->kind == DIALECT_SGLANG ? "matched_stop" : a->kind == DIALECT_VLLM ? "stop_reason" : NULL;
    if (!key) return;
    if (end == REPLY_EOS && a->kind == DIALECT_SGLANG)
        json_add_int(choice, key, a->reply->ends[0]);
    else
        json_add_string(choice, key, end == REPLY_STOP ? a->reply->stop : NULL);
}

static json_object *counts(const answer *a)
{
    json_object *o = json_new_object(), *details = json_new_object();
    json_add_int(o, "prompt_tokens", a->work.prompt);
    json_add_int(o, "total_tokens", a->work.prompt + a->reply->tokens);
    json_add_int(o, "completion_tokens", a->reply->tokens);
    json_add_int(details, "cached_tokens", a->work.cached);
    json_add(o, "prompt_tokens_details", details);
    return o;
}

static json_object *openai_piece(const answer *a, const char *text, size_t n)
{
    json_object *o = head(a, true), *choice = json_new_object();
    if (a->form == FORM_CHAT) {
        json_object *delta = json_new_object();
        json_add_text(delta, "content", text, n);
        json_add(choice, "delta", delta);
    } else {
        json_add_text(choice, "text", text, n);
    }
    json_add_string(choice, "finish_reason", NULL);
    add_choice(o, choice);
    return o;
}

static json_object *openai_end(const answer *a)
{
    json_object *o = head(a, true), *choice = json_new_object();
    if (a->form == FORM_CHAT)
        json_add(choice, "delta", json_new_object());
    else
        json_add_string(choice, "text", "");
    add_finish(choice, a);
    add_choice(o, choice);
    return o;
}

static json_object *openai_whole(const answer *a)
{
    json_object *o = head(a, false), *choice = json_new_object();
    if (a->form == FORM_CHAT) {
        json_object *message = json_new_object();
        json_add_string(message, "role", "assistant");
        add_text(message, "content", &a->reply->text, 0);
        json_add(choice, "message", message);
    } else {
        add_text(choice, "text", &a->reply->text, 0);
    }
    add_finish(choice, a);
    add_choice(o, choice);
    json_add(o, "usage", counts(a));
    return o;
}

/* ---- SGLang's /generate ------------------------------------------------------------------------------------------ */

/* Each event has the whole text so far. */
static json_object *generated(const answer *a)
{
    json_object *o = json_new_object(), *meta = json_new_object();
    json_add_text(o, "text", a->reply->text.n ? a->reply->text.bytes : "", a->reply->told);
    json_add_string(meta, "id", "1");
    json_add_int(meta, "prompt_tokens", a->work.prompt);
    json_add_int(meta, "completion_tokens", a->reply->tokens);
    json_add_int(meta, "cached_tokens", a->work.cached);
    if (!a->reply->end) json_add_null(meta, "finish_reason");
    if (a->reply->end) {
        json_object *why = json_new_object();
        bool stop = a->reply->end == REPLY_EOS || a->reply->end == REPLY_STOP;
        json_add_string(why, "type", stop ? "stop" : "length");
        json_add(meta, "finish_reason", why);
    }
    json_add(o, "meta_info", meta);
    return o;
}

/* ---- By form ----------------------------------------------------------------------------------------------------- */

json_object *answer_opening(const answer *a)
{
    if (a->form != FORM_CHAT) return NULL;
    json_object *o = head(a, true), *choice = json_new_object(), *delta = json_new_object();
    json_add_string(delta, "role", "assistant");
    json_add_string(delta, "content", "");
    json_add(choice, "delta", delta);
    json_add_string(choice, "finish_reason", NULL);
    add_choice(o, choice);
    return o;
}

json_object *answer_piece(const answer *a, const char *text, size_t n)
{
    return a->form == FORM_LLAMA      ? llama_piece(a, text, n)
           : a->form == FORM_GENERATE ? generated(a)
                                      : openai_piece(a, text, n);
}

json_object *answer_end(const answer *a)
{
    return a->form == FORM_LLAMA ? llama_end(a, false) : a->form == FORM_GENERATE ? generated(a) : openai_end(a);
}

json_object *answer_usage(const answer *a)
{
    if (!a->usage || a->form == FORM_LLAMA || a->form == FORM_GENERATE) return NULL;
    json_object *o = head(a, true);
    json_add(o, "choices", json_new_array());
    json_add(o, "usage", counts(a));
    return o;
}

bool answer_says_done(const answer *a)
{
    return a->form != FORM_LLAMA;
}

json_object *answer_whole(const answer *a)
{
    return a->form == FORM_LLAMA ? llama_end(a, true) : a->form == FORM_GENERATE ? generated(a) : openai_whole(a);
}

json_object *answer_error(dialect kind, int status, const char *type, const char *message)
{
    json_object *o = json_new_object(), *error = json_new_object();
    if (status == 401 && (kind == DIALECT_VLLM || kind == DIALECT_SGLANG)) {
        json_free(error);
        json_add_string(o, "error", "Unauthorized");
        return o;
    }
    if (kind == DIALECT_SGLANG) {
        json_free(error);
        error = o;
        json_add_string(o, "object", "error");
    }
    json_add_string(error, "message", message);
    json_add_string(error, "type", type);
    json_add_int(error, "code", status);
    if (error != o) json_add(o, "error", error);
    return o;
}
