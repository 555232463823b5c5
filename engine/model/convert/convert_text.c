/* A tokenizer.json as GGUF keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/model/convert/convert.h"
#include "engine/model/json.h"

enum { NORMAL = 1, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 };

struct lists {
    const char *file;
    uint32_t vocab;
    struct span *tokens;
    int32_t *types;
    struct span *merges;
    uint64_t merge_count;
    char *owned; /* text made here: names of unused tokens, merges given as pairs */
};

static tdm_status no_memory(const struct lists *l, tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "%s: out of memory", l->file);
}

static struct span string_of(struct json_object *v)
{
    return (struct span){json_object_get_string(v), (size_t)json_object_get_string_len(v)};
}

static tdm_status put_token(struct lists *l, struct span token, struct json_object *id, int32_t type, tdm_error *err)
{
    int64_t i = json_object_is_type(id, json_type_int) ? json_object_get_int64(id) : -1;
    if (i < 0 || i >= l->vocab)
        return error_set(err, TDM_E_FORMAT, "%s: token %.*s: expected an id below %u", l->file,
                         (int)(token.length < 60 ? token.length : 60), token.bytes, l->vocab);
    l->tokens[i] = token;
    l->types[i] = type;
    return TDM_OK;
}

static tdm_status read_vocab(struct lists *l, struct json_object *vocab, tdm_error *err)
{
    struct json_object_iterator at = json_object_iter_begin(vocab), end = json_object_iter_end(vocab);
    tdm_status status = TDM_OK;
    for (; !status && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        status = put_token(l, (struct span){name, strlen(name)}, json_object_iter_peek_value(&at), NORMAL, err);
    }
    return status;
}

static bool looks_special(struct span s)
{
    return s.length >= 4 && !memcmp(s.bytes, "<|", 2) && !memcmp(s.bytes + s.length - 2, "|>", 2);
}

static tdm_status read_added(struct lists *l, struct json_object *added, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (size_t i = 0; !status && added && i < json_object_array_length(added); i++) {
        struct json_object *entry = json_object_array_get_idx(added, i), *id = NULL, *content = NULL;
        bool special = false;
        if (!json_object_is_type(entry, json_type_object) || !json_object_object_get_ex(entry, "id", &id) ||
            !json_object_object_get_ex(entry, "content", &content) || !json_object_is_type(content, json_type_string))
            return error_set(err, TDM_E_FORMAT, "%s: field added_tokens: expected objects with id and content",
                             l->file);
        status = json_get_bool(entry, "special", &special, NULL, l->file, err);
        struct span token = string_of(content);
        if (!status) status = put_token(l, token, id, special || looks_special(token) ? CONTROL : USER_DEFINED, err);
    }
    return status;
}

/* Bytes of the merge at v, "left right" or ["left", "right"]; 0 when it is neither. */
static size_t merge_bytes(struct json_object *v)
{
    if (json_object_is_type(v, json_type_string)) return (size_t)json_object_get_string_len(v);
    if (!json_object_is_type(v, json_type_array) || json_object_array_length(v) != 2) return 0;
    struct json_object *left = json_object_array_get_idx(v, 0), *right = json_object_array_get_idx(v, 1);
    if (!json_object_is_type(left, json_type_string) || !json_object_is_type(right, json_type_string)) return 0;
    return (size_t)json_object_get_string_len(left) + 1 + (size_t)json_object_get_string_len(right);
}

static tdm_status read_merges(struct lists *l, struct json_object *merges, char **room, tdm_error *err)
{
    for (uint64_t i = 0; i < l->merge_count; i++) {
        struct json_object *v = json_object_array_get_idx(merges, (size_t)i);
        size_t n = merge_bytes(v);
        if (!n)
            return error_set(err, TDM_E_FORMAT,
                             "%s: field merges: expected pairs of tokens, found another value at index "
                             "%llu",
                             l->file, (unsigned long long)i);
        if (json_object_is_type(v, json_type_string)) {
            l->merges[i] = string_of(v);
            continue;
        }
        struct span left = string_of(json_object_array_get_idx(v, 0)),
                    right = string_of(json_object_array_get_idx(v, 1));
        l->merges[i] = (struct span){*room, n};
        memcpy(*room, left.bytes, left.length);
        (*room)[left.length] = ' ';
        memcpy(*room + left.length + 1, right.bytes, right.length);
        *room += n;
    }
    return TDM_OK;
}

