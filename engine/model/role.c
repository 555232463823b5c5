#include "engine/model/role.h"

#include <stdio.h>
#include <string.h>

enum scope { ONCE, EVERY, MIXTURE, FULL, LINEAR, HEAD };

static const struct role_info {
    const char *name, *gguf, *hf; /* in a layer: after "blk.N." and "layers.N."; of the MTP head: after "mtp." */
    enum scope scope;
    bool matrix;
} roles[ROLE_COUNT + 1] = {
    [ROLE_EMBED] = {"embed", "token_embd.weight", "embed_tokens.weight", ONCE, true},
    [ROLE_LM_HEAD] = {"lm_head", "output.weight", "lm_head.weight", ONCE, true},
    [ROLE_FINAL_NORM] = {"final_norm", "output_norm.weight", "norm.weight", ONCE, false},
    [ROLE_INPUT_NORM] = {"input_norm", "attn_norm.weight", "input_layernorm.weight", EVERY, false},
    [ROLE_POST_NORM] = {"post_norm", "post_attention_norm.weight", "post_attention_layernorm.weight", EVERY, false},
    [ROLE_GATE] = {"gate", "ffn_gate.weight", "mlp.gate_proj.weight", EVERY, true},
    [ROLE_UP] = {"up", "ffn_up.weight", "mlp.up_proj.weight", EVERY, true},
    [ROLE_DOWN] = {"down", "ffn_down.weight", "mlp.down_proj.weight", EVERY, true},
    [ROLE_ROUTER] = {"router", "ffn_gate_inp.weight", "mlp.gate.weight", MIXTURE, true},
    [ROLE_SHARED_GATE] = {"shared_gate", "ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight", MIXTURE, false},
    [ROLE_EXPERTS_GATE] = {"experts_gate", "ffn_gate_exps.weight", "mlp.experts.gate_proj", MIXTURE, true},
    [ROLE_EXPERTS_UP] = {"experts_up", "ffn_up_exps.weight", "mlp.experts.up_proj", MIXTURE, true},
    [ROLE_EXPERTS_DOWN] = {"experts_down", "ffn_down_exps.weight", "mlp.experts.down_proj", MIXTURE, true},
    [ROLE_EXPERTS_GATE_UP] = {"experts_gate_up", "ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj", MIXTURE, true},
    [ROLE_Q] = {"q", "attn_q.weight", "self_attn.q_proj.weight", FULL, true},
    [ROLE_K] = {"k", "attn_k.weight", "self_attn.k_proj.weight", FULL, true},
    [ROLE_V] = {"v", "attn_v.weight", "self_attn.v_proj.weight", FULL, true},
    [ROLE_O] = {"o", "attn_output.weight", "self_attn.o_proj.weight", FULL, true},
    [ROLE_Q_NORM] = {"q_norm", "attn_q_norm.weight", "self_attn.q_norm.weight", FULL, false},
    [ROLE_K_NORM] = {"k_norm", "attn_k_norm.weight", "self_attn.k_norm.weight", FULL, false},
    [ROLE_LIN_QKV] = {"lin_qkv", "attn_qkv.weight", "linear_attn.in_proj_qkv.weight", LINEAR, true},
    [ROLE_LIN_Z] = {"lin_z", "attn_gate.weight", "linear_attn.in_proj_z.weight", LINEAR, true},
    [ROLE_LIN_A] = {"lin_a", "ssm_alpha.weight", "linear_attn.in_proj_a.weight", LINEAR, true},
    [ROLE_LIN_B] = {"lin_b", "ssm_beta.weight", "linear_attn.in_proj_b.weight", LINEAR, true},
    [ROLE_LIN_CONV] = {"lin_conv", "ssm_conv1d.weight", "linear_attn.conv1d.weight", LINEAR, false},
    [ROLE_LIN_A_LOG] = {"lin_a_log", "ssm_a", "linear_attn.A_log", LINEAR, false},
    [ROLE_LIN_DT_BIAS] = {"lin_dt_bias", "ssm_dt.bias", "linear_attn.dt_bias", LINEAR, false},
    [ROLE_LIN_NORM] = {"lin_norm", "ssm_norm.weight", "linear_attn.norm.weight", LINEAR, false},
    [ROLE_LIN_OUT] = {"lin_out", "ssm_out.weight", "linear_attn.out_proj.weight", LINEAR, true},
    [ROLE_MTP_FC] = {"mtp_fc", "nextn.eh_proj.weight", "fc.weight", HEAD, true},
    [ROLE_MTP_EMBED_NORM] = {"mtp_embed_norm", "nextn.enorm.weight", "pre_fc_norm_embedding.weight", HEAD, false},
    [ROLE_MTP_HIDDEN_NORM] = {"mtp_hidden_norm", "nextn.hnorm.weight", "pre_fc_norm_hidden.weight", HEAD, false},
    [ROLE_MTP_NORM] = {"mtp_norm", "nextn.shared_head_norm.weight", "norm.weight", HEAD, false},
    [ROLE_MTP_EMBED] = {"mtp_embed", "nextn.embed_tokens.weight", "embed_tokens.weight", HEAD, true},
    [ROLE_MTP_LM_HEAD] = {"mtp_lm_head", "nextn.shared_head_head.weight", "lm_head.weight", HEAD, true},
};

