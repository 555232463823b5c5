/* GGUF files as sources. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/base/signature.h"
#include "engine/model/source_private.h"
#include "engine/os/file.h"

static bool is_set(const struct gguf *g, const char *key, bool unsaid)
{
    const struct gguf_key *k = gguf_find(g, key);
    double value = unsaid;
    return k && !k->array && gguf_key_number(k, 0, &value) ? value != 0 : unsaid;
}

/* Takes what a vocabulary of SentencePiece has besides its tokens. */
static tdm_status take_scores(struct source *s, const struct gguf *g, uint64_t tokens, tdm_error *err)
{
    uint64_t scores = 0;
    tdm_status status = gguf_get_floats(g, "tokenizer.ggml.scores", &s->text_memory.scores, &scores, NULL, err);
    if (!status && (scores != tokens || !tokens))
        status = error_set(err, TDM_E_FORMAT, "%s: key tokenizer.ggml.scores: expected %llu entries, found %llu",
                           gguf_path(g), (unsigned long long)tokens, (unsigned long long)scores);
    if (!status && is_set(g, "tokenizer.ggml.remove_extra_whitespaces", false))
        status = error_set(err, TDM_E_UNSUPPORTED,
                           "%s: key tokenizer.ggml.remove_extra_whitespaces: expected false, found true", gguf_path(g));
    s->text.scores = s->text_memory.scores;
    s->text.blank_before = is_set(g, "tokenizer.ggml.add_space_prefix", true);
    return status;
}

static struct span token_of(const struct source *s, const struct gguf *g, const char *key, uint64_t tokens)
{
    uint64_t id = tokens;
    bool found;
    bool there = !gguf_get_u64(g, key, 0, INT32_MAX, &id, &found, NULL) && id < tokens;
    return there ? s->text_memory.tokens[id] : (struct span){0};
}

/* Unless a file says otherwise, prompts begin with the first token for tokenizers of pieces, without it for those of
 * bytes. */
static void take_ends(struct source *s, const struct gguf *g, uint64_t tokens)
{
    s->text.bos_token = token_of(s, g, "tokenizer.ggml.bos_token_id", tokens);
    s->text.eos_token = token_of(s, g, "tokenizer.ggml.eos_token_id", tokens);
    if (is_set(g, "tokenizer.ggml.add_bos_token", s->text.pieces)) s->text.bos = s->text.bos_token;
}

tdm_status source_take_text(struct source *s, const struct gguf *g, tdm_error *err)
{
    struct source_text *t = &s->text;
    struct source_text_memory *m = &s->text_memory;
    struct span model = {"gpt2", 4};
    uint64_t tokens = 0, types = 0, merges = 0;
    tdm_status status = gguf_get_string(g, "tokenizer.ggml.model", &model, NULL, err);
    if (!status && !span_is(model, "gpt2") && !span_is(model, "llama") && !span_is(model, "gemma4"))
        status = error_set(err, TDM_E_UNSUPPORTED,
                           "%s: key tokenizer.ggml.model: expected gpt2 (byte-level BPE), llama or gemma4, found %.*s",
                           gguf_path(g), (int)(model.length < 40 ? model.length : 40), model.bytes);
    if (!status) status = gguf_get_strings(g, "tokenizer.ggml.tokens", &m->tokens, &tokens, NULL, err);
    if (!status) status = gguf_get_strings(g, "tokenizer.ggml.merges", &m->merges, &merges, NULL, err);
    if (!status) status = gguf_get_i32s(g, "tokenizer.ggml.token_type", &m->types, &types, NULL, err);
    if (!status) status = gguf_get_string(g, "tokenizer.ggml.pre", &t->pre, NULL, err);
    if (!status && !m->types && tokens)
        notes_add(&s->notes, "%s: key tokenizer.ggml.token_type is missing: tokens <|...|> are taken as control tokens",
                  gguf_path(g));
    if (!status && m->types && !tokens)
        status = error_set(err, TDM_E_FORMAT, "%s: key tokenizer.ggml.tokens is missing", gguf_path(g));
    if (!status && m->types && types != tokens)
        status = error_set(err, TDM_E_FORMAT, "%s: key tokenizer.ggml.token_type: expected %llu entries, found %llu",
                           gguf_path(g), (unsigned long long)tokens, (unsigned long long)types);
    if (!status && (tokens > INT32_MAX || merges > INT32_MAX))
        status = error_set(err, TDM_E_FORMAT, "%s: the tokenizer has too many tokens or merges", gguf_path(g));
    if (!status && span_is(model, "llama")) status = take_scores(s, g, tokens, err);
    if (status) return status;
    /* Gemma's pieces may have merges, in files that give that kind of tokenizer one name or another. */
    t->pieces = t->scores || span_is(model, "gemma4") || span_is(t->pre, "gemma");
    take_ends(s, g, tokens);
    t->token_count = (uint32_t)tokens;
    t->merge_count = (uint32_t)merges;
    t->tokens = m->tokens;
    t->merges = m->merges;
    t->types = m->types;
    tdm_error why;
    if (gguf_get_string(g, "tokenizer.chat_template", &t->chat_template, NULL, &why))
        notes_add(&s->notes, "left out: %s", why.text);
    generation_sampling_from_gguf(&s->sampling, g, &s->notes);
    return generation_stops_from_gguf(&s->config, g, &s->notes, err);
}

