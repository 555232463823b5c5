#include "tests/server/answers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/json/write.h"

static void add_text(json_object *o, const char *key, const struct buffer *b, size_t from)
{
    jsonio_add_text(o, key, b->n > from ? b->bytes + from : "", b->n > from ? b->n - from : 0);
}

/* ---- llama-server ------------------------------------------------------------------------------------------------ */

static void add_rate(json_object *o, const char *name, int n, double ms)
{
    char key[60];
    snprintf(key, sizeof key, "%s_n", name);
    jsonio_add_int(o, key, n);
    snprintf(key, sizeof key, "%s_ms", name);
    jsonio_add_real(o, key, ms);
    snprintf(key, sizeof key, "%s_per_token_ms", name);
    jsonio_add_real(o, key, n ? ms / n : 0);
    snprintf(key, sizeof key, "%s_per_second", name);
    jsonio_add_real(o, key, ms > 0 ? n * 1000 / ms : 0);
}

static json_object *timings(const answer *a)
{
    json_object *o = jsonio_object();
    if (!a->old) jsonio_add_int(o, "cache_n", a->work.cached);
    add_rate(o, "prompt", a->work.evaluated, a->work.ms);
    add_rate(o, "predicted", a->reply->tokens, a->reply->ms);
    if (a->old) jsonio_add_int(o, "n_past", a->work.prompt + a->reply->tokens);
    return o;
}

static json_object *llama_piece(const answer *a, const char *text, size_t n)
{
    json_object *o = jsonio_object();
    if (!a->old) jsonio_add_int(o, "index", 0);
    jsonio_add_text(o, "content", text, n);
    if (!a->old) jsonio_add(o, "tokens", jsonio_array());
    jsonio_add_bool(o, "stop", false);
    jsonio_add_int(o, "id_slot", a->slot);
    if (a->old) jsonio_add_bool(o, "multimodal", false);
    if (!a->old) jsonio_add_int(o, "tokens_predicted", a->reply->tokens);
    if (!a->old) jsonio_add_int(o, "tokens_evaluated", a->work.prompt);
    return o;
}

static void add_why(json_object *o, const answer *a)
{
    reply_end end = a->reply->end;
    if (a->old) {
        jsonio_add_bool(o, "stopped_eos", end == REPLY_EOS);
        jsonio_add_bool(o, "stopped_word", end == REPLY_STOP);
        jsonio_add_bool(o, "stopped_limit", end == REPLY_LIMIT || end == REPLY_FULL);
    } else {
        jsonio_add_string(o, "stop_type", end == REPLY_EOS ? "eos" : end == REPLY_STOP ? "word" : "limit");
    }
    jsonio_add_string(o, "stopping_word", end == REPLY_STOP ? a->reply->stop : "");
    jsonio_add_bool(o, "truncated", end == REPLY_FULL);
}

static json_object *llama_end(const answer *a, bool whole)
{
    json_object *o = jsonio_object(), *settings = jsonio_object();
    if (!a->old) jsonio_add_int(o, "index", 0);
    add_text(o, "content", &a->reply->text, whole ? 0 : a->reply->text.n);
    if (!a->old) jsonio_add(o, "tokens", jsonio_array());
    jsonio_add_int(o, "id_slot", a->slot);
    jsonio_add_bool(o, "stop", true);
    jsonio_add_string(o, "model", a->model);
    jsonio_add_int(o, "tokens_predicted", a->reply->tokens);
    jsonio_add_int(o, "tokens_evaluated", a->work.prompt);
    jsonio_add_real(settings, "temperature", (double)a->reply->sampling.temperature);
    jsonio_add_int(settings, "n_predict", a->reply->most);
    jsonio_add(o, "generation_settings", settings);
    jsonio_add_string(o, "prompt", a->prompt);
    add_why(o, a);
    jsonio_add_int(o, "tokens_cached", a->work.prompt + a->reply->tokens);
    jsonio_add(o, "timings", timings(a));
    return o;
}

/* ---- The form of OpenAI ------------------------------------------------------------------------------------------ */

static json_object *head(const answer *a, bool stream)
{
    json_object *o = jsonio_object();
    bool chat = a->form == FORM_CHAT;
    jsonio_add_string(o, "id", chat ? "chatcmpl-1" : "cmpl-1");
    jsonio_add_string(o, "object", !chat ? "text_completion" : stream ? "chat.completion.chunk" : "chat.completion");
    jsonio_add_int(o, "created", time(NULL));
    jsonio_add_string(o, "model", a->model);
    return o;
}

static void add_choice(json_object *o, json_object *choice)
{
    json_object *list = jsonio_array();
    jsonio_add_int(choice, "index", 0);
    jsonio_add_null(choice, "logprobs");
    jsonio_append(list, choice);
    jsonio_add(o, "choices", list);
}

