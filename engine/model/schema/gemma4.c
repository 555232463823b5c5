/* Gemma 4 (text): heads of another shape in layers without a window, of which only the first pairs turn; values that
 * are normalised, or made of the keys; layers that share keys and values, or get an input of the token from a table of
 * their own; experts beside a dense network. Its norms have no 1 added. */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

enum { MAX_WIDTH = CONFIG_MAX_WIDTH, MAX_HEADS = CONFIG_MAX_HEADS };

#define NUMBER_IN(in_gguf, kind, name, least, most)                                                                    \
    {                                                                                                                  \
        .gguf = in_gguf, .use = SCHEMA_NUMBER, .layers = kind, .field = FIELD(name), .low = least, .high = most        \
    }

/* What checkpoints leave out is as in the first of them. */
static const struct schema_key keys[] = {
    GEMMA_OPENING(262144),
    NUMBER_OR(".attention.shared_kv_layers", "num_kv_shared_layers", attention.shared_layers, 0, CONFIG_MAX_LAYERS, 0),
    NUMBER_IN(".feed_forward_length", SCHEMA_OWN, feed.intermediate, 1, MAX_WIDTH),
    NUMBER_IN(".feed_forward_length", SCHEMA_SHARED, feed.shared_intermediate, 0, MAX_WIDTH),
    NUMBER(NULL, "intermediate_size", feed.intermediate, 1, MAX_WIDTH),
    NUMBER(".attention.head_count", "num_attention_heads", attention.heads, 1, MAX_HEADS),
    NUMBER_IN(".attention.head_count_kv", SCHEMA_OPEN, attention.kv_heads, 1, MAX_HEADS),
    NUMBER_IN(".attention.head_count_kv", SCHEMA_WINDOW, attention.window_kv_heads, 1, MAX_HEADS),
    NUMBER_OR(NULL, "num_key_value_heads", attention.kv_heads, 1, MAX_HEADS, 4),
    NUMBER(".attention.key_length", NULL, attention.head_dim, 1, MAX_WIDTH),
    NUMBER(".attention.key_length_swa", NULL, attention.window_head_dim, 1, MAX_WIDTH),
    NUMBER_OR(NULL, "head_dim", attention.head_dim, 1, MAX_WIDTH, 256),
    EQUAL(".attention.value_length", NULL, attention.head_dim),
    EQUAL(".attention.value_length_swa", NULL, attention.window_head_dim),
    EQUAL(".rope.dimension_count_swa", NULL, attention.window_head_dim),
    SPECIAL(NULL, "global_head_dim|num_global_key_value_heads|per_layer_config"),
    SPECIAL(NULL, "attention_k_eq_v|use_double_wide_mlp|enable_moe_block"),
    NUMBER_OR(".embedding_length_per_layer_input", NULL, layer_input, 0, MAX_WIDTH, 0),
    NUMBER_OR(NULL, "hidden_size_per_layer_input", layer_input, 0, MAX_WIDTH, 256),
    HARMLESS(NULL, "vocab_size_per_layer_input", "the table has as many rows"),
    NUMBER_OR(".expert_count", "num_experts", experts.count, 0, CONFIG_MAX_EXPERTS, 0),
    NUMBER_OR(".expert_used_count", "top_k_experts", experts.used, 0, CONFIG_MAX_USED, 0),
    NUMBER_OR(".expert_feed_forward_length", "moe_intermediate_size", experts.intermediate, 0, MAX_WIDTH, 0),
    REAL(".attention.layer_norm_rms_epsilon", NULL, rms_eps),
    REAL_OR(NULL, "rms_norm_eps", rms_eps, 1e-6),
    REAL_OR(".final_logit_softcapping", "final_logit_softcapping", scales.logit_cap, 0),
    ONLY(NULL, "hidden_act|hidden_activation", "gelu_pytorch_tanh|gelu_tanh"),
    ONLY(NULL, "attention_bias", "false"),
    ONLY(NULL, "use_bidirectional_attention", "vision"), /* which text has not */
    SPECIAL(".block_count", "num_hidden_layers"),
    SPECIAL(".attention.sliding_window|.attention.sliding_window_pattern", "sliding_window_pattern"),
    SPECIAL(".rope.freq_base_swa", NULL),
    SPECIAL(NULL, "layer_types"),
    HARMLESS(NULL, "cache_implementation", "how another program computes the same"),
    END_OF_ROWS,
};

/* What only models have whose number of this name isn't 0. */
#define WITH(name, what, in_gguf, in_hf, in_scope, height, width)                                                      \
    {                                                                                                                  \
        .role = what, .gguf = in_gguf, .hf = in_hf, .scope = in_scope, .rows = height, .cols = width,                  \
        .where = FIELD(name)                                                                                           \
    }

