/* Hugging Face model directories as sources: config.json, generation_config.json, model.safetensors or shards with
 * their index, tokenizer.json, and the chat template from chat_template.jinja, tokenizer_config.json
 * or chat_template.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/signature.h"
#include "engine/hub/hub.h"
#include "engine/json/json.h"
#include "engine/model/locate.h"
#include "engine/model/map.h"
#include "engine/model/source_private.h"
#include "engine/os/file.h"

enum { MAX_TEMPLATE = 1 << 20 };

static tdm_status no_memory(struct source *s, tdm_error *err)
{
    return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
}

/* Reads a JSON file of the directory; an absent one is TDM_OK with *out NULL. *path is malloc'ed, for error lines. */
static tdm_status read_optional(struct source *s, const char *file, struct json_object **out, char **path,
                                tdm_error *err)
{
    *out = NULL;
    *path = file_join(s->path, file);
    if (!*path) return no_memory(s, err);
    return file_is_there(*path) ? map_json(out, *path, err) : TDM_OK;
}

/* The directory's name; for a snapshot in the hub cache (models--ORG--NAME/snapshots/REVISION) ORG/NAME. */
static void take_name(struct source *s)
{
    char repository[HUB_REPOSITORY_ROOM];
    const char *begin = s->path, *end = begin + strlen(begin);
    if (hub_repository_of(repository, s->path)) {
        begin = repository;
        end = begin + strlen(begin);
    } else {
        while (end > s->path && end[-1] == '/') end--;
        begin = end;
        while (begin > s->path && begin[-1] != '/') begin--;
    }
    size_t n = 0;
    for (; begin < end && n + 1 < sizeof s->config.name; begin++)
        s->config.name[n++] = *begin >= 0x20 && *begin < 0x7f ? *begin : '?';
    s->config.name[n] = 0;
}

/* Reads a JSON file that the model can do without; *out NULL: it is absent, or damaged and left out with a note. Fails
 * without memory alone. */
static tdm_status read_spare(struct source *s, const char *file, struct json_object **out, char **path, tdm_error *err)
{
    tdm_error why = {0};
    tdm_status status = read_optional(s, file, out, path, &why);
    if (status == TDM_E_NOMEM) return error_set(err, status, "%s", why.text);
    if (status) notes_add(&s->notes, "left out: %s", why.text);
    return TDM_OK;
}

/* generation_config.json, whose end tokens come before those of config.json. */
static tdm_status read_generation(struct source *s, tdm_error *err)
{
    struct json_object *json = NULL;
    char *path = NULL;
    tdm_status status = read_spare(s, "generation_config.json", &json, &path, err);
    if (json) {
        generation_sampling_from_json(&s->sampling, json, path, &s->notes);
        generation_stops_from_json(&s->config, &s->ends, json, path, &s->notes);
    }
    json_free(json);
    free(path);
    return status;
}

/* A quantised checkpoint says so in its configuration; MLX names no method. */
static tdm_status expect_plain(struct json_object *json, const char *path, tdm_error *err)
{
    static const char *const fields[] = {"quantization_config", "compression_config", "quantization"};
    struct json_object *v = NULL;
    for (size_t i = 0; !v && i < sizeof fields / sizeof *fields; i++)
        if (!(v = json_get(json, fields[i]))) v = json_get(json_get(json, "text_config"), fields[i]);
    if (!json_is(v, JSON_OBJECT)) return TDM_OK;
    struct json_object *named = json_get(v, "quant_method");
    const char *method = named ? json_shown(named) : json_has(v, "group_size") ? "mlx" : "";
    if (!strcmp(method, "mxfp4")) return TDM_OK; /* the tensors tell whose */
    return error_set(err, TDM_E_UNSUPPORTED, "%s: expected an unquantised language model, found %s", path,
                     signature_of_method(method));
}

static tdm_status read_config(struct source *s, tdm_error *err)
{
    struct json_object *json = NULL, *text;
    char *path = NULL;
    tdm_status status = read_optional(s, "config.json", &json, &path, err);
    if (!status && !json)
        status = error_set(err, TDM_E_NOT_FOUND, "%s: no config.json: not a Hugging Face model directory", s->path);
    if (!status) status = expect_plain(json, path, err);
    if (!status) status = config_from_json(&s->config, json, path, &s->unknowns, err);
    if (!status) status = read_generation(s, err);
    if (!status && (text = json_get(json, "text_config")))
        generation_stops_from_json(&s->config, &s->ends, text, path, &s->notes);
    if (!status) generation_stops_from_json(&s->config, &s->ends, json, path, &s->notes);
    json_free(json);
    free(path);
    return status;
}

