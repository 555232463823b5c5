#include "engine/model/schema/role.h"

#include <stdio.h>
#include <string.h>

#include "engine/model/schema/schema.h"

static const struct {
    const char *name;
    bool matrix;
} roles[ROLE_COUNT] = {
    [ROLE_EMBED] = {"embed", true},
    [ROLE_LM_HEAD] = {"lm_head", true},
    [ROLE_FINAL_NORM] = {"final_norm", false},
    [ROLE_FINAL_NORM_BIAS] = {"final_norm_bias", false},
    [ROLE_POSITIONS] = {"positions", false},
    [ROLE_INPUT_NORM] = {"input_norm", false},
    [ROLE_INPUT_NORM_BIAS] = {"input_norm_bias", false},
    [ROLE_POST_NORM] = {"post_norm", false},
    [ROLE_POST_NORM_BIAS] = {"post_norm_bias", false},
    [ROLE_ATTENTION_NORM] = {"attention_norm", false},
    [ROLE_FEED_NORM] = {"feed_norm", false},
    [ROLE_GATE] = {"gate", true},
    [ROLE_UP] = {"up", true},
    [ROLE_DOWN] = {"down", true},
    [ROLE_GATE_BIAS] = {"gate_bias", false},
    [ROLE_UP_BIAS] = {"up_bias", false},
    [ROLE_DOWN_BIAS] = {"down_bias", false},
    [ROLE_ROUTER] = {"router", true},
    [ROLE_SHARED_GATE] = {"shared_gate", false},
    [ROLE_EXPERTS_GATE] = {"experts_gate", true},
    [ROLE_EXPERTS_UP] = {"experts_up", true},
    [ROLE_EXPERTS_DOWN] = {"experts_down", true},
    [ROLE_Q] = {"q", true},
    [ROLE_K] = {"k", true},
    [ROLE_V] = {"v", true},
    [ROLE_O] = {"o", true},
    [ROLE_Q_BIAS] = {"q_bias", false},
    [ROLE_K_BIAS] = {"k_bias", false},
    [ROLE_V_BIAS] = {"v_bias", false},
    [ROLE_O_BIAS] = {"o_bias", false},
    [ROLE_Q_NORM] = {"q_norm", false},
    [ROLE_K_NORM] = {"k_norm", false},
    [ROLE_LIN_QKV] = {"lin_qkv", true},
    [ROLE_LIN_Z] = {"lin_z", true},
    [ROLE_LIN_A] = {"lin_a", true},
    [ROLE_LIN_B] = {"lin_b", true},
    [ROLE_LIN_CONV] = {"lin_conv", false},
    [ROLE_LIN_A_LOG] = {"lin_a_log", false},
    [ROLE_LIN_DT_BIAS] = {"lin_dt_bias", false},
    [ROLE_LIN_NORM] = {"lin_norm", false},
    [ROLE_LIN_OUT] = {"lin_out", true},
    [ROLE_MTP_FC] = {"mtp_fc", true},
    [ROLE_MTP_EMBED_NORM] = {"mtp_embed_norm", false},
    [ROLE_MTP_HIDDEN_NORM] = {"mtp_hidden_norm", false},
    [ROLE_MTP_NORM] = {"mtp_norm", false},
    [ROLE_MTP_EMBED] = {"mtp_embed", true},
    [ROLE_MTP_LM_HEAD] = {"mtp_lm_head", true},
    [ROLE_INPUT_TABLE] = {"input_table", true},
    [ROLE_INPUT_PROJECTION] = {"input_projection", true},
    [ROLE_INPUT_TABLE_NORM] = {"input_table_norm", false},
    [ROLE_INPUT_GATE] = {"input_gate", true},
    [ROLE_INPUT_OUT] = {"input_out", true},
    [ROLE_INPUT_OUT_NORM] = {"input_out_norm", false},
    [ROLE_LAYER_SCALE] = {"layer_scale", false},
    [ROLE_DENSE_NORM] = {"dense_norm", false},
    [ROLE_EXPERTS_IN_NORM] = {"experts_in_norm", false},
    [ROLE_EXPERTS_OUT_NORM] = {"experts_out_norm", false},
    [ROLE_ROUTER_NORM] = {"router_norm", false},
    [ROLE_EXPERTS_SCALE] = {"experts_scale", false},
    [ROLE_ROUTER_BIAS] = {"router_bias", false},
    [ROLE_EXPERTS_GATE_BIAS] = {"experts_gate_bias", false},
    [ROLE_EXPERTS_UP_BIAS] = {"experts_up_bias", false},
    [ROLE_EXPERTS_DOWN_BIAS] = {"experts_down_bias", false},
    [ROLE_SINKS] = {"sinks", false},
};

