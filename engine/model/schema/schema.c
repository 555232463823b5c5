#include "engine/model/schema/schema.h"

#include <stdio.h>
#include <string.h>

static const struct schema *const schemas[] = {
    &schema_qwen35, &schema_qwen35moe, &schema_qwen3next, &schema_qwen3,   &schema_qwen3moe, &schema_qwen2,
    &schema_llama,  &schema_mistral3,  &schema_smollm3,   &schema_granite, &schema_phi3,     &schema_gpt2,
    &schema_gemma2, &schema_gemma3,    &schema_gemma4,    &schema_gpt_oss,
};
enum { SCHEMAS = sizeof schemas / sizeof *schemas };

size_t schema_all(const struct schema *const **list)
{
    *list = schemas;
    return SCHEMAS;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* A decimal number without leading zeros; its digits, 0: none. */
static size_t digits(struct span s, uint32_t *number)
{
    size_t n = 0;
    uint32_t v = 0;
    while (n < s.length && n < 6 && s.bytes[n] >= '0' && s.bytes[n] <= '9')
        v = v * 10 + (uint32_t)(s.bytes[n++] - '0');
    if (n > 1 && s.bytes[0] == '0') return 0;
    if (number) *number = v;
    return n;
}

/* Patterns are rows of the schemas and short: the time of this is bounded by theirs. */
static bool matches(struct span pattern, struct span name, uint32_t *number)
{
    while (pattern.length) {
        char p = *pattern.bytes;
        size_t taken = 1;
        if (p == '*') {
            struct span rest = {pattern.bytes + 1, pattern.length - 1};
            for (size_t at = 0; at <= name.length; at++)
                if (matches(rest, (struct span){name.bytes + at, name.length - at}, number)) return true;
            return false;
        }
        if (p == '#')
            taken = digits(name, number);
        else if (!name.length || *name.bytes != p)
            return false;
        if (!taken) return false;
        pattern.bytes++, pattern.length--;
        name.bytes += taken, name.length -= taken;
    }
    return !name.length;
}

bool schema_is_named(const char *names, struct span name, uint32_t *number)
{
    while (names && *names) {
        struct span one = schema_first_name(names);
        if (matches(one, name, number)) return true;
        names += one.length + (names[one.length] == '|');
    }
    return false;
}

struct span schema_first_name(const char *names)
{
    return (struct span){names, strcspn(names, "|")};
}

const struct schema *schema_find(enum schema_format format, struct span name)
{
    for (size_t i = 0; i < SCHEMAS; i++)
        if (schema_is_named(format == SCHEMA_GGUF ? schemas[i]->gguf : schemas[i]->json, name, NULL)) return schemas[i];
    return NULL;
}

bool schema_is_outer(struct span name)
{
    for (size_t i = 0; i < SCHEMAS; i++)
        if (schema_is_named(schemas[i]->outer, name, NULL)) return true;
    return false;
}

void schema_names(enum schema_format format, char *out, size_t room)
{
    size_t at = 0;
    for (size_t i = 0; i < SCHEMAS && at < room; i++) {
        struct span name = schema_first_name(format == SCHEMA_GGUF ? schemas[i]->gguf : schemas[i]->json);
        at += (size_t)snprintf(out + at, room - at, "%s%.*s", !i ? "" : i + 1 < SCHEMAS ? ", " : " and ",
                               (int)name.length, name.bytes);
    }
}

void schema_begin(struct config *c)
{
    struct config_rope_scaling *scaling = &c->rope.scaling;
    snprintf(c->architecture, sizeof c->architecture, "%s", c->schema->gguf);
    c->norm = c->schema->norm;
    c->feed.kind = c->schema->feed;
    c->attention.gated = c->schema->gated;
    c->tied = c->schema->tied;
    c->attention.value_norm = c->schema->value_norm;
    c->scales.embedding = c->scales.residual = c->scales.logit_divisor = scaling->amplitude = scaling->factor = 1;
    scaling->slow = 1;
    scaling->fast = 32;
    scaling->whole = !c->schema->between;
    c->feed.limit = 7;
    c->experts.norm_topk = true;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static const struct schema_key *key_in(const struct schema_key *list, enum schema_format format, struct span name)
{
    for (; list->gguf || list->json; list++)
        if (schema_is_named(format == SCHEMA_GGUF ? list->gguf : list->json, name, NULL)) return list;
    return NULL;
}

const struct schema_key *schema_key(const struct schema *s, enum schema_format format, struct span name)
{
    const struct schema_key *found = NULL;
    for (int i = 0; i < SCHEMA_LISTS && s->keys[i] && !found; i++) found = key_in(s->keys[i], format, name);
    return found ? found : key_in(schema_common_keys, format, name);
}

const struct schema_tensor *schema_tensor(const struct schema *s, enum role role)
{
    for (int i = 0; i < SCHEMA_LISTS && s->tensors[i]; i++)
        for (const struct schema_tensor *t = s->tensors[i]; t->gguf; t++)
            if (t->role == role) return t;
    return NULL;
}

uint64_t schema_size(const struct config *c, enum schema_size size, uint32_t layer)
{
    const struct config_experts *e = &c->experts;
    const struct config_attention *a = &c->attention;
    const struct config_delta *d = &c->delta;
    uint64_t hidden = c->hidden, experts = e->count, key = (uint64_t)d->key_heads * d->key_dim;
    switch (size) {
    case SIZE_NONE:
        return 0;
    case SIZE_ONE:
        return 1;
    case SIZE_HIDDEN:
        return hidden;
    case SIZE_TWICE_HIDDEN:
        return 2 * hidden;
    case SIZE_VOCAB:
        return c->vocab;
    case SIZE_INTERMEDIATE:
        return config_intermediate(c, layer);
    case SIZE_EXPERTS:
        return experts;
    case SIZE_EXPERT:
        return e->intermediate;
    case SIZE_EXPERTS_HIDDEN:
        return experts * hidden;
    case SIZE_EXPERTS_EXPERT:
        return experts * e->intermediate;
    case SIZE_HEAD:
        return config_head_dim(c, layer);
    case SIZE_HEADS:
        return a->heads;
    case SIZE_QUERY:
        return (uint64_t)a->heads * config_head_dim(c, layer);
    case SIZE_GATED_QUERY:
        return 2 * (uint64_t)a->heads * config_head_dim(c, layer);
    case SIZE_KEY:
        return (uint64_t)config_kv_heads(c, layer) * config_head_dim(c, layer);
    case SIZE_LINEAR_HEADS:
        return d->value_heads;
    case SIZE_LINEAR_HEAD:
        return d->value_dim;
    case SIZE_LINEAR_KEY:
        return key;
    case SIZE_LINEAR_VALUE:
        return (uint64_t)d->value_heads * d->value_dim;
    case SIZE_LINEAR_CHANNELS:
        return config_conv_channels(d);
    case SIZE_LINEAR_KEY_HEADS:
        return d->key_heads;
    case SIZE_KERNEL:
        return d->conv_kernel;
    case SIZE_POSITIONS:
        return c->positions;
    case SIZE_INPUT:
        return c->layer_input;
    case SIZE_INPUTS:
        return (uint64_t)c->layers * c->layer_input;
    }
    return 0;
}