/* ---- Chat template ----------------------------------------------------------------------------------------------- */

static tdm_status keep_template(struct source *s, const char *bytes, size_t length, tdm_error *err)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of the order of bytes, which some editors write */
    size_t skipped = length >= 3 && !memcmp(bytes, mark, 3) ? 3 : 0;
    s->text_memory.chat_template = malloc(length + 1);
    if (!s->text_memory.chat_template) return no_memory(s, err);
    memcpy(s->text_memory.chat_template, bytes + skipped, length - skipped);
    s->text.chat_template = (struct span){s->text_memory.chat_template, length - skipped};
    return TDM_OK;
}

/* chat_template: a string, or a list of {name, template} of which "default" is taken. */
static tdm_status template_from_json(struct source *s, struct json_object *json, const char *path, tdm_error *err)
{
    struct json_object *v = json_get(json, "chat_template");
    if (json_is(v, JSON_ARRAY)) {
        struct json_object *list = v;
        v = NULL;
        for (size_t i = 0; i < json_length(list); i++) {
            const char *name = json_text_of(json_get(json_at(list, i), "name"));
            if (name && !strcmp(name, "default")) v = json_get(json_at(list, i), "template");
        }
    }
    if (!v) return TDM_OK;
    struct span text = json_span_of(v);
    if (text.bytes) return keep_template(s, text.bytes, text.length, err);
    notes_add(&s->notes, "%s: chat_template is left out: expected a string, found %s", path, json_kind_name(v));
    return TDM_OK;
}

static tdm_status template_from_file(struct source *s, const char *path, tdm_error *err)
{
    struct map map;
    tdm_error why = {0};
    char found[SIGNATURE_ROOM];
    tdm_status status = map_open(&map, path, &why);
    if (status)
        notes_add(&s->notes, "left out: %s", why.text);
    else if (signature_of_bytes(found, map.data, map.size))
        notes_add(&s->notes, "left out: %s: expected a chat template, found %s", path, found);
    else if (map.size > MAX_TEMPLATE)
        notes_add(&s->notes, "left out: %s: expected a chat template of at most %d bytes, found %llu", path,
                  MAX_TEMPLATE, (unsigned long long)map.size);
    else
        status = keep_template(s, (const char *)map.data, (size_t)map.size, err);
    map_close(&map);
    return status == TDM_E_NOMEM ? status : TDM_OK;
}

static tdm_status read_template(struct source *s, tdm_error *err)
{
    char *path = file_join(s->path, "chat_template.jinja");
    if (!path) return no_memory(s, err);
    tdm_status status = file_is_there(path) ? template_from_file(s, path, err) : TDM_OK;
    free(path);
    return status;
}

/* The text of a token that has one, alone or in an object. */
static tdm_status token_of(struct source *s, struct json_object *json, const char *key, char **out, struct span *text,
                           tdm_error *err)
{
    struct json_object *token = json_get(json, key);
    const char *said = json_text_of(json_is(token, JSON_OBJECT) ? json_get(token, "content") : token);
    if (*out || !said) return TDM_OK;
    if (!(*out = strdup(said))) return no_memory(s, err);
    *text = span_text(*out);
    return TDM_OK;
}

/* The tokens that chat templates know, the first also before a prompt where the file asks for that. */
static tdm_status take_ends(struct source *s, struct json_object *json, tdm_error *err)
{
    tdm_status status = token_of(s, json, "bos_token", &s->text_memory.bos, &s->text.bos_token, err);
    if (!status) status = token_of(s, json, "eos_token", &s->text_memory.eos, &s->text.eos_token, err);
    if (json_flag(json, "add_bos_token", false)) s->text.bos = s->text.bos_token;
    return status;
}

/* The files beside tokenizer.json: the end of a turn by its text, and perhaps the template. */
static tdm_status read_tokenizer_config(struct source *s, tdm_error *err)
{
    static const char *const files[] = {"tokenizer_config.json", "special_tokens_map.json", "chat_template.json"};
    tdm_status status = TDM_OK;
    for (size_t i = 0; !status && i < sizeof files / sizeof *files; i++) {
        struct json_object *json = NULL;
        char *path = NULL;
        status = read_spare(s, files[i], &json, &path, err);
        if (json) generation_ends_from_json(&s->ends, json);
        if (json && !status && i < 2) status = take_ends(s, json, err);
        if (!status && json && !s->text_memory.chat_template) status = template_from_json(s, json, path, err);
        json_free(json);
        free(path);
    }
    return status;
}