/* The tensors' names as C strings: names are short, and files' spans are not terminated. */
static tdm_status copy_names(struct source *s, char **names, const struct gguf_tensor *tensors, size_t count,
                             tdm_error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += tensors[i].name.length + 1;
    char *p = *names = malloc(bytes + 1);
    if (!p) return error_set(err, TDM_E_NOMEM, "%s: out of memory", s->path);
    for (size_t i = 0; i < count; i++) {
        memcpy(p, tensors[i].name.bytes, tensors[i].name.length);
        p += tensors[i].name.length;
        *p++ = 0;
    }
    return TDM_OK;
}

static bool is_all_ones(const struct gguf_tensor *g)
{
    float values[TYPE_MAX_BLOCK];
    uint64_t rows = g->shape[1] * g->shape[2] * g->shape[3], row_bytes = type_row_bytes(g->type, g->shape[0]);
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t c = 0; c < g->shape[0]; c += TYPE_MAX_BLOCK) {
            size_t n = g->shape[0] - c < TYPE_MAX_BLOCK ? (size_t)(g->shape[0] - c) : TYPE_MAX_BLOCK;
            type_widen(g->type, g->data + row * row_bytes + type_row_bytes(g->type, c), values, n);
            for (size_t i = 0; i < n; i++)
                if (values[i] != 1) return false;
        }
    return true;
}

static tdm_status add_tensor(struct source *s, const struct gguf_tensor *g, const char *name, tdm_error *err)
{
    struct tensor t = {.name = name, .cols = g->shape[0], .rows = g->shape[1] * g->shape[2] * g->shape[3]};
    struct role_place place;
    char said[96];
    role_find(&s->config, SCHEMA_GGUF, g->name, &place);
    if (place.kind == ROLE_ONES && !is_all_ones(g))
        return source_refuse(s, s->path, name, ": expected factors of 1, found positions that are scaled", g->bytes,
                             err);
    if (place.kind == ROLE_UNKNOWN) {
        snprintf(said, sizeof said, " has no place in a %s model of %u layers", s->config.architecture,
                 s->config.layers);
        return source_refuse(s, s->path, name, said, g->bytes, err);
    }
    if (place.kind == ROLE_DIVISORS) return TDM_OK;
    if (place.kind != ROLE_KNOWN) {
        source_skip(s, place.kind, g->bytes);
        return TDM_OK;
    }
    const struct schema_pieces *pieces = place.pieces;
    t.layer = place.layer;
    t.role = pieces ? pieces->parts[0] : place.tensor->role;
    if (schema_tensor(s->config.schema, t.role)->cols == SIZE_ONE) t.rows *= t.cols, t.cols = 1;
    if (role_is_experts(t.role) && (!pieces || pieces->rows == SIZE_NONE) && g->shape[2] != s->config.experts.count)
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: expected %u experts, found %llu", s->path, name,
                         s->config.experts.count, (unsigned long long)g->shape[2]);
    const struct origin from = {.stored = g->type, .bytes = g->data};
    if (!pieces) return source_add(s, t, &from, err);
    if (pieces->rows == SIZE_NONE) return source_add_several(s, t, pieces, &from, err);
    return source_add_part(s, t, pieces, place.part, g->type, g->data, err);
}

/* ---- The MTP head ------------------------------------------------------------------------------------------------ */

/* What of an MTP head a file has: in a block of its own, or under names that begin with mtp. and are not counted among
 * the blocks. */
