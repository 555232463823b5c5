/* GGUF files as sources. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
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

/* The tensor's name as a C string: names are short, and files' spans are not terminated. */
static tdm_status copy_names(struct source *s, const struct gguf_tensor *tensors, size_t count, tdm_error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += tensors[i].name.length + 1;
    char *p = s->names = malloc(bytes + 1);
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

tdm_status source_open_gguf(struct source *s, const char *path, tdm_error *err)
{
    s->format = SOURCE_GGUF;
    s->canonical = true;
    tdm_status status = gguf_open(&s->gguf, path, err);
    if (!status) status = config_from_gguf(&s->config, s->gguf, err);
    if (status) return status;
    s->file_bytes = gguf_file_bytes(s->gguf);
    s->stamp = gguf_stamp(s->gguf);

    const struct gguf_tensor *tensors;
    size_t count = gguf_tensors(s->gguf, &tensors);
    s->config.tied = true;
    for (size_t i = 0; i < count; i++) {
        if (span_is(tensors[i].name, "output.weight")) s->config.tied = false;
        if (span_is(tensors[i].name, "token_embd.weight"))
            s->config.vocab = tensors[i].shape[1] > INT32_MAX ? 0 : (uint32_t)tensors[i].shape[1];
    }
    if (!s->config.vocab)
        return error_set(err, TDM_E_FORMAT, "%s: tensor token_embd.weight is missing or too large", path);
    status = config_validate(&s->config, path, err);
    if (!status) status = source_take_text(s, s->gguf, err);
    if (!status && s->text.token_count > s->config.vocab)
        status = error_set(err, TDM_E_FORMAT,
                           "%s: key tokenizer.ggml.tokens: expected at most %u tokens (rows of the "
                           "embeddings), found %u",
                           path, s->config.vocab, s->text.token_count);
    if (!status) status = source_reserve(s, 2 * count, err);
    if (!status) status = copy_names(s, tensors, count, err);
    const char *name = s->names;
    for (size_t i = 0; !status && i < count; i++) {
        status = add_tensor(s, &tensors[i], name, err);
        name += tensors[i].name.length + 1;
    }
    return status;
}