/* ---- Weights ----------------------------------------------------------------------------------------------------- */

/* Finds out which parts of an MTP head the checkpoint has. */
static void look_for_head(struct config *c, const struct shards *shards)
{
    static const char *const before[] = {"model.", "language_model.", "model."};
    size_t n = c->mtp.layers <= 1 ? shards->n_tensors : 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = shards->tensors[i].tensor->name;
        for (size_t k = 0; k < sizeof before / sizeof *before; k++)
            if (!strncmp(name, before[k], strlen(before[k]))) name += strlen(before[k]);
        if (!strcmp(name, "mtp.fc.weight")) {
            c->mtp.layers = 1; /* which some configurations don't say */
            c->mtp.there = c->full_attention[c->layers] = true;
        }
        if (!strcmp(name, "mtp.norm.weight")) c->mtp.norm = true;
        if (!strcmp(name, "mtp.embed_tokens.weight")) c->mtp.embed = true;
        if (!strcmp(name, "mtp.lm_head.weight")) c->mtp.head = true;
    }
}

/* Experts may be two tensors, NAME_blocks and NAME_scales (MXFP4): the length of the first's end, 0: it is none. */
static size_t blocks_end(const struct source *s, const char *name)
{
    static const char *const ends[] = {"_blocks", "_scales"};
    size_t n = strlen(name);
    for (size_t i = 0; i < 2 && s->config.schema->blocks; i++)
        if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i])) return strlen(ends[i]);
    return 0;
}

static void place_of(const struct source *s, const char *name, struct role_place *out)
{
    role_find(&s->config, SCHEMA_HF, (struct span){name, strlen(name) - blocks_end(s, name)}, out);
}

/* Which form the norms have: MLX adds their 1 and turns the convolution around, [channels][kernel][1]. The
 * convolutions tell it; they must agree. */
static tdm_status look_at_form(struct source *s, tdm_error *err)
{
    const struct shards *shards = &s->files.shards;
    bool seen = false;
    for (size_t i = 0; i < shards->n_tensors; i++) {
        const struct safetensors_tensor *t = shards->tensors[i].tensor;
        struct role_place place;
        place_of(s, t->name, &place);
        if (!place.tensor || place.tensor->role != ROLE_LIN_CONV || t->dims != 3) continue;
        bool turned = t->shape[2] == 1 && t->shape[1] == s->config.delta.conv_kernel;
        if (seen && turned == s->forms[FORM_ADD_ONE])
            return error_set(err, TDM_E_FORMAT,
                             "%s: tensor %.80s: expected [channels][%s] as in other layers, found the other order",
                             safetensors_path(shards->tensors[i].file), t->name, turned ? "1][kernel" : "kernel][1");
        s->forms[FORM_ADD_ONE] = !turned;
        seen = true;
    }
    return TDM_OK;
}

/* The quants of experts, [expert][row][block][16], with the scales of their blocks, a tensor of its own. */
static tdm_status add_blocks(struct source *s, const struct safetensors *file, const struct safetensors_tensor *st,
                             const struct role_place *place, tdm_error *err)
{
    const struct shards *shards = &s->files.shards;
    const struct safetensors_tensor *scales = NULL;
    size_t n = strlen(st->name) - strlen("_blocks");
    for (size_t i = 0; i < shards->n_tensors && !scales; i++) {
        const struct safetensors_tensor *t = shards->tensors[i].tensor;
        if (!strncmp(t->name, st->name, n) && !strcmp(t->name + n, "_scales")) scales = t;
    }
    bool good = scales && st->dims == 4 && st->shape[3] == 16 && !strcmp(st->dtype, "U8") &&
                !strcmp(scales->dtype, "U8") && scales->dims == 3;
    for (int i = 0; i < 3 && good; i++) good = st->shape[i] == scales->shape[i];
    if (!good || st->shape[0] != s->config.experts.count)
        return error_set(err, TDM_E_FORMAT,
                         "%s: tensor %.80s: expected bytes [%u experts][rows][blocks][16], and a scale for each block",
                         safetensors_path(file), st->name, s->config.experts.count);
    const struct schema_pieces *pieces = place->pieces;
    const struct origin from = {.stored = TYPE_MXFP4, .bytes = st->data, .scales = scales->data};
    struct tensor t = {.name = st->name,
                       .role = pieces ? pieces->parts[0] : place->tensor->role,
                       .layer = place->layer,
                       .rows = st->shape[0] * st->shape[1],
                       .cols = 32 * st->shape[2]};
    return pieces ? source_add_several(s, t, pieces, &from, err) : source_add(s, t, &from, err);
}

