/* The tokenizer of a source as GGUF keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/json/json.h"
#include "engine/model/convert/convert.h"
#include "engine/model/map.h"
#include "engine/model/schema/schema.h"
#include "engine/text/split/split.h"
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

static bool looks_special(struct span s)
{
    return s.length >= 4 && !memcmp(s.bytes, "<|", 2) && !memcmp(s.bytes + s.length - 2, "|>", 2);
}

/* types: by id, or NULL: all are normal but what is written as control tokens are. */
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
            v->types[i] = types ? types[i] : looks_special(tokens[i]) ? TOKENIZER_CONTROL : TOKENIZER_NORMAL;
            continue;
        }
        snprintf(v->pads[i], PAD_ROOM, "[PAD%u]", i);
        v->tokens[i] = span_text(v->pads[i]);
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

static void add_tokens(struct gguf_writer *w, const struct vocabulary *v, const char *model, struct span pre)
{
    gguf_add_string(w, "tokenizer.ggml.model", span_text(model));
    gguf_add_string(w, "tokenizer.ggml.pre", pre);
    gguf_add_strings(w, "tokenizer.ggml.tokens", v->tokens, v->rows);
    gguf_add_i32s(w, "tokenizer.ggml.token_type", v->types, v->rows);
}

static void add_lists(struct gguf_writer *w, const struct vocabulary *v, struct span pre, const struct span *merges,
                      size_t merge_count)
{
    add_tokens(w, v, "gpt2", pre);
    gguf_add_strings(w, "tokenizer.ggml.merges", merges, merge_count);
}

static int64_t find_token(const struct vocabulary *v, struct span text)
{
    for (uint32_t i = 0; i < v->rows && text.length; i++)
        if (v->tokens[i].length == text.length && !memcmp(v->tokens[i].bytes, text.bytes, text.length)) return i;
    return -1;
}

/* The id of a token that tokenizer_config.json names, as a string or an object with content; -1 when it names none. */
static int64_t named_token(const struct vocabulary *v, struct json_object *config, const char *key)
{
    struct json_object *name = json_get(config, key);
    const char *text = json_text_of(json_is(name, JSON_OBJECT) ? json_get(name, "content") : name);
    return text ? find_token(v, span_text(text)) : -1;
}

static tdm_status add_special(struct gguf_writer *w, const struct source *s, const struct vocabulary *v,
                              const struct tokenizer_parts *parts, tdm_error *err)
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
    /* Damaged, it is left out, which the source has noted. */
    bool unread = !access(path, F_OK) && map_json(&config, path, NULL) == TDM_E_NOMEM;
    free(path);
    if (unread) return no_memory(v, err);
    bool eos = false;
    /* The token before prompts, from whichever file names it; in a GGUF file of pieces that does not say, there is
     * one. */
    struct span before = source_text(s)->bos.length ? source_text(s)->bos : parts->bos;
    int64_t bos = find_token(v, before);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t id = i == 0 && bos >= 0 ? bos : named_token(v, config, names[i].key);
        if (id < 0) continue;
        gguf_add_u32(w, names[i].gguf, (uint32_t)id);
        eos |= i == 1;
    }
    if (!eos && c->stops.count) gguf_add_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)c->stops.ids[0]);
    if (bos >= 0 || parts->pieces || json_is(json_get(config, "add_bos_token"), JSON_BOOL))
        gguf_add_bool(w, "tokenizer.ggml.add_bos_token", bos >= 0);
    json_free(config);
    return TDM_OK;
}

static bool is_byte(struct span piece)
{
    return piece.length == 6 && !memcmp(piece.bytes, "<0x", 3) && piece.bytes[5] == '>';
}

/* Of SentencePiece. */
static tdm_status convert_pieces(struct gguf_writer *w, const struct source *s, struct vocabulary *v,
                                 const struct tokenizer_parts *parts, tdm_error *err)
{
    if (parts->before != TOKENIZER_NOTHING && parts->before != TOKENIZER_BLANK)
        return error_set(err, TDM_E_UNSUPPORTED,
                         "%s: no GGUF key is known for a blank that is written only where one is missing", v->file);
    if (parts->words)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: no GGUF key is known for pieces that end with a word", v->file);
    const char *kind = source_config(s)->schema->merged;
    float *scores = calloc(v->rows, sizeof *scores);
    if (!scores) return no_memory(v, err);
    tdm_status status = fill(v, parts->tokens, parts->types, parts->token_count, err);
    for (uint32_t i = 0; i < v->rows && !status; i++)
        if (v->types[i] == TOKENIZER_NORMAL && is_byte(v->tokens[i])) v->types[i] = TOKENIZER_BYTE;
    if (!status && !kind) status = convert_scores(parts, scores, err);
    if (!status) {
        add_tokens(w, v, kind ? kind : "llama", span_text(kind ? kind : "default"));
        if (kind)
            gguf_add_strings(w, "tokenizer.ggml.merges", parts->merges, parts->merge_count);
        else
            gguf_add_f32s(w, "tokenizer.ggml.scores", scores, v->rows);
        gguf_add_bool(w, "tokenizer.ggml.add_space_prefix", parts->before == TOKENIZER_BLANK);
        status = add_special(w, s, v, parts, err);
    }
    free(scores);
    return status;
}

static tdm_status convert_json(struct gguf_writer *w, const struct source *s, struct vocabulary *v,
                               const struct tokenizer_parts *parts, tdm_error *err)
{
    struct split split;
    if (parts->pieces) return convert_pieces(w, s, v, parts, err);
    tdm_status status = split_init_expressions(&split, v->file, parts->expressions, parts->expression_count, err);
    if (status) return status;
    struct span pre = split_name(&split, parts->ignore_merges);
    split_free(&split);
    if (!pre.length)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: no GGUF name is known for the way in which it splits text",
                         v->file);
    status = fill(v, parts->tokens, parts->types, parts->token_count, err);
    if (status) return status;
    for (uint32_t i = 0; i < v->rows; i++) /* as the public converters do */
        if (v->types[i] == TOKENIZER_USER_DEFINED && looks_special(v->tokens[i])) v->types[i] = TOKENIZER_CONTROL;
    add_lists(w, v, pre, parts->merges, parts->merge_count);
    return add_special(w, s, v, parts, err);
}

static tdm_status convert_lists(struct gguf_writer *w, const struct source *s, struct vocabulary *v, tdm_error *err)
{
    const struct source_text *text = source_text(s);
    const struct config *c = source_config(s);
    tdm_status status = fill(v, text->tokens, text->types, text->token_count, err);
    if (status) return status;
    add_lists(w, v, text->pre, text->merges, text->merge_count);
    if (c->stops.count) gguf_add_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)c->stops.ids[0]);
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
