/* GGUF files as sources. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/model/source_private.h"

static tdm_status take_sampling(struct source *s, const struct gguf *g, tdm_error *err)
{
    struct source_sampling *d = &s->sampling;
    uint64_t top_k = 0;
    bool found = false;
    tdm_status status = gguf_get_float(g, "general.sampling.temp", &d->temperature, NULL, err);
    if (!status) status = gguf_get_float(g, "general.sampling.top_p", &d->top_p, NULL, err);
    if (!status) status = gguf_get_float(g, "general.sampling.min_p", &d->min_p, NULL, err);
    if (!status) status = gguf_get_float(g, "general.sampling.penalty_repeat", &d->repeat_penalty, NULL, err);
    if (!status) status = gguf_get_u64(g, "general.sampling.top_k", 0, INT32_MAX, &top_k, &found, err);
    if (!status && found) d->top_k = (int32_t)top_k;
    return status ? status : source_check_sampling(s, gguf_path(g), err);
}

tdm_status source_take_text(struct source *s, const struct gguf *g, tdm_error *err)
{
    struct source_text *t = &s->text;
    struct span model = {"gpt2", 4};
    uint64_t tokens = 0, types = 0, merges = 0;
    tdm_status status = gguf_get_string(g, "tokenizer.ggml.model", &model, NULL, err);
    if (!status && !span_is(model, "gpt2"))
        status = error_set(err, TDM_E_UNSUPPORTED,
                           "%s: key tokenizer.ggml.model: expected gpt2 (byte-level BPE), found %.*s", gguf_path(g),
                           (int)(model.length < 40 ? model.length : 40), model.bytes);
    if (!status) status = gguf_get_strings(g, "tokenizer.ggml.tokens", &s->tokens, &tokens, NULL, err);
    if (!status) status = gguf_get_strings(g, "tokenizer.ggml.merges", &s->merges, &merges, NULL, err);
    if (!status) status = gguf_get_i32s(g, "tokenizer.ggml.token_type", &s->types, &types, NULL, err);
    if (!status) status = gguf_get_string(g, "tokenizer.ggml.pre", &t->pre, NULL, err);
    if (!status) status = gguf_get_string(g, "tokenizer.chat_template", &t->chat_template, NULL, err);
    if (!status && s->types && types != tokens)
        status = error_set(err, TDM_E_FORMAT, "%s: key tokenizer.ggml.token_type: expected %llu entries, found %llu",
                           gguf_path(g), (unsigned long long)tokens, (unsigned long long)types);
    if (!status && (tokens > INT32_MAX || merges > INT32_MAX))
        status = error_set(err, TDM_E_FORMAT, "%s: the tokenizer has too many tokens or merges", gguf_path(g));
    if (status) return status;
    t->token_count = (uint32_t)tokens;
    t->merge_count = (uint32_t)merges;
    t->tokens = s->tokens;
    t->merges = s->merges;
    t->types = s->types;
    return take_sampling(s, g, err);
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

static tdm_status add_tensor(struct source *s, const struct gguf_tensor *g, const char *name, tdm_error *err)
{
    struct tensor t = {.name = name, .cols = g->shape[0], .rows = g->shape[1] * g->shape[2] * g->shape[3]};
    switch (role_of_gguf(&s->config, g->name, &t.role, &t.layer)) {
    case ROLE_KNOWN:
        if ((role_is_experts(t.role) || t.role == ROLE_EXPERTS_GATE_UP) && g->shape[2] != s->config.experts)
            return error_set(err, TDM_E_FORMAT, "%s: tensor %.80s: expected %u experts, found %llu", s->path, name,
                             s->config.experts, (unsigned long long)g->shape[2]);
        if (t.role == ROLE_EXPERTS_GATE_UP) return source_add_fused(s, t, g->type, g->data, (struct recipe){0}, err);
        return source_add(s, t, g->type, g->data, (struct recipe){0}, err);
    case ROLE_MTP:
        source_skip(s, ROLE_MTP, g->bytes);
        return TDM_OK;
    case ROLE_VISION:
        source_skip(s, ROLE_VISION, g->bytes);
        return TDM_OK;
    case ROLE_HARMLESS:
        source_skip(s, ROLE_HARMLESS, g->bytes);
        return TDM_OK;
    case ROLE_UNKNOWN:
        break;
    }
    return error_set(err, TDM_E_UNSUPPORTED, "%s: tensor %.80s has no place in a %s model of %u layers", s->path,
                     name, s->config.architecture, s->config.layers);
}

/* ---- The MTP head ------------------------------------------------------------------------------------------------ */

