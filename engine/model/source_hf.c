/* Hugging Face model directories as sources: config.json, generation_config.json, model.safetensors or shards with
 * their index, tokenizer.json, and the chat template from chat_template.jinja or tokenizer_config.json. */
#include <json-c/json_object_iterator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/model/json.h"
#include "engine/model/map.h"
#include "engine/model/safetensors.h"
#include "engine/model/source_private.h"

enum { MAX_SHARDS = 1000, MAX_TEMPLATE = 1 << 20 };

/* directory/file, malloc'ed. */
static char *join(const char *directory, const char *file)
{
    char *out = NULL;
    return asprintf(&out, "%s/%s", directory, file) < 0 ? NULL : out;
}

static tdm_status no_memory(struct source *s, tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
}

/* Reads a JSON file of the directory; an absent one is TDM_OK with *out NULL. *path is malloc'ed, for error lines. */
static tdm_status read_optional(struct source *s, const char *file, struct json_object **out, char **path,
                                tdm_error *err)
{
    *out = NULL;
    *path = join(s->path, file);
    if (!*path) return no_memory(s, err);
    return access(*path, F_OK) ? TDM_OK : json_read(out, *path, err);
}

/* The directory's name; for a snapshot in the hub cache (models--ORG--NAME/snapshots/REVISION) ORG/NAME. */
static void set_name(struct source *s)
{
    const char *cached = strstr(s->path, "models--"), *begin, *end;
    if (cached) {
        begin = cached + strlen("models--");
        end = strchrnul(begin, '/');
    } else {
        end = s->path + strlen(s->path);
        while (end > s->path && end[-1] == '/') end--;
        begin = end;
        while (begin > s->path && begin[-1] != '/') begin--;
    }
    size_t n = 0;
    for (; begin < end && n + 1 < sizeof s->config.name; begin++) {
        bool separator = cached && begin[0] == '-' && begin + 1 < end && begin[1] == '-';
        unsigned char c = (unsigned char)*begin;
        s->config.name[n++] = separator ? '/' : c >= 0x20 && c < 0x7f ? (char)c : '?';
        begin += separator;
    }
    s->config.name[n] = 0;
}

static tdm_status read_config(struct source *s, tdm_error *err)
{
    struct json_object *json = NULL;
    char *path = NULL;
    tdm_status status = read_optional(s, "config.json", &json, &path, err);
    if (!status && !json)
        status = error_set(err, TDM_E_NOT_FOUND, "%s: no config.json: not a Hugging Face model directory", s->path);
    if (!status) status = config_from_json(&s->config, json, path, err);
    json_object_put(json);
    free(path);
    return status;
}

static tdm_status read_generation(struct source *s, tdm_error *err)
{
    struct json_object *json = NULL;
    char *path = NULL;
    tdm_status status = read_optional(s, "generation_config.json", &json, &path, err);
    if (!status && json) {
        struct source_sampling *d = &s->sampling;
        const struct {
            const char *key;
            float *out;
        } fields[] = {
            {"temperature", &d->temperature},
            {"top_p", &d->top_p},
            {"min_p", &d->min_p},
            {"repetition_penalty", &d->repeat_penalty},
            {"presence_penalty", &d->presence_penalty},
            {"frequency_penalty", &d->frequency_penalty},
        };
        for (size_t i = 0; !status && i < sizeof fields / sizeof *fields; i++) {
            double v = NAN;
            status = json_get_double(json, fields[i].key, &v, NULL, path, err);
            *fields[i].out = (float)v;
        }
        bool sample = true, found = false;
        uint64_t top_k = 0;
        if (!status) status = json_get_u64(json, "top_k", 0, INT32_MAX, &top_k, &found, path, err);
        if (found) d->top_k = (int32_t)top_k;
        if (!status) status = json_get_bool(json, "do_sample", &sample, NULL, path, err);
        if (!sample) d->temperature = 0; /* that is what this switch means: greedy */
        if (!status) status = source_check_sampling(s, path, err);
        if (!status) status = config_stops_from_json(&s->config, json, path, err);
    }
    json_object_put(json);
    free(path);
    return status;
}

/* ---- Chat template ----------------------------------------------------------------------------------------------- */