static tdm_status add_tensor(struct source *s, const struct safetensors *file, const struct safetensors_tensor *st,
                             tdm_error *err)
{
    struct tensor t = {.name = st->name};
    struct role_place place;
    place_of(s, st->name, &place);
    if (place.kind == ROLE_UNKNOWN) {
        char said[96];
        snprintf(said, sizeof said, " has no place in a %s model of %u layers", s->config.schema->title,
                 s->config.layers);
        return source_refuse(s, safetensors_path(file), st->name, said, st->bytes, err);
    }
    if (place.kind != ROLE_KNOWN) {
        source_skip(s, place.kind, st->bytes);
        return TDM_OK;
    }
    if (blocks_end(s, st->name))
        return strstr(st->name, "_blocks") ? add_blocks(s, file, st, &place, err) : TDM_OK; /* scales come with them */
    if (st->type == TYPE_COUNT)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: tensor %.80s: expected dtype BF16, F16 or F32, found %s",
                         safetensors_path(file), st->name, st->dtype);
    /* conv1d is [channels][1][kernel] or [channels][kernel][1]; vectors have one dimension, experts that lie together
     * three. */
    const struct schema_pieces *pieces = place.pieces;
    bool part = pieces && pieces->rows != SIZE_NONE;
    t.layer = place.layer;
    t.role = pieces ? pieces->parts[0] : place.tensor->role;
    uint64_t rows, cols;
    role_shape(&s->config, t.role, t.layer, &rows, &cols);
    bool together = role_is_experts(t.role) && !part;
    if (together && (st->dims != 3 || st->shape[0] != s->config.experts.count))
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: expected three dimensions, the first of %u experts",
                         safetensors_path(file), st->name, s->config.experts.count);
    bool turned = pieces ? pieces->turned : place.tensor->turned;
    uint64_t before = together ? st->shape[0] * st->shape[turned ? 2 : 1] : st->shape[turned ? 1 : 0];
    t.rows = cols == 1 ? st->elements : rows == 1 && st->dims == 1 ? 1 : before;
    t.cols = t.rows ? st->elements / t.rows : 0;
    if (part) return source_add_part(s, t, pieces, place.part, st->type, st->data, err);
    const struct origin from = {.stored = st->type, .bytes = st->data};
    return pieces ? source_add_several(s, t, pieces, &from, err) : source_add(s, t, &from, err);
}

/* Which roles the checkpoint has of those that the schema leaves open. */
static void look_for_optional(struct source *s)
{
    const struct shards *shards = &s->files.shards;
    uint64_t seen = 0;
    s->config.optional = UINT64_MAX;
    for (size_t i = 0; i < shards->n_tensors; i++) {
        struct role_place place;
        place_of(s, shards->tensors[i].tensor->name, &place);
        if (place.tensor && place.tensor->optional) seen |= (uint64_t)1 << place.tensor->role;
    }
    s->config.optional = seen;
}

/* The tensor that a model has once, with this role. */
static const struct shard_tensor *find_once(const struct source *s, enum role wanted)
{
    const struct shards *shards = &s->files.shards;
    for (size_t i = 0; i < shards->n_tensors; i++) {
        struct role_place place;
        place_of(s, shards->tensors[i].tensor->name, &place);
        if (place.tensor && place.tensor->role == wanted) return &shards->tensors[i];
    }
    return NULL;
}

static bool same_values(const struct shard_tensor *a, const struct shard_tensor *b)
{
    enum { PIECE = 4 << 20 };
    const uint8_t *x = a->tensor->data, *y = b->tensor->data;
    uint64_t bytes = a->tensor->bytes;
    if (a->tensor->type != b->tensor->type || bytes != b->tensor->bytes) return false;
    bool same = true;
    for (uint64_t at = 0, n; same && at < bytes; at += n) {
        n = bytes - at < PIECE ? bytes - at : PIECE;
        same = !memcmp(x + at, y + at, n);
        safetensors_release(a->file, x + at, n);
        safetensors_release(b->file, y + at, n);
    }
    return same;
}

/* A configuration may say that the LM head is the embeddings where the checkpoint has another one, as merged adapters
 * leave it: then the values count, not the flag. */