/* What of an MTP head a file has. */
static void look_for_head(struct config *c, const struct gguf *g)
{
    static const char *const names[] = {"eh_proj", "shared_head_norm", "embed_tokens", "shared_head_head"};
    bool has[4] = {false};
    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(g, &tensors);
    for (int k = 0; k < 4; k++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%u.nextn.%s.weight", c->layers, names[k]);
        for (size_t i = 0; i < count; i++) has[k] |= span_is(tensors[i].name, name);
    }
    if (!has[0]) return;
    c->mtp = c->full_attention[c->layers] = true;
    c->mtp_norm = has[1];
    c->mtp_embed = has[2];
    c->mtp_head = has[3];
}

/* Takes the file if it has a head for this model. */
static bool take_head(struct source *s, const char *path)
{
    struct gguf *g;
    struct config c;
    if (gguf_open(&g, path, NULL)) return false;
    bool fits = !config_from_gguf(&c, g, NULL) && c.mtp_layers == 1 && c.layers == s->config.layers &&
                c.hidden == s->config.hidden && !strcmp(c.architecture, s->config.architecture);
    if (fits) look_for_head(&s->config, g);
    if (!s->config.mtp) {
        gguf_close(g);
        return false;
    }
    s->head = g;
    s->config.mtp_layers = 1;
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
        if (!found && asprintf(&path, "%s/%s", name, list[i]->d_name) >= 0) {
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
    size_t count = gguf_tensors(s->head, &tensors);
    char block[32];
    int length = snprintf(block, sizeof block, "blk.%u.", s->config.layers);
    tdm_status status = copy_names(s, &s->head_names, tensors, count, err);
    const char *name = s->head_names;
    for (size_t i = 0; !status && i < count; i++) {
        if (!strncmp(name, block, (size_t)length)) status = add_tensor(s, &tensors[i], name, err);
        name += tensors[i].name.length + 1;
    }
    return status;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* What the tensors say of the configuration. */
static tdm_status look_at_tensors(struct source *s, tdm_error *err)
{
    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(s->gguf, &tensors);
    s->config.tied = true;
    for (size_t i = 0; i < count; i++) {
        if (span_is(tensors[i].name, "output.weight")) s->config.tied = false;
        if (span_is(tensors[i].name, "token_embd.weight"))
            s->config.vocab = tensors[i].shape[1] > INT32_MAX ? 0 : (uint32_t)tensors[i].shape[1];
    }
    if (!s->config.vocab)
        return error_set(err, TDM_E_FORMAT, "%s: tensor token_embd.weight is missing or too large", s->path);
    if (s->config.mtp_layers == 1) look_for_head(&s->config, s->gguf);
    if (s->config.mtp_layers <= 1 && !s->config.mtp) find_head_file(s);
    return TDM_OK;
}

static tdm_status add_tensors(struct source *s, tdm_error *err)
{
    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(s->gguf, &tensors), room = count + (s->head ? gguf_tensors(s->head, &tensors) : 0);
    gguf_tensors(s->gguf, &tensors);
    tdm_status status = source_reserve(s, 2 * room, err);
    if (!status) status = copy_names(s, &s->names, tensors, count, err);
    const char *name = s->names;
    for (size_t i = 0; !status && i < count; i++) {
        status = add_tensor(s, &tensors[i], name, err);
        name += tensors[i].name.length + 1;
    }
    return status || !s->head ? status : add_head(s, err);
}

tdm_status source_open_gguf(struct source *s, const char *path, tdm_error *err)
{
    s->format = SOURCE_GGUF;
    s->canonical = true;
    tdm_status status = gguf_open(&s->gguf, path, err);
    if (!status) status = config_from_gguf(&s->config, s->gguf, err);
    if (status) return status;
    s->file_bytes = gguf_file_bytes(s->gguf);
    s->stamp = gguf_stamp(s->gguf);
    status = look_at_tensors(s, err);
    if (!status) status = config_validate(&s->config, path, err);
    if (!status) status = source_take_text(s, s->gguf, err);
    if (!status && s->text.token_count > s->config.vocab)
        status = error_set(err, TDM_E_FORMAT,
                           "%s: key tokenizer.ggml.tokens: expected at most %u tokens (rows of the "
                           "embeddings), found %u",
                           path, s->config.vocab, s->text.token_count);
    return status ? status : add_tensors(s, err);
}