static tdm_status keep_template(struct source *s, const void *bytes, size_t length, tdm_error *err)
{
    s->chat_template = malloc(length + 1);
    if (!s->chat_template) return no_memory(s, err);
    memcpy(s->chat_template, bytes, length);
    s->text.chat_template = (struct span){s->chat_template, length};
    return TDM_OK;
}

/* chat_template: a string, or a list of {name, template} of which "default" is taken. */
static tdm_status template_from_json(struct source *s, struct json_object *json, const char *path, tdm_error *err)
{
    struct json_object *v = NULL;
    json_object_object_get_ex(json, "chat_template", &v);
    if (json_object_is_type(v, json_type_array)) {
        struct json_object *list = v, *name, *entry;
        v = NULL;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
            entry = json_object_array_get_idx(list, i);
            if (!json_object_is_type(entry, json_type_object) || !json_object_object_get_ex(entry, "name", &name))
                continue;
            if (json_object_is_type(name, json_type_string) && !strcmp(json_object_get_string(name), "default"))
                json_object_object_get_ex(entry, "template", &v);
        }
    }
    if (!v) return TDM_OK;
    if (!json_object_is_type(v, json_type_string))
        return error_set(err, TDM_E_FORMAT, "%s: field chat_template: expected a string", path);
    return keep_template(s, json_object_get_string(v), (size_t)json_object_get_string_len(v), err);
}

static tdm_status read_template(struct source *s, tdm_error *err)
{
    char *path = join(s->path, "chat_template.jinja");
    if (!path) return no_memory(s, err);
    struct map map;
    tdm_status status = TDM_OK;
    bool found = !access(path, F_OK);
    if (found) {
        status = map_open(&map, path, err);
        if (!status && map.size > MAX_TEMPLATE)
            status = error_set(err, TDM_E_FORMAT, "%s: expected at most %d bytes, found %llu", path, MAX_TEMPLATE,
                               (unsigned long long)map.size);
        if (!status) status = keep_template(s, map.data ? (const void *)map.data : "", (size_t)map.size, err);
        map_close(&map);
    }
    free(path);
    if (found) return status;

    struct json_object *json = NULL;
    status = read_optional(s, "tokenizer_config.json", &json, &path, err);
    if (!status && json) status = template_from_json(s, json, path, err);
    json_object_put(json);
    free(path);
    return status;
}

/* ---- Weights ----------------------------------------------------------------------------------------------------- */

static tdm_status open_shard(struct source *s, const char *file, tdm_error *err)
{
    struct safetensors **shards = realloc(s->shards, (s->shard_count + 1) * sizeof *shards);
    if (shards) s->shards = shards;
    char *path = join(s->path, file);
    tdm_status status = shards && path ? safetensors_open(&s->shards[s->shard_count], path, err) : no_memory(s, err);
    if (!status) {
        const struct safetensors *shard = s->shards[s->shard_count++];
        s->file_bytes += safetensors_file_bytes(shard);
        s->stamp = fnv_step(s->stamp, safetensors_stamp(shard));
    }
    free(path);
    return status;
}

static bool shard_is_open(const struct source *s, const char *file)
{
    for (size_t i = 0; i < s->shard_count; i++)
        if (!strcmp(strrchr(safetensors_path(s->shards[i]), '/') + 1, file)) return true;
    return false;
}

/* Opens every file that the index names. */
static tdm_status open_indexed(struct source *s, struct json_object *index, const char *path, tdm_error *err)
{
    struct json_object *map = NULL;
    const char *last = "";
    bool found;
    tdm_status status = json_get_object(index, "weight_map", &map, &found, path, err);
    if (!status && !found) return error_set(err, TDM_E_FORMAT, "%s: field weight_map is missing", path);
    if (status) return status;
    struct json_object_iterator at = json_object_iter_begin(map), end = json_object_iter_end(map);
    for (; !status && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *v = json_object_iter_peek_value(&at);
        const char *file = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
        /* A plain file name: nothing outside the directory. */
        if (!*file || strchr(file, '/') || file[0] == '.')
            return error_set(err, TDM_E_FORMAT,
                             "%s: field weight_map: expected the name of a file in the directory, found "
                             "\"%.60s\"",
                             path, file);
        if (!strcmp(file, last)) continue; /* they come in runs */
        last = file;
        if (shard_is_open(s, file)) continue;
        if (s->shard_count == MAX_SHARDS)
            return error_set(err, TDM_E_FORMAT, "%s: field weight_map: more than %d files", path, MAX_SHARDS);
        status = open_shard(s, file, err);
    }
    return status;
}