const char *role_name(enum role role)
{
    return roles[role].name;
}

bool role_is_matrix(enum role role)
{
    return roles[role].matrix;
}

static bool in_scope(const struct config *c, enum schema_scope scope, uint32_t layer)
{
    uint32_t blocks = config_blocks(c);
    switch (scope) {
    case SCOPE_ONCE:
        return layer == 0;
    case SCOPE_EVERY:
        return layer < blocks;
    case SCOPE_FULL:
        return layer < blocks && c->full_attention[layer];
    case SCOPE_KEYS:
        return layer < blocks && c->full_attention[layer] && !config_shares(c, layer);
    case SCOPE_VALUES:
        return in_scope(c, SCOPE_KEYS, layer) && (c->window[layer] || !c->attention.values_are_keys);
    case SCOPE_LINEAR:
        return layer < blocks && !c->full_attention[layer];
    case SCOPE_HEAD:
        return c->mtp.there && layer == c->layers;
    }
    return false;
}

/* Has the model what the row is a part of? */
static bool is_wanted(const struct config *c, const struct schema_tensor *t)
{
    return !t->where || *(const uint32_t *)((const char *)c + t->where);
}

bool role_exists(const struct config *c, enum role role, uint32_t layer)
{
    if (role == ROLE_LM_HEAD && c->tied) return false;
    if ((role == ROLE_MTP_NORM && !c->mtp.norm) || (role == ROLE_MTP_EMBED && !c->mtp.embed) ||
        (role == ROLE_MTP_LM_HEAD && !c->mtp.head))
        return false;
    const struct schema_tensor *t = schema_tensor(c->schema, role);
    return t && in_scope(c, t->scope, layer) && is_wanted(c, t) && (!t->optional || c->optional >> role & 1);
}

void role_shape(const struct config *c, enum role role, uint32_t layer, uint64_t *rows, uint64_t *cols)
{
    const struct schema_tensor *t = schema_tensor(c->schema, role);
    *rows = t ? schema_size(c, t->rows, layer) : 0;
    *cols = t ? schema_size(c, t->cols, layer) : 0;
}

/* ---- Names in files ---------------------------------------------------------------------------------------------- */

static void write_name(char *out, size_t size, const struct config *c, enum schema_format format,
                       enum schema_scope scope, const char *names, bool lm_head, uint32_t layer)
{
    struct span first = schema_first_name(names);
    int n = (int)first.length;
    const char *name = first.bytes, *model = c->schema->model, *layers = c->schema->layers;
    if (format == SCHEMA_GGUF && scope == SCOPE_ONCE)
        snprintf(out, size, "%.*s", n, name);
    else if (format == SCHEMA_GGUF)
        snprintf(out, size, "blk.%u.%.*s", layer, n, name);
    else if (lm_head)
        snprintf(out, size, "%.*s", n, name);
    else if (scope == SCOPE_ONCE)
        snprintf(out, size, "%s%.*s", model, n, name);
    else if (scope == SCOPE_HEAD)
        snprintf(out, size, "mtp.%.*s", n, name);
    else if (layer >= c->layers)
        snprintf(out, size, "mtp.layers.%u.%.*s", layer - c->layers, n, name);
    else
        snprintf(out, size, "%s%s%u.%.*s", model, layers, layer, n, name);
}