static void look_at_lm_head(struct source *s)
{
    if (!s->config.tied) return;
    s->config.tied = false; /* as long as the head is looked for */
    const struct shard_tensor *head = find_once(s, ROLE_LM_HEAD), *embed = find_once(s, ROLE_EMBED);
    s->config.tied = !head || !embed || same_values(head, embed);
}

/* Tensors that the index names and their file lacks: if the model needs one, the file is damaged; the others aren't
 * missed. */
static tdm_status check_missed(struct source *s, tdm_error *err)
{
    const struct shards *shards = &s->files.shards;
    for (size_t i = 0; i < shards->n_missed; i++) {
        const struct shard_missed *m = &shards->missed[i];
        struct role_place place;
        place_of(s, m->name, &place);
        if (place.kind == ROLE_KNOWN)
            return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: expected in %.80s, which doesn't have it",
                             shards->index_path, m->name, m->file);
    }
    if (shards->n_missed)
        notes_add(&s->notes, "%s: tensors that it names and nothing needs aren't there: %zu, such as %.80s",
                  shards->index_path, shards->n_missed, shards->missed[0].name);
    return TDM_OK;
}

/* Recognises another kind of checkpoint by its tensors, to say what it is and not just that a tensor is unknown. */
static tdm_status check_kind(const struct source *s, tdm_error *err)
{
    const struct shards *shards = &s->files.shards;
    for (size_t i = 0; i < shards->n_tensors; i++) {
        const struct safetensors_tensor *t = shards->tensors[i].tensor;
        struct role_place place;
        place_of(s, t->name, &place);
        bool fits =
            place.kind == ROLE_KNOWN ? t->type != TYPE_COUNT || blocks_end(s, t->name) : place.kind != ROLE_UNKNOWN;
        const char *what = fits ? NULL : signature_of_tensor(t->name, t->dtype);
        if (what)
            return error_set(err, TDM_E_UNSUPPORTED,
                             "%s: expected an unquantised language model, found %s (tensor %.80s)",
                             safetensors_path(shards->tensors[i].file), what, t->name);
    }
    return TDM_OK;
}

/* GGUF files of the same folder. */
struct beside {
    const char *folder;
    size_t n;
    char first[200]; /* by name */
};

static bool look_beside(void *ctx, const char *path, const char *tag, const char *missing)
{
    struct beside *b = ctx;
    const char *name = path + strlen(b->folder) + 1;
    (void)missing;
    if (!tag[0] || strchr(name, '/')) return true;
    if (!b->n++ || strcmp(name, b->first) < 0) snprintf(b->first, sizeof b->first, "%s", name);
    return true;
}

/* Both forms of a model in one folder: a note says which one is taken. */
static tdm_status note_beside(struct source *s, tdm_error *err)
{
    struct beside b = {.folder = s->path};
    if (!locate_each(s->path, look_beside, &b)) return no_memory(s, err);
    if (b.n)
        notes_add(&s->notes, "left out: %s/%s%s: the safetensors beside it are taken; name the file to open it",
                  s->path, b.first, b.n > 1 ? " and others" : "");
    return TDM_OK;
}

tdm_status source_open_hf(struct source *s, const char *path, tdm_error *err)
{
    struct shards *shards = &s->files.shards;
    s->format = SOURCE_HF;
    s->forms[FORM_ADD_ONE] = s->forms[FORM_RATE] = true;
    tdm_status status = read_config(s, err);
    if (!status) status = config_validate(&s->config, path, err);
    if (!status) status = read_template(s, err);
    if (!status) status = read_tokenizer_config(s, err);
    if (!status) status = shards_open(shards, path, &s->notes, err);
    if (status) return status;
    status = note_beside(s, err);
    if (status) return status;
    s->file_bytes = shards_bytes(shards);
    s->stamp = shards_stamp(shards);
    take_name(s);

    s->text_memory.tokenizer_json = file_join(path, "tokenizer.json");
    if (!s->text_memory.tokenizer_json) return no_memory(s, err);
    s->text.tokenizer_json = s->text_memory.tokenizer_json;

    look_for_head(&s->config, shards);
    look_for_optional(s);
    look_at_lm_head(s);
    status = check_kind(s, err);
    if (!status) status = check_missed(s, err);
    if (!status) status = look_at_form(s, err);
    if (!status) status = source_reserve(s, MAX_PIECES * shards->n_tensors, err);
    for (size_t i = 0; !status && i < shards->n_tensors; i++)
        status = add_tensor(s, shards->tensors[i].file, shards->tensors[i].tensor, err);
    return status;
}