static tdm_status open_weights(struct source *s, tdm_error *err)
{
    struct json_object *index = NULL;
    char *path = NULL;
    tdm_status status = read_optional(s, "model.safetensors.index.json", &index, &path, err);
    if (!status) status = index ? open_indexed(s, index, path, err) : open_shard(s, "model.safetensors", err);
    json_object_put(index);
    free(path);
    return status;
}

/* What of an MTP head is there. */
static void look_for_head(struct config *c, const struct safetensors *file)
{
    const struct safetensors_tensor *list;
    size_t n = c->mtp_layers == 1 ? safetensors_tensors(file, &list) : 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = !strncmp(list[i].name, "model.", 6) ? list[i].name + 6 : list[i].name;
        if (!strcmp(name, "mtp.fc.weight")) c->mtp = c->full_attention[c->layers] = true;
        if (!strcmp(name, "mtp.norm.weight")) c->mtp_norm = true;
        if (!strcmp(name, "mtp.embed_tokens.weight")) c->mtp_embed = true;
        if (!strcmp(name, "mtp.lm_head.weight")) c->mtp_head = true;
    }
}

static tdm_status add_tensor(struct source *s, const struct safetensors *file, const struct safetensors_tensor *st,
                             tdm_error *err)
{
    struct tensor t = {.name = st->name};
    struct span name = {st->name, strlen(st->name)};
    uint32_t expert;
    enum role_kind kind = role_of_hf(&s->config, name, &t.role, &t.layer, &expert);
    if (kind == ROLE_UNKNOWN)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: tensor %.80s has no place in a Qwen3.5 model of %u layers",
                         safetensors_path(file), st->name, s->config.layers);
    if (kind != ROLE_KNOWN) {
        source_skip(s, kind, st->bytes);
        return TDM_OK;
    }
    if (st->type == TYPE_COUNT)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: tensor %.80s: expected dtype BF16, F16 or F32, found %s",
                         safetensors_path(file), st->name, st->dtype);
    /* conv1d is [channels][1][kernel], vectors have one dimension, experts that lie together three. */
    uint64_t rows, cols;
    role_shape(&s->config, t.role, &rows, &cols);
    bool together = (role_is_experts(t.role) || t.role == ROLE_EXPERTS_GATE_UP) && expert == ROLE_ALL_EXPERTS;
    if (together && (st->dims != 3 || st->shape[0] != s->config.experts))
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: expected three dimensions, the first of %u experts",
                         safetensors_path(file), st->name, s->config.experts);
    t.rows = together ? st->shape[0] * st->shape[1] : rows == 1 && st->dims == 1 ? 1 : st->shape[0];
    t.cols = t.rows ? st->elements / t.rows : 0;
    if (expert != ROLE_ALL_EXPERTS) return source_add_expert(s, t, expert, st->type, st->data, err);
    if (t.role == ROLE_EXPERTS_GATE_UP) return source_add_fused(s, t, st->type, st->data, (struct recipe){0}, err);
    return source_add(s, t, st->type, st->data, (struct recipe){0}, err);
}

tdm_status source_open_hf(struct source *s, const char *path, tdm_error *err)
{
    s->format = SOURCE_HF;
    tdm_status status = read_config(s, err);
    if (!status) status = read_generation(s, err);
    if (!status) status = config_validate(&s->config, path, err);
    if (!status) status = read_template(s, err);
    if (!status) status = open_weights(s, err);
    if (status) return status;
    set_name(s);

    s->tokenizer_json = join(path, "tokenizer.json");
    if (!s->tokenizer_json) return no_memory(s, err);
    s->text.tokenizer_json = s->tokenizer_json;

    const struct safetensors_tensor *list;
    size_t room = 0;
    for (size_t i = 0; i < s->shard_count; i++) room += safetensors_tensors(s->shards[i], &list);
    for (size_t i = 0; i < s->shard_count; i++) look_for_head(&s->config, s->shards[i]);
    status = source_reserve(s, 2 * room, err);
    for (size_t i = 0; !status && i < s->shard_count; i++) {
        size_t n = safetensors_tensors(s->shards[i], &list);
        for (size_t k = 0; !status && k < n; k++) status = add_tensor(s, s->shards[i], &list[k], err);
    }
    return status;
}