static void look_for_head(struct config *c, const struct gguf *g)
{
    static const char *const names[][2] = {{"eh_proj", "fc"},
                                           {"shared_head_norm", "norm"},
                                           {"embed_tokens", "embed_tokens"},
                                           {"shared_head_head", "lm_head"}};
    bool has[4] = {false};
    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(g, &tensors);
    for (int k = 0; k < 4; k++) {
        char name[64], other[64];
        snprintf(name, sizeof name, "blk.%u.nextn.%s.weight", c->layers, names[k][0]);
        snprintf(other, sizeof other, "mtp.%s.weight", names[k][1]);
        for (size_t i = 0; i < count; i++) has[k] |= span_is(tensors[i].name, name) || span_is(tensors[i].name, other);
    }
    if (!has[0]) return;
    c->mtp.layers = 1;
    c->mtp.there = c->full_attention[c->layers] = true;
    c->mtp.norm = has[1];
    c->mtp.embed = has[2];
    c->mtp.head = has[3];
}

/* Takes the file if it has a head for this model. */
static bool take_head(struct source *s, const char *path)
{
    struct gguf *g;
    struct config c;
    if (gguf_open(&g, path, NULL)) return false;
    struct unknowns u = {.accept = s->options.accept_unknown};
    bool fits = !config_from_gguf(&c, g, &u, NULL) && c.mtp.layers == 1 && c.layers == s->config.layers &&
                c.hidden == s->config.hidden && !strcmp(c.architecture, s->config.architecture);
    unknowns_free(&u);
    if (fits) look_for_head(&s->config, g);
    if (!s->config.mtp.there) {
        gguf_close(g);
        return false;
    }
    s->files.head = g;
    s->config.mtp.layers = 1;
    s->file_bytes += gguf_file_bytes(g);
    s->stamp = fnv_step(s->stamp, gguf_stamp(g));
    return true;
}

static int is_head_file(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return !strncasecmp(e->d_name, "mtp-", 4) && n > 5 && !strcasecmp(e->d_name + n - 5, ".gguf");
}

/* Looks for a file of a head beside the model: mtp-NAME, then the others by name. Files that cannot be read, or are of
 * other models, are left alone. */