static void add_finish(json_object *choice, const answer *a)
{
    reply_end end = a->reply->end;
    jsonio_add_string(choice, "finish_reason", end == REPLY_EOS || end == REPLY_STOP ? "stop" : "length");
    const char *key = a->kind == DIALECT_SGLANG ? "matched_stop" : a->kind == DIALECT_VLLM ? "stop_reason" : NULL;
    if (!key) return;
    if (end == REPLY_EOS && a->kind == DIALECT_SGLANG)
        jsonio_add_int(choice, key, a->reply->ends[0]);
    else
        jsonio_add_string(choice, key, end == REPLY_STOP ? a->reply->stop : NULL);
}

static json_object *counts(const answer *a)
{
    json_object *o = jsonio_object(), *details = jsonio_object();
    jsonio_add_int(o, "prompt_tokens", a->work.prompt);
    jsonio_add_int(o, "total_tokens", a->work.prompt + a->reply->tokens);
    jsonio_add_int(o, "completion_tokens", a->reply->tokens);
    jsonio_add_int(details, "cached_tokens", a->work.cached);
    jsonio_add(o, "prompt_tokens_details", details);
    return o;
}

static json_object *openai_piece(const answer *a, const char *text, size_t n)
{
    json_object *o = head(a, true), *choice = jsonio_object();
    if (a->form == FORM_CHAT) {
        json_object *delta = jsonio_object();
        jsonio_add_text(delta, "content", text, n);
        jsonio_add(choice, "delta", delta);
    } else {
        jsonio_add_text(choice, "text", text, n);
    }
    jsonio_add_string(choice, "finish_reason", NULL);
    add_choice(o, choice);
    return o;
}

static json_object *openai_end(const answer *a)
{
    json_object *o = head(a, true), *choice = jsonio_object();
    if (a->form == FORM_CHAT)
        jsonio_add(choice, "delta", jsonio_object());
    else
        jsonio_add_string(choice, "text", "");
    add_finish(choice, a);
    add_choice(o, choice);
    return o;
}

static json_object *openai_whole(const answer *a)
{
    json_object *o = head(a, false), *choice = jsonio_object();
    if (a->form == FORM_CHAT) {
        json_object *message = jsonio_object();
        jsonio_add_string(message, "role", "assistant");
        add_text(message, "content", &a->reply->text, 0);
        jsonio_add(choice, "message", message);
    } else {
        add_text(choice, "text", &a->reply->text, 0);
    }
    add_finish(choice, a);
    add_choice(o, choice);
    jsonio_add(o, "usage", counts(a));
    return o;
}

/* ---- SGLang's /generate ------------------------------------------------------------------------------------------ */

/* Each event has the whole text so far. */
static json_object *generated(const answer *a)
{
    json_object *o = jsonio_object(), *meta = jsonio_object();
    jsonio_add_text(o, "text", a->reply->text.n ? a->reply->text.bytes : "", a->reply->told);
    jsonio_add_string(meta, "id", "1");
    jsonio_add_int(meta, "prompt_tokens", a->work.prompt);
    jsonio_add_int(meta, "completion_tokens", a->reply->tokens);
    jsonio_add_int(meta, "cached_tokens", a->work.cached);
    if (!a->reply->end) jsonio_add_null(meta, "finish_reason");
    if (a->reply->end) {
        json_object *why = jsonio_object();
        bool stop = a->reply->end == REPLY_EOS || a->reply->end == REPLY_STOP;
        jsonio_add_string(why, "type", stop ? "stop" : "length");
        jsonio_add(meta, "finish_reason", why);
    }
    jsonio_add(o, "meta_info", meta);
    return o;
}

/* ---- By form ----------------------------------------------------------------------------------------------------- */

json_object *answer_opening(const answer *a)
{
    if (a->form != FORM_CHAT) return NULL;
    json_object *o = head(a, true), *choice = jsonio_object(), *delta = jsonio_object();
    jsonio_add_string(delta, "role", "assistant");
    jsonio_add_string(delta, "content", "");
    jsonio_add(choice, "delta", delta);
    jsonio_add_string(choice, "finish_reason", NULL);
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
    jsonio_add(o, "choices", jsonio_array());
    jsonio_add(o, "usage", counts(a));
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
    json_object *o = jsonio_object(), *error = jsonio_object();
    if (status == 401 && (kind == DIALECT_VLLM || kind == DIALECT_SGLANG)) {
        json_free(error);
        jsonio_add_string(o, "error", "Unauthorized");
        return o;
    }
    if (kind == DIALECT_SGLANG) {
        json_free(error);
        error = o;
        jsonio_add_string(o, "object", "error");
    }
    jsonio_add_string(error, "message", message);
    jsonio_add_string(error, "type", type);
    jsonio_add_int(error, "code", status);
    if (error != o) jsonio_add(o, "error", error);
    return o;
}