static const struct schema_tensor tensors[] = {
    FOUR_NORMS(VECTOR),
    {.role = ROLE_LAYER_SCALE,
     .gguf = "layer_output_scale.weight",
     .hf = "layer_scalar",
     .scope = SCOPE_EVERY,
     .rows = SIZE_ONE,
     .cols = SIZE_ONE,
     .optional = true},
    TENSOR(ROLE_Q, "attn_q.weight", "self_attn.q_proj.weight", SCOPE_FULL, SIZE_QUERY, SIZE_HIDDEN),
    TENSOR(ROLE_K, "attn_k.weight", "self_attn.k_proj.weight", SCOPE_KEYS, SIZE_KEY, SIZE_HIDDEN),
    TENSOR(ROLE_V, "attn_v.weight", "self_attn.v_proj.weight", SCOPE_VALUES, SIZE_KEY, SIZE_HIDDEN),
    TENSOR(ROLE_O, "attn_output.weight", "self_attn.o_proj.weight", SCOPE_FULL, SIZE_HIDDEN, SIZE_QUERY),
    VECTOR(ROLE_Q_NORM, "attn_q_norm.weight", "self_attn.q_norm.weight", SCOPE_FULL, SIZE_HEAD),
    VECTOR(ROLE_K_NORM, "attn_k_norm.weight", "self_attn.k_norm.weight", SCOPE_KEYS, SIZE_HEAD),
    END_OF_ROWS,
};

static const struct schema_tensor inputs[] = {
    WITH(layer_input, ROLE_INPUT_TABLE, "per_layer_token_embd.weight", "embed_tokens_per_layer.weight", SCOPE_ONCE,
         SIZE_VOCAB, SIZE_INPUTS),
    WITH(layer_input, ROLE_INPUT_PROJECTION, "per_layer_model_proj.weight", "per_layer_model_projection.weight",
         SCOPE_ONCE, SIZE_INPUTS, SIZE_HIDDEN),
    WITH(layer_input, ROLE_INPUT_TABLE_NORM, "per_layer_proj_norm.weight", "per_layer_projection_norm.weight",
         SCOPE_ONCE, SIZE_ONE, SIZE_INPUT),
    WITH(layer_input, ROLE_INPUT_GATE, "inp_gate.weight", "per_layer_input_gate.weight", SCOPE_EVERY, SIZE_INPUT,
         SIZE_HIDDEN),
    WITH(layer_input, ROLE_INPUT_OUT, "proj.weight", "per_layer_projection.weight", SCOPE_EVERY, SIZE_HIDDEN,
         SIZE_INPUT),
    WITH(layer_input, ROLE_INPUT_OUT_NORM, "post_norm.weight", "post_per_layer_input_norm.weight", SCOPE_EVERY,
         SIZE_ONE, SIZE_HIDDEN),
    END_OF_ROWS,
};

static const struct schema_tensor experts[] = {
    WITH(experts.count, ROLE_ROUTER, "ffn_gate_inp.weight", "router.proj.weight", SCOPE_EVERY, SIZE_EXPERTS,
         SIZE_HIDDEN),
    WITH(experts.count, ROLE_ROUTER_NORM, "ffn_gate_inp.scale", "router.scale", SCOPE_EVERY, SIZE_ONE, SIZE_HIDDEN),
    WITH(experts.count, ROLE_EXPERTS_SCALE, "ffn_down_exps.scale", "router.per_expert_scale", SCOPE_EVERY, SIZE_ONE,
         SIZE_EXPERTS),
    WITH(experts.count, ROLE_EXPERTS_GATE, "ffn_gate_exps.weight", "experts.gate_proj", SCOPE_EVERY,
         SIZE_EXPERTS_EXPERT, SIZE_HIDDEN),
    WITH(experts.count, ROLE_EXPERTS_UP, "ffn_up_exps.weight", "experts.up_proj", SCOPE_EVERY, SIZE_EXPERTS_EXPERT,
         SIZE_HIDDEN),
    WITH(experts.count, ROLE_EXPERTS_DOWN, "ffn_down_exps.weight", "experts.down_proj", SCOPE_EVERY,
         SIZE_EXPERTS_HIDDEN, SIZE_EXPERT),
    WITH(experts.count, ROLE_DENSE_NORM, "post_ffw_norm_1.weight", "post_feedforward_layernorm_1.weight", SCOPE_EVERY,
         SIZE_ONE, SIZE_HIDDEN),
    WITH(experts.count, ROLE_EXPERTS_IN_NORM, "pre_ffw_norm_2.weight", "pre_feedforward_layernorm_2.weight",
         SCOPE_EVERY, SIZE_ONE, SIZE_HIDDEN),
    WITH(experts.count, ROLE_EXPERTS_OUT_NORM, "post_ffw_norm_2.weight", "post_feedforward_layernorm_2.weight",
         SCOPE_EVERY, SIZE_ONE, SIZE_HIDDEN),
    END_OF_ROWS,
};

static const struct schema_pieces pieces[] = {
    SEVERAL("ffn_gate_up_exps.weight", "experts.gate_up_proj", SCOPE_EVERY, SIZE_EXPERTS, 2, ROLE_EXPERTS_GATE,
            ROLE_EXPERTS_UP),
    END_OF_ROWS,
};

const struct schema schema_gemma4 = {
    .gguf = "gemma4",
    .json = "gemma4_text|gemma4|gemma4_unified_text|gemma4_unified",
    .title = "Gemma 4",
    .model = "model.",
    .layers = "layers.",
    .feed = CONFIG_FEED_GELU_GATED,
    .tied = true,
    .scaled = true,
    .windows = true,
    .root = true,
    .window_base = true,
    .merged = "gemma4",
    .shapes = true,
    .value_norm = true,
    .scale = 1,
    .pattern = 6,
    .interval = 1,
    .rotated = 1,
    .keys = {keys, parts_scaled_keys},
    .tensors = {tensors, parts_dense_tensors, inputs, experts},
    .pieces = pieces,
};