const struct schema_pieces *role_joined(const struct config *c, enum role role)
{
    for (const struct schema_pieces *p = c->schema->pieces; p->n_parts; p++)
        for (int i = 0; p->joined && i < p->n_parts; i++)
            if (p->parts[i] == role) return p;
    return NULL;
}

void role_file_name(char *out, size_t size, const struct config *c, enum schema_format format, enum role role,
                    uint32_t layer)
{
    const struct schema_tensor *t = schema_tensor(c->schema, role);
    const struct schema_pieces *joined = format == SCHEMA_GGUF ? role_joined(c, role) : NULL;
    if (joined) return role_pieces_name(out, size, c, format, joined, layer);
    write_name(out, size, c, format, t->scope, format == SCHEMA_GGUF ? t->gguf : t->hf, role == ROLE_LM_HEAD, layer);
}

void role_pieces_name(char *out, size_t size, const struct config *c, enum schema_format format,
                      const struct schema_pieces *pieces, uint32_t layer)
{
    write_name(out, size, c, format, pieces->scope, format == SCHEMA_GGUF ? pieces->gguf : pieces->hf, false, layer);
}

static bool skip(struct span *s, const char *prefix)
{
    size_t n = strlen(prefix);
    if (s->length < n || memcmp(s->bytes, prefix, n)) return false;
    s->bytes += n;
    s->length -= n;
    return true;
}

/* A decimal number without leading zeros, and the dot after it. */
static bool skip_number(struct span *s, uint32_t *number)
{
    uint32_t v = 0;
    size_t n = 0;
    while (n < s->length && n < 6 && s->bytes[n] >= '0' && s->bytes[n] <= '9')
        v = v * 10 + (uint32_t)(s->bytes[n++] - '0');
    if (n == 0 || n == s->length || s->bytes[n] != '.' || (n > 1 && s->bytes[0] == '0')) return false;
    *number = v;
    s->bytes += n + 1;
    s->length -= n + 1;
    return true;
}

/* Where a name stands: its tensors are those of a model, of a layer, of the MTP head beside its layer, of both. */
enum stand { IN_MODEL, IN_LAYER, IN_HEAD, IN_BLOCK };

static bool stands(enum schema_scope scope, enum stand stand)
{
    if (stand == IN_MODEL) return scope == SCOPE_ONCE;
    if (stand == IN_HEAD) return scope == SCOPE_HEAD;
    return scope != SCOPE_ONCE && (stand == IN_BLOCK || scope != SCOPE_HEAD);
}

static bool find_pieces(const struct config *c, enum schema_format format, struct span name, enum stand stand,
                        struct role_place *out)
{
    for (const struct schema_pieces *p = c->schema->pieces; p && p->n_parts; p++) {
        uint32_t part = 0;
        if (!stands(p->scope, stand) || !in_scope(c, p->scope, out->layer) ||
            !schema_is_named(format == SCHEMA_GGUF ? p->gguf : p->hf, name, &part) ||
            part >= schema_size(c, p->groups, out->layer) || !role_exists(c, p->parts[0], out->layer))
            continue;
        out->pieces = p;
        out->part = part;
        return true;
    }
    return false;
}

/* The tensor with this name among those that may stand there; out->layer is its layer. The same name may mean one thing
 * in layers of full attention and another in the others. */