/* What the shared expert is called, which is the feed-forward network of a mixture. */
static const struct {
    const char *gguf, *hf;
} shared_names[] = {
    [ROLE_GATE - ROLE_GATE] = {"ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight"},
    [ROLE_UP - ROLE_GATE] = {"ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight"},
    [ROLE_DOWN - ROLE_GATE] = {"ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight"},
};

const char *role_name(enum role role)
{
    return roles[role].name;
}

bool role_is_matrix(enum role role)
{
    return roles[role].matrix;
}

/* Does the model have one, and not each layer? */
static bool is_global(enum role role)
{
    return roles[role].scope == ONCE;
}

bool role_exists(const struct config *c, enum role role, uint32_t layer)
{
    uint32_t blocks = config_blocks(c);
    if (role == ROLE_LM_HEAD && c->tied) return false;
    if ((role == ROLE_MTP_NORM && !c->mtp_norm) || (role == ROLE_MTP_EMBED && !c->mtp_embed) ||
        (role == ROLE_MTP_LM_HEAD && !c->mtp_head))
        return false;
    switch (roles[role].scope) {
    case ONCE:
        return layer == 0;
    case EVERY:
        return layer < blocks;
    case MIXTURE:
        return layer < blocks && c->experts;
    case FULL:
        return layer < blocks && c->full_attention[layer];
    case LINEAR:
        return layer < blocks && !c->full_attention[layer];
    case HEAD:
        return c->mtp && layer == c->layers;
    }
    return false;
}

