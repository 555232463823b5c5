/* The tokenizer of a source as GGUF keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/model/convert/convert.h"
#include "engine/model/json.h"
#include "engine/text/split.h"
#include "engine/text/tokenizer_json.h"

enum { PAD_ROOM = 20 };

/* A token for each row of the embeddings, as other engines want it: rows without one are unused tokens [PADi]. */
struct vocabulary {
    const char *file;
    uint32_t rows;
    struct span *tokens;
    int32_t *types;
    char (*pads)[PAD_ROOM];
};

static tdm_status no_memory(const struct vocabulary *v, tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "%s: out of memory", v->file);
}

static struct span text_span(const char *text)
{
    return (struct span){text, strlen(text)};
}

static bool looks_special(struct span s)
{
    return s.length >= 4 && !memcmp(s.bytes, "<|", 2) && !memcmp(s.bytes + s.length - 2, "|>", 2);
}

/* types: by id, or NULL: all are normal. */
static tdm_status fill(struct vocabulary *v, const struct span *tokens, const int32_t *types, size_t count,
                       tdm_error *err)
{
    if (count > v->rows)
        return error_set(err, TDM_E_FORMAT, "%s: expected ids of tokens below %u, found %zu", v->file, v->rows,
                         count - 1);
    v->tokens = malloc(v->rows * sizeof *v->tokens);
    v->types = malloc(v->rows * sizeof *v->types);
    v->pads = malloc(v->rows * sizeof *v->pads);
    if (!v->tokens || !v->types || !v->pads) return no_memory(v, err);
    for (uint32_t i = 0; i < v->rows; i++) {
        if (i < count && tokens[i].bytes) {
            v->tokens[i] = tokens[i];
            v->types[i] = types ? types[i] : TOKENIZER_NORMAL;
            continue;
        }
        snprintf(v->pads[i], PAD_ROOM, "[PAD%u]", i);
        v->tokens[i] = text_span(v->pads[i]);
        v->types[i] = TOKENIZER_UNUSED;
    }
    return TDM_OK;
}

static void vocabulary_free(struct vocabulary *v)
{
    free(v->tokens);
    free(v->types);
    free(v->pads);
}

static void add_lists(struct gguf_writer *w, const struct vocabulary *v, struct span pre, const struct span *merges,
                      size_t merge_count)
{
    gguf_add_string(w, "tokenizer.ggml.model", text_span("gpt2"));
    gguf_add_string(w, "tokenizer.ggml.pre", pre);
    gguf_add_strings(w, "tokenizer.ggml.tokens", v->tokens, v->rows);
    gguf_add_i32s(w, "tokenizer.ggml.token_type", v->types, v->rows);
    gguf_add_strings(w, "tokenizer.ggml.merges", merges, merge_count);
}

/* The id of a token that tokenizer_config.json names, as a string or an object with content; -1 when it names none. */
static int64_t named_token(const struct vocabulary *v, struct json_object *config, const char *key)
{
    struct json_object *name = NULL;
    json_object_object_get_ex(config, key, &name);
    if (json_object_is_type(name, json_type_object)) json_object_object_get_ex(name, "content", &name);
    if (!json_object_is_type(name, json_type_string)) return -1;
    for (uint32_t i = 0; i < v->rows; i++)
        if (span_is(v->tokens[i], json_object_get_string(name))) return i;
    return -1;
}

static tdm_status add_special(struct gguf_writer *w, const struct source *s, const struct vocabulary *v, tdm_error *err)
{
    static const struct {
        const char *key, *gguf;
    } names[] = {{"bos_token", "tokenizer.ggml.bos_token_id"},
                 {"eos_token", "tokenizer.ggml.eos_token_id"},
                 {"pad_token", "tokenizer.ggml.padding_token_id"}};
    char *path = NULL;
    struct json_object *config = NULL;
    const struct config *c = source_config(s);
    if (asprintf(&path, "%s/tokenizer_config.json", source_path(s)) < 0) return no_memory(v, err);
    tdm_status status = TDM_OK;
    if (!access(path, F_OK)) status = json_read(&config, path, err);
    bool eos = false, add = false, found = false;
    for (size_t i = 0; !status && config && i < sizeof names / sizeof *names; i++) {
        int64_t id = named_token(v, config, names[i].key);
        if (id < 0) continue;
        gguf_add_u32(w, names[i].gguf, (uint32_t)id);
        eos |= i == 1;
    }
    if (!status && !eos && c->stop_count) gguf_add_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)c->stops[0]);
    if (!status && config) status = json_get_bool(config, "add_bos_token", &add, &found, path, err);
    if (!status && found) gguf_add_bool(w, "tokenizer.ggml.add_bos_token", add);
    json_object_put(config);
    free(path);
    return status;
}

static tdm_status convert_json(struct gguf_writer *w, const struct source *s, struct vocabulary *v,
                               const struct tokenizer_parts *parts, tdm_error *err)
{
    enum split_rule rule;
    if (!split_rule_of_regex(parts->pre.bytes, parts->pre.length, &rule))
        return error_set(err, TDM_E_UNSUPPORTED, "%s: expected the splitting rule of qwen2 or qwen35, found \"%.*s\"",
                         v->file, (int)(parts->pre.length < 200 ? parts->pre.length : 200), parts->pre.bytes);
    tdm_status status = fill(v, parts->tokens, parts->types, parts->token_count, err);
    if (status) return status;
    for (uint32_t i = 0; i < v->rows; i++) /* as the public converters do */
        if (v->types[i] == TOKENIZER_USER_DEFINED && looks_special(v->tokens[i])) v->types[i] = TOKENIZER_CONTROL;
    add_lists(w, v, text_span(split_rule_name(rule)), parts->merges, parts->merge_count);
    return add_special(w, s, v, err);
}

static tdm_status convert_lists(struct gguf_writer *w, const struct source *s, struct vocabulary *v, tdm_error *err)
{
    const struct source_text *text = source_text(s);
    const struct config *c = source_config(s);
    tdm_status status = fill(v, text->tokens, text->types, text->token_count, err);
    if (status) return status;
    add_lists(w, v, text->pre, text->merges, text->merge_count);
    if (c->stop_count) gguf_add_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)c->stops[0]);
    gguf_add_bool(w, "tokenizer.ggml.add_bos_token", false);
    return TDM_OK;
}

tdm_status convert_tokenizer(struct gguf_writer *w, const struct source *s, tdm_error *err)
{
    const char *path = source_text(s)->tokenizer_json;
    struct vocabulary v = {.file = path ? path : source_path(s), .rows = source_config(s)->vocab};
    struct tokenizer_json *json = NULL;
    tdm_status status;
    if (path) {
        status = tokenizer_json_open(&json, path, err);
        if (!status) status = convert_json(w, s, &v, tokenizer_json_parts(json), err);
    } else {
        status = convert_lists(w, s, &v, err);
    }
    vocabulary_free(&v);
    tokenizer_json_close(json);
    return status;
}