static void find_head_file(struct source *s)
{
    const char *slash = strrchr(s->path, '/'), *base = slash ? slash + 1 : s->path;
    int folder = slash ? (int)(slash - s->path) : 1;
    struct dirent **list;
    char *path = NULL;
    if (asprintf(&path, "%.*s/mtp-%s", folder, slash ? s->path : ".", base) < 0) return;
    bool found = take_head(s, path);
    char *name = strndup(path, (size_t)folder);
    free(path);
    int n = name && !found ? scandir(name, &list, is_head_file, alphasort) : -1;
    for (int i = 0; i < n; i++) {
        if (!found && (path = file_join(name, list[i]->d_name))) {
            found = take_head(s, path);
            free(path);
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    free(name);
}

/* The tensors of the head's own file; it may repeat some of the model's. */
static tdm_status add_head(struct source *s, tdm_error *err)
{
    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(s->files.head, &tensors);
    char block[32];
    int length = snprintf(block, sizeof block, "blk.%u.", s->config.layers);
    tdm_status status = copy_names(s, &s->files.head_names, tensors, count, err);
    const char *name = s->files.head_names;
    for (size_t i = 0; !status && i < count; i++) {
        if (!strncmp(name, block, (size_t)length)) status = add_tensor(s, &tensors[i], name, err);
        name += tensors[i].name.length + 1;
    }
    return status;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* The divisors of the frequencies, of which long forms have two lists: rope_factors_short, rope_factors_long. */
static tdm_status read_divisors(struct source *s, const struct gguf_tensor *t, tdm_error *err)
{
    const float STANDING = 1e29f; /* pairs that don't turn have this divisor or a larger one */
    struct config *c = &s->config;
    struct config_rope_scaling *scaling = &c->rope.scaling;
    float values[CONFIG_MAX_HEAD / 2];
    uint64_t pairs = c->rope.dims / 2, n = t->shape[0];
    bool is_long = memmem(t->name.bytes, t->name.length, "_long", 5) != NULL;
    bool is_short = memmem(t->name.bytes, t->name.length, "_short", 6) != NULL;
    if (n != pairs || n > CONFIG_MAX_HEAD / 2 || t->shape[1] * t->shape[2] * t->shape[3] != 1 ||
        !type_row_bytes(t->type, n))
        return error_set(err, TDM_E_FORMAT, "%s: tensor %.*s: expected a number for each of %llu pairs, found %llu",
                         s->path, (int)t->name.length, t->name.bytes, (unsigned long long)pairs, (unsigned long long)n);
    if (scaling->kind == CONFIG_SCALING_LINEAR || scaling->kind == CONFIG_SCALING_YARN)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: tensor %.*s: expected positions that are scaled in one way",
                         s->path, (int)t->name.length, t->name.bytes);
    type_widen(t->type, t->data, values, n);
    uint32_t turning = 0;
    while (turning < n && values[turning] < STANDING) turning++;
    for (size_t i = turning; i < n && values[i] >= STANDING; i++) values[i] = INFINITY;
    if (turning < n) scaling->kind = CONFIG_SCALING_PROPORTIONAL, scaling->turning = turning;
    for (size_t i = 0; i < 2; i++)
        if (i ? !is_short : !is_long) memcpy(scaling->divisors[i], values, n * sizeof *values);
    scaling->listed = true;
    if (is_long || is_short) scaling->kind = CONFIG_SCALING_LONG;
    return TDM_OK;
}

/* Which roles the files have of those that the schema leaves open. */
static void look_for_optional(struct config *c, const struct gguf_tensor *tensors, size_t count)
{
    uint64_t seen = 0;
    c->optional = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        struct role_place place;
        role_find(c, SCHEMA_GGUF, tensors[i].name, &place);
        if (place.tensor && place.tensor->optional) seen |= (uint64_t)1 << place.tensor->role;
    }
    c->optional = seen;
}

/* Are there layers without a window that have no projection of values? */
static void look_for_values(struct config *c, const struct gguf_tensor *tensors, size_t count)
{
    bool has = false;
    for (size_t i = 0; i < count; i++) {
        struct role_place place;
        role_find(c, SCHEMA_GGUF, tensors[i].name, &place);
        has |= place.kind == ROLE_KNOWN && place.tensor && place.tensor->role == ROLE_V && !c->window[place.layer];
    }
    c->attention.values_are_keys = !has;
}

/* Completes the configuration by what the tensors show. */
static tdm_status look_at_tensors(struct source *s, tdm_error *err)
{
    tdm_status status = TDM_OK;
    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(s->files.gguf, &tensors);
    if (!count)
        return error_set(err, TDM_E_UNSUPPORTED, "%s: expected a language model, found %s", s->path,
                         signature_of_gguf((struct span){"vocab", 5}, (struct span){"", 0}));
    s->config.tied = true;
    for (size_t i = 0; i < count; i++) {
        struct role_place place;
        if (span_is(tensors[i].name, "output.weight")) s->config.tied = false;
        if (span_is(tensors[i].name, "token_embd.weight"))
            s->config.vocab = tensors[i].shape[1] > INT32_MAX ? 0 : (uint32_t)tensors[i].shape[1];
        role_find(&s->config, SCHEMA_GGUF, tensors[i].name, &place);
        if (place.kind == ROLE_DIVISORS && !status) status = read_divisors(s, &tensors[i], err);
    }
    if (status) return status;
    look_for_optional(&s->config, tensors, count);
    if (s->config.schema->shapes) look_for_values(&s->config, tensors, count);
    if (!s->config.vocab)
        return error_set(err, TDM_E_FORMAT, "%s: tensor token_embd.weight is missing or too large", s->path);
    if (s->config.mtp.layers <= 1) look_for_head(&s->config, s->files.gguf);
    if (s->config.mtp.layers <= 1 && !s->config.mtp.there) find_head_file(s);
    return TDM_OK;
}

static tdm_status add_tensors(struct source *s, tdm_error *err)
{
    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(s->files.gguf, &tensors),
           room = count + (s->files.head ? gguf_tensors(s->files.head, &tensors) : 0);
    gguf_tensors(s->files.gguf, &tensors);
    tdm_status status = source_reserve(s, MAX_PIECES * room, err);
    if (!status) status = copy_names(s, &s->files.names, tensors, count, err);
    const char *name = s->files.names;
    for (size_t i = 0; !status && i < count; i++) {
        status = add_tensor(s, &tensors[i], name, err);
        name += tensors[i].name.length + 1;
    }
    return status || !s->files.head ? status : add_head(s, err);
}

tdm_status source_open_gguf(struct source *s, const char *path, tdm_error *err)
{
    s->format = SOURCE_GGUF;
    tdm_status status = gguf_open(&s->files.gguf, path, err);
    if (!status) status = config_from_gguf(&s->config, s->files.gguf, &s->unknowns, err);
    if (status) return status;
    s->file_bytes = gguf_file_bytes(s->files.gguf);
    s->stamp = gguf_stamp(s->files.gguf);
    status = look_at_tensors(s, err);
    if (!status) status = config_validate(&s->config, path, err);
    if (!status) status = source_take_text(s, s->files.gguf, err);
    if (!status && s->text.token_count > s->config.vocab)
        status = error_set(err, TDM_E_FORMAT,
                           "%s: key tokenizer.ggml.tokens: expected at most %u tokens (rows of the "
                           "embeddings), found %u",
                           path, s->config.vocab, s->text.token_count);
    return status ? status : add_tensors(s, err);
}