static tdm_status read_lists(struct lists *l, struct json_object *json, tdm_error *err)
{
    enum { PAD_ROOM = 16 };
    struct json_object *model = NULL, *vocab = NULL, *merges = NULL, *added = NULL;
    tdm_status status = json_get_object(json, "model", &model, NULL, l->file, err);
    if (!status) status = json_get_array(json, "added_tokens", &added, NULL, l->file, err);
    if (!status && model) status = json_get_object(model, "vocab", &vocab, NULL, l->file, err);
    if (!status && model) status = json_get_array(model, "merges", &merges, NULL, l->file, err);
    if (!status && (!vocab || !merges))
        status = error_set(err, TDM_E_FORMAT, "%s: field model: expected vocab and merges", l->file);
    if (status) return status;

    l->merge_count = json_object_array_length(merges);
    size_t bytes = (size_t)l->vocab * PAD_ROOM;
    for (uint64_t i = 0; i < l->merge_count; i++) bytes += merge_bytes(json_object_array_get_idx(merges, (size_t)i));
    l->tokens = malloc(l->vocab * sizeof *l->tokens);
    l->types = malloc(l->vocab * sizeof *l->types);
    l->merges = malloc((size_t)(l->merge_count + 1) * sizeof *l->merges);
    char *room = l->owned = malloc(bytes + 1);
    if (!l->tokens || !l->types || !l->merges || !room) return no_memory(l, err);
    for (uint32_t i = 0; i < l->vocab; i++) {
        int n = snprintf(room, PAD_ROOM, "[PAD%u]", i);
        l->tokens[i] = (struct span){room, (size_t)n};
        l->types[i] = UNUSED;
        room += n;
    }
    status = read_vocab(l, vocab, err);
    if (!status) status = read_added(l, added, err);
    return status ? status : read_merges(l, merges, &room, err);
}

/* The id of a token that tokenizer_config.json names, as a string or an object with content; -1 when it names none. */
static int64_t named_token(const struct lists *l, struct json_object *config, const char *key)
{
    struct json_object *v = NULL;
    json_object_object_get_ex(config, key, &v);
    if (json_object_is_type(v, json_type_object)) json_object_object_get_ex(v, "content", &v);
    if (!json_object_is_type(v, json_type_string)) return -1;
    for (uint32_t i = 0; i < l->vocab; i++)
        if (span_is(l->tokens[i], json_object_get_string(v))) return i;
    return -1;
}

static tdm_status add_special(struct gguf_writer *w, const struct source *s, const struct lists *l, tdm_error *err)
{
    static const struct {
        const char *key, *gguf;
    } names[] = {{"bos_token", "tokenizer.ggml.bos_token_id"},
                 {"eos_token", "tokenizer.ggml.eos_token_id"},
                 {"pad_token", "tokenizer.ggml.padding_token_id"}};
    char *path = NULL;
    struct json_object *config = NULL;
    const struct config *c = source_config(s);
    if (asprintf(&path, "%s/tokenizer_config.json", source_path(s)) < 0) return no_memory(l, err);
    tdm_status status = TDM_OK;
    if (!access(path, F_OK)) status = json_read(&config, path, JSON_LIMIT, err);
    bool eos = false, add = false, found = false;
    for (size_t i = 0; !status && config && i < sizeof names / sizeof *names; i++) {
        int64_t id = named_token(l, config, names[i].key);
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

tdm_status convert_tokenizer(struct gguf_writer *w, const struct source *s, tdm_error *err)
{
    struct lists l = {.file = source_text(s)->tokenizer_json, .vocab = source_config(s)->vocab};
    struct json_object *json = NULL, *pre = NULL;
    tdm_status status = json_read(&json, l.file, JSON_TOKENIZER_LIMIT, err);
    if (!status) status = read_lists(&l, json, err);
    if (!status) {
        /* The splitting rules of the family differ in whether combining marks belong to words. */
        json_object_object_get_ex(json, "pre_tokenizer", &pre);
        const char *rule = pre ? json_object_to_json_string(pre) : "";
        const char *name = strstr(rule, "\\\\p{M}") ? "qwen35" : "qwen2";
        gguf_add_string(w, "tokenizer.ggml.model", (struct span){"gpt2", 4});
        gguf_add_string(w, "tokenizer.ggml.pre", (struct span){name, strlen(name)});
        gguf_add_strings(w, "tokenizer.ggml.tokens", l.tokens, l.vocab);
        gguf_add_i32s(w, "tokenizer.ggml.token_type", l.types, l.vocab);
        gguf_add_strings(w, "tokenizer.ggml.merges", l.merges, l.merge_count);
        status = add_special(w, s, &l, err);
    }
    json_object_put(json);
    free(l.tokens);
    free(l.types);
    free(l.merges);
    free(l.owned);
    return status;
}