static enum role_kind find(const struct config *c, enum schema_format format, struct span name, enum stand stand,
                           struct role_place *out)
{
    for (int list = 0; list < SCHEMA_LISTS && c->schema->tensors[list]; list++)
        for (const struct schema_tensor *t = c->schema->tensors[list]; t->gguf; t++) {
            if (!stands(t->scope, stand) || !schema_is_named(format == SCHEMA_GGUF ? t->gguf : t->hf, name, NULL))
                continue;
            if (t->role == ROLE_LM_HEAD && c->tied) return ROLE_HARMLESS; /* a copy of the embeddings */
            /* Layers that share keys may have projections that nothing reads. */
            if (in_scope(c, SCOPE_FULL, out->layer) && !in_scope(c, t->scope, out->layer) &&
                (t->scope == SCOPE_KEYS || t->scope == SCOPE_VALUES))
                return ROLE_HARMLESS;
            if (!role_exists(c, t->role, out->layer)) continue;
            out->tensor = t;
            return ROLE_KNOWN;
        }
    return find_pieces(c, format, name, stand, out) ? ROLE_KNOWN : ROLE_UNKNOWN;
}

static enum role_kind find_other(enum schema_format format, struct span name)
{
    for (const struct schema_other *o = schema_other_tensors; o->gguf || o->hf; o++)
        if (schema_is_named(format == SCHEMA_GGUF ? o->gguf : o->hf, name, NULL)) return o->kind;
    return ROLE_UNKNOWN;
}

/* A name behind "mtp.", in the words of either format. */
static enum role_kind find_mtp(const struct config *c, enum schema_format format, struct span name,
                               struct role_place *out)
{
    if (!c->mtp.there) return ROLE_MTP;
    out->layer = c->layers;
    enum role_kind kind = skip(&name, "layers.0.") ? find(c, format, name, IN_LAYER, out)
                                                   : find(c, SCHEMA_HF, name, IN_HEAD, out);
    return kind == ROLE_KNOWN ? ROLE_KNOWN : ROLE_MTP;
}

static enum role_kind find_in_gguf(const struct config *c, struct span name, struct role_place *out)
{
    enum role_kind kind = find_other(SCHEMA_GGUF, name);
    if (kind == ROLE_ONES && c->schema->scaled) return ROLE_DIVISORS;
    if (kind == ROLE_DIVISORS && !c->schema->scaled) return ROLE_UNKNOWN;
    if (kind != ROLE_UNKNOWN) return kind;
    if (skip(&name, "mtp.")) return find_mtp(c, SCHEMA_GGUF, name, out);
    if (!skip(&name, "blk.")) return find(c, SCHEMA_GGUF, name, IN_MODEL, out);
    if (!skip_number(&name, &out->layer)) return ROLE_UNKNOWN;
    if (out->layer < c->layers) return find(c, SCHEMA_GGUF, name, IN_LAYER, out);
    if (out->layer >= c->layers + c->mtp.layers) return ROLE_UNKNOWN;
    bool known = c->mtp.there && find(c, SCHEMA_GGUF, name, IN_BLOCK, out) == ROLE_KNOWN;
    return known ? ROLE_KNOWN : ROLE_MTP;
}

static enum role_kind find_in_checkpoint(const struct config *c, struct span name, struct role_place *out)
{
    enum role_kind kind = find_other(SCHEMA_HF, name);
    if (kind != ROLE_UNKNOWN) return kind;
    skip(&name, c->schema->model);
    if (skip(&name, "language_model.")) skip(&name, c->schema->model);
    if (skip(&name, "mtp.")) return find_mtp(c, SCHEMA_HF, name, out);
    if (!skip(&name, c->schema->layers)) return find(c, SCHEMA_HF, name, IN_MODEL, out);
    if (!skip_number(&name, &out->layer) || out->layer >= c->layers) return ROLE_UNKNOWN;
    return find(c, SCHEMA_HF, name, IN_LAYER, out);
}

void role_find(const struct config *c, enum schema_format format, struct span name, struct role_place *out)
{
    *out = (struct role_place){.kind = ROLE_UNKNOWN};
    out->kind = format == SCHEMA_GGUF ? find_in_gguf(c, name, out) : find_in_checkpoint(c, name, out);
}