void role_shape(const struct config *c, enum role role, uint64_t *rows, uint64_t *cols)
{
    uint64_t value = (uint64_t)c->lin_value_heads * c->lin_value_dim, attention = (uint64_t)c->heads * c->head_dim;
    *rows = 1;
    *cols = c->hidden;
    switch (role) {
    case ROLE_EMBED:
    case ROLE_LM_HEAD:
    case ROLE_MTP_EMBED:
    case ROLE_MTP_LM_HEAD:
        *rows = c->vocab;
        break;
    case ROLE_FINAL_NORM:
    case ROLE_INPUT_NORM:
    case ROLE_POST_NORM:
    case ROLE_MTP_EMBED_NORM:
    case ROLE_MTP_HIDDEN_NORM:
    case ROLE_MTP_NORM:
        break;
    case ROLE_MTP_FC:
        *rows = c->hidden, *cols = 2 * (uint64_t)c->hidden;
        break;
    case ROLE_GATE:
    case ROLE_UP:
        *rows = c->intermediate;
        break;
    case ROLE_DOWN:
        *rows = c->hidden, *cols = c->intermediate;
        break;
    case ROLE_ROUTER:
        *rows = c->experts;
        break;
    case ROLE_SHARED_GATE:
        break;
    case ROLE_EXPERTS_GATE:
    case ROLE_EXPERTS_UP:
        *rows = (uint64_t)c->experts * c->expert_intermediate;
        break;
    case ROLE_EXPERTS_DOWN:
        *rows = (uint64_t)c->experts * c->hidden, *cols = c->expert_intermediate;
        break;
    case ROLE_EXPERTS_GATE_UP:
        *rows = (uint64_t)c->experts * 2 * c->expert_intermediate;
        break;
    case ROLE_Q:
        *rows = 2 * attention;
        break;
    case ROLE_K:
    case ROLE_V:
        *rows = (uint64_t)c->kv_heads * c->head_dim;
        break;
    case ROLE_O:
        *rows = c->hidden, *cols = attention;
        break;
    case ROLE_Q_NORM:
    case ROLE_K_NORM:
        *cols = c->head_dim;
        break;
    case ROLE_LIN_QKV:
        *rows = config_conv_channels(c);
        break;
    case ROLE_LIN_Z:
        *rows = value;
        break;
    case ROLE_LIN_A:
    case ROLE_LIN_B:
        *rows = c->lin_value_heads;
        break;
    case ROLE_LIN_CONV:
        *rows = config_conv_channels(c), *cols = c->conv_kernel;
        break;
    case ROLE_LIN_A_LOG:
    case ROLE_LIN_DT_BIAS:
        *cols = c->lin_value_heads;
        break;
    case ROLE_LIN_NORM:
        *cols = c->lin_value_dim;
        break;
    case ROLE_LIN_OUT:
        *rows = c->hidden, *cols = value;
        break;
    }
}

static const char *name_of(const struct config *c, enum role role, bool hf)
{
    if (c->experts && role >= ROLE_GATE && role <= ROLE_DOWN)
        return hf ? shared_names[role - ROLE_GATE].hf : shared_names[role - ROLE_GATE].gguf;
    return hf ? roles[role].hf : roles[role].gguf;
}

void role_gguf_name(char *out, size_t size, const struct config *c, enum role role, uint32_t layer)
{
    const char *name = name_of(c, role, false);
    if (is_global(role))
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "blk.%u.%s", layer, name);
}

