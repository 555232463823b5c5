/* gpt-oss: a mixture in every layer, whose experts, router and projections have biases; a clamped SwiGLU; sinks, a
 * logit of each head that only the softmax's denominator has; windows in every other layer; YaRN that isn't truncated.
 * Its checkpoints hold experts [expert][columns][rows], gate and up alternating, or in MXFP4 [expert][rows][columns].
 */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

enum { MAX_WIDTH = CONFIG_MAX_WIDTH };

static const struct schema_key keys[] = {
    NUMBER(".expert_count", "num_local_experts|num_experts", experts.count, 1, CONFIG_MAX_EXPERTS),
    NUMBER(".expert_used_count", "num_experts_per_tok|experts_per_token", experts.used, 1, CONFIG_MAX_USED),
    NUMBER(".expert_feed_forward_length", "intermediate_size", experts.intermediate, 1, MAX_WIDTH),
    REAL_OR(NULL, "swiglu_limit", feed.limit, 7),
    SPECIAL(".attention.sliding_window", NULL),
    HARMLESS(".feed_forward_length", NULL, "of a dense layer, and there is none"),
    HARMLESS(NULL, "initial_context_length", "original_max_position_embeddings counts"),
    HARMLESS(NULL, "output_router_logits", "for training"),
    END_OF_ROWS,
};

/* The experts' are names of weights and of their biases alike. */
#define EXPERTS(what, in_gguf, in_hf, height, width)                                                                   \
    {                                                                                                                  \
        .role = what, .gguf = in_gguf, .hf = in_hf, .scope = SCOPE_EVERY, .rows = height, .cols = width,               \
        .turned = true                                                                                                 \
    }

static const struct schema_tensor tensors[] = {
    TENSOR(ROLE_EMBED, "token_embd.weight", "embed_tokens.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    TENSOR(ROLE_LM_HEAD, "output.weight", "lm_head.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    VECTOR(ROLE_FINAL_NORM, "output_norm.weight", "norm.weight", SCOPE_ONCE, SIZE_HIDDEN),
    VECTOR(ROLE_INPUT_NORM, "attn_norm.weight", "input_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN),
    VECTOR(ROLE_POST_NORM, "post_attention_norm.weight|ffn_norm.weight", "post_attention_layernorm.weight", SCOPE_EVERY,
           SIZE_HIDDEN),
    VECTOR(ROLE_SINKS, "attn_sinks.weight", "self_attn.sinks", SCOPE_FULL, SIZE_HEADS),
    BIAS(ROLE_O_BIAS, "attn_output.bias", "self_attn.o_proj.bias", SCOPE_FULL, SIZE_HIDDEN),
    TENSOR(ROLE_ROUTER, "ffn_gate_inp.weight", "mlp.router.weight", SCOPE_EVERY, SIZE_EXPERTS, SIZE_HIDDEN),
    BIAS(ROLE_ROUTER_BIAS, "ffn_gate_inp.bias", "mlp.router.bias", SCOPE_EVERY, SIZE_EXPERTS),
    EXPERTS(ROLE_EXPERTS_GATE, "ffn_gate_exps.weight", "mlp.experts.gate_proj", SIZE_EXPERTS_EXPERT, SIZE_HIDDEN),
    EXPERTS(ROLE_EXPERTS_UP, "ffn_up_exps.weight", "mlp.experts.up_proj", SIZE_EXPERTS_EXPERT, SIZE_HIDDEN),
    EXPERTS(ROLE_EXPERTS_DOWN, "ffn_down_exps.weight", "mlp.experts.down_proj", SIZE_EXPERTS_HIDDEN, SIZE_EXPERT),
    BIAS(ROLE_EXPERTS_GATE_BIAS, "ffn_gate_exps.bias", "mlp.experts.gate_proj_bias", SCOPE_EVERY, SIZE_EXPERTS_EXPERT),
    BIAS(ROLE_EXPERTS_UP_BIAS, "ffn_up_exps.bias", "mlp.experts.up_proj_bias", SCOPE_EVERY, SIZE_EXPERTS_EXPERT),
    BIAS(ROLE_EXPERTS_DOWN_BIAS, "ffn_down_exps.bias", "mlp.experts.down_proj_bias", SCOPE_EVERY, SIZE_EXPERTS_HIDDEN),
    END_OF_ROWS,
};

/* A group is a row of gate and one of up. */
static const struct schema_pieces pieces[] = {
    {.hf = "mlp.experts.gate_up_proj",
     .scope = SCOPE_EVERY,
     .groups = SIZE_EXPERTS_EXPERT,
     .parts = {ROLE_EXPERTS_GATE, ROLE_EXPERTS_UP},
     .n_parts = 2,
     .turned = true},
    SEVERAL(NULL, "mlp.experts.gate_up_proj_bias", SCOPE_EVERY, SIZE_EXPERTS_EXPERT, 2, ROLE_EXPERTS_GATE_BIAS,
            ROLE_EXPERTS_UP_BIAS),
    END_OF_ROWS,
};

const struct schema schema_gpt_oss = {
    .gguf = "gpt-oss",
    .json = "gpt_oss",
    .title = "gpt-oss",
    .mixture = true,
    .model = "model.",
    .layers = "layers.",
    .feed = CONFIG_FEED_CLAMPED,
    .scaled = true,
    .windows = true,
    .blocks = true,
    .between = true,
    .pattern = 2,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, keys, parts_scaled_keys},
    .tensors = {tensors, parts_attention_tensors, parts_bias_tensors},
    .pieces = pieces,
};