void role_hf_name(char *out, size_t size, const struct config *c, enum role role, uint32_t layer)
{
    const char *name = name_of(c, role, true);
    if (role == ROLE_LM_HEAD)
        snprintf(out, size, "%s", name);
    else if (is_global(role))
        snprintf(out, size, "model.%s", name);
    else if (roles[role].scope == HEAD)
        snprintf(out, size, "mtp.%s", name);
    else if (layer >= c->layers)
        snprintf(out, size, "mtp.layers.%u.%s", layer - c->layers, name);
    else
        snprintf(out, size, "model.layers.%u.%s", layer, name);
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

/* Where a name stands: its roles are those of a model, of a layer, of the MTP head beside its layer, of both. */
enum place { IN_MODEL, IN_LAYER, IN_HEAD, IN_BLOCK };

static bool is_in(enum role role, enum place place)
{
    enum scope scope = roles[role].scope;
    if (place == IN_MODEL) return scope == ONCE;
    if (place == IN_HEAD) return scope == HEAD;
    return scope != ONCE && (place == IN_BLOCK || scope != HEAD);
}

/* The role with this name among those of a place. */
static enum role_kind find(const struct config *c, struct span name, bool hf, enum place place, uint32_t layer,
                           enum role *role)
{
    for (int r = 0; r <= ROLE_EXPERTS_GATE_UP; r++) {
        if (!is_in((enum role)r, place) || !span_is(name, name_of(c, (enum role)r, hf))) continue;
        *role = (enum role)r;
        if (r == ROLE_LM_HEAD && c->tied) return ROLE_HARMLESS; /* a copy of the embeddings */
        return role_exists(c, (enum role)r, layer) ? ROLE_KNOWN : ROLE_UNKNOWN;
    }
    return ROLE_UNKNOWN;
}

/* The tensors of single experts that some checkpoints have. */
static enum role_kind find_expert(const struct config *c, struct span name, enum role *role, uint32_t *expert)
{
    static const struct {
        const char *name;
        enum role role;
    } parts[] = {
        {"gate_proj.weight", ROLE_EXPERTS_GATE},
        {"up_proj.weight", ROLE_EXPERTS_UP},
        {"down_proj.weight", ROLE_EXPERTS_DOWN},
    };
    if (!skip_number(&name, expert) || *expert >= c->experts) return ROLE_UNKNOWN;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (span_is(name, parts[i].name)) {
            *role = parts[i].role;
            return ROLE_KNOWN;
        }
    return ROLE_UNKNOWN;
}

enum role_kind role_of_gguf(const struct config *c, struct span name, enum role *role, uint32_t *layer)
{
    *layer = 0;
    if (!skip(&name, "blk.")) {
        if (span_is(name, "rope_freqs.weight")) return ROLE_HARMLESS;
        if (skip(&name, "v.") || skip(&name, "mm.")) return ROLE_VISION;
        return find(c, name, false, IN_MODEL, 0, role);
    }
    if (!skip_number(&name, layer)) return ROLE_UNKNOWN;
    if (*layer < c->layers) return find(c, name, false, IN_LAYER, *layer, role);
    if (*layer >= c->layers + c->mtp_layers) return ROLE_UNKNOWN;
    bool known = c->mtp && find(c, name, false, IN_BLOCK, *layer, role) == ROLE_KNOWN;
    return known ? ROLE_KNOWN : ROLE_MTP;
}

/* A name behind "mtp.". */
static enum role_kind find_mtp(const struct config *c, struct span name, enum role *role, uint32_t *layer,
                               uint32_t *expert)
{
    if (!c->mtp) return ROLE_MTP;
    *layer = c->layers;
    bool in_layer = skip(&name, "layers.0.");
    bool known = find(c, name, true, in_layer ? IN_LAYER : IN_HEAD, *layer, role) == ROLE_KNOWN;
    if (!known && in_layer && skip(&name, "mlp.experts.")) known = find_expert(c, name, role, expert) == ROLE_KNOWN;
    return known ? ROLE_KNOWN : ROLE_MTP;
}

enum role_kind role_of_hf(const struct config *c, struct span name, enum role *role, uint32_t *layer, uint32_t *expert)
{
    static const char inverse[] = "rotary_emb.inv_freq";
    size_t n = sizeof inverse - 1;
    *layer = 0;
    *expert = ROLE_ALL_EXPERTS;
    if (name.length >= n && !memcmp(name.bytes + name.length - n, inverse, n)) return ROLE_HARMLESS;
    if (skip(&name, "mtp.")) return find_mtp(c, name, role, layer, expert);
    skip(&name, "model.");
    if (skip(&name, "visual.") || skip(&name, "vision_tower.")) return ROLE_VISION;
    if (skip(&name, "mtp.")) return find_mtp(c, name, role, layer, expert);
    if (skip(&name, "language_model.")) skip(&name, "model.");
    if (!skip(&name, "layers.")) return find(c, name, true, IN_MODEL, 0, role);
    if (!skip_number(&name, layer) || *layer >= c->layers) return ROLE_UNKNOWN;
    enum role_kind kind = find(c, name, true, IN_LAYER, *layer, role);
    return kind != ROLE_UNKNOWN || !skip(&name, "mlp.experts.") ? kind : find_expert(c, name, role, expert);
}
