#include "engine/model/schema/parts.h"

#include "engine/model/schema/rows.h"

enum { MAX_WIDTH = CONFIG_MAX_WIDTH, MAX_HEADS = CONFIG_MAX_HEADS };

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

const struct schema_key parts_text_keys[] = {
    NUMBER(".embedding_length", "hidden_size|n_embd", hidden, 1, MAX_WIDTH),
    NUMBER(".context_length", "max_position_embeddings|n_positions", context_length, 1, CONFIG_MAX_CONTEXT),
    NUMBER(NULL, "vocab_size", vocab, 1, INT32_MAX),
    NUMBER(".attention.head_count", "num_attention_heads|n_head", attention.heads, 1, MAX_HEADS),
    NUMBER_OR(".attention.head_count_kv", "num_key_value_heads", attention.kv_heads, 1, MAX_HEADS, 0),
    NUMBER_OR(".attention.key_length", "head_dim", attention.head_dim, 1, MAX_WIDTH, 0),
    EQUAL(".attention.value_length", NULL, attention.head_dim),
    SPECIAL(".block_count", "num_hidden_layers|n_layer"),
    SPECIAL(NULL, "layer_types"),
    END_OF_ROWS,
};

const struct schema_key parts_rms_keys[] = {
    REAL(".attention.layer_norm_rms_epsilon", NULL, rms_eps),
    REAL_OR(NULL, "rms_norm_eps", rms_eps, 1e-6),
    ONLY(NULL, "hidden_act|hidden_activation", "silu|swish"),
    HARMLESS(NULL, "attention_bias|mlp_bias|qkv_bias", "the tensors say it"),
    END_OF_ROWS,
};

const struct schema_key parts_dense_keys[] = {
    NUMBER(".feed_forward_length", "intermediate_size", feed.intermediate, 1, MAX_WIDTH),
    END_OF_ROWS,
};

const struct schema_key parts_mixture_keys[] = {
    NUMBER(".expert_count", "num_experts|num_local_experts", experts.count, 1, CONFIG_MAX_EXPERTS),
    NUMBER(".expert_used_count", "num_experts_per_tok", experts.used, 1, CONFIG_MAX_USED),
    NUMBER(".expert_feed_forward_length", "moe_intermediate_size", experts.intermediate, 1, MAX_WIDTH),
    ONLY(".expert_gating_func", NULL, "1|0"), /* 1: softmax; 0: not said */
    ONLY(NULL, "scoring_func|moe_router_score_function|router_score_function", "softmax"),
    ONLY(".expert_weights_scale", "routed_scaling_factor|router_scaling_factor|moe_routed_scaling_factor", "1|0"),
    ONLY(".leading_dense_block_count", "first_k_dense_replace", "0"),
    ONLY(".expert_group_count", "n_group|n_groups", "1|0"),
    ONLY(".expert_group_used_count", "topk_group", "1|0"),
    ONLY(".interleave_moe_layer_step|.moe_every_n_layers", "decoder_sparse_step|moe_layer_freq", "1"),
    ONLY(NULL, "topk_method", "greedy"),
    ONLY(NULL, "mlp_only_layers", "[]"),
    HARMLESS(".feed_forward_length", "intermediate_size", "of a dense layer, and there is none"),
    HARMLESS(NULL, "output_router_logits|router_aux_loss_coef|router_z_loss_coef|router_jitter_noise", "for training"),
    END_OF_ROWS,
};

/* They stand before the common ones, which know no scaling. */
const struct schema_key parts_scaled_keys[] = {
    SPECIAL(".rope.scaling.type|.rope.scaling.factor|.rope.scale_linear|.rope.scaling.attn_factor", NULL),
    SPECIAL(".rope.scaling.original_context_length|.rope.scaling.yarn_*", "original_max_position_embeddings"),
    SPECIAL(".attention.temperature_scale", NULL),
    END_OF_ROWS,
};

const struct schema_key parts_delta_keys[] = {
    NUMBER(".ssm.conv_kernel", "linear_conv_kernel_dim", delta.conv_kernel, 1, 64),
    NUMBER(".ssm.state_size", "linear_key_head_dim", delta.key_dim, 1, MAX_WIDTH),
    NUMBER(".ssm.group_count", "linear_num_key_heads", delta.key_heads, 1, MAX_HEADS),
    NUMBER(".ssm.time_step_rank", "linear_num_value_heads", delta.value_heads, 1, MAX_HEADS),
    NUMBER(NULL, "linear_value_head_dim", delta.value_dim, 1, MAX_WIDTH),
    SPECIAL(".ssm.inner_size", NULL),
    SPECIAL(".ssm.v_head_reordered", NULL),
    SPECIAL(".full_attention_interval", "full_attention_interval"),
    HARMLESS(NULL, "mamba_ssm_dtype", "states are float32 in any case"),
    END_OF_ROWS,
};

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

const struct schema_tensor parts_norm_tensors[] = {
    TENSOR(ROLE_EMBED, "token_embd.weight", "embed_tokens.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    TENSOR(ROLE_LM_HEAD, "output.weight", "lm_head.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    VECTOR(ROLE_FINAL_NORM, "output_norm.weight", "norm.weight", SCOPE_ONCE, SIZE_HIDDEN),
    VECTOR(ROLE_INPUT_NORM, "attn_norm.weight", "input_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN),
    VECTOR(ROLE_POST_NORM, "ffn_norm.weight", "post_attention_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN),
    END_OF_ROWS,
};

const struct schema_tensor parts_head_norm_tensors[] = {
    VECTOR(ROLE_Q_NORM, "attn_q_norm.weight", "self_attn.q_norm.weight", SCOPE_FULL, SIZE_HEAD),
    VECTOR(ROLE_K_NORM, "attn_k_norm.weight", "self_attn.k_norm.weight", SCOPE_FULL, SIZE_HEAD),
    END_OF_ROWS,
};

#define VALUES_AND_OUTPUT                                                                                              \
    TENSOR(ROLE_V, "attn_v.weight", "self_attn.v_proj.weight", SCOPE_FULL, SIZE_KEY, SIZE_HIDDEN),                     \
        TENSOR(ROLE_O, "attn_output.weight", "self_attn.o_proj.weight", SCOPE_FULL, SIZE_HIDDEN, SIZE_QUERY)

const struct schema_tensor parts_attention_tensors[] = {
    TENSOR(ROLE_Q, "attn_q.weight", "self_attn.q_proj.weight", SCOPE_FULL, SIZE_QUERY, SIZE_HIDDEN),
    TENSOR(ROLE_K, "attn_k.weight", "self_attn.k_proj.weight", SCOPE_FULL, SIZE_KEY, SIZE_HIDDEN),
    VALUES_AND_OUTPUT,
    END_OF_ROWS,
};

const struct schema_tensor parts_paired_tensors[] = {
    TENSOR_AS(ROLE_Q, "attn_q.weight", "self_attn.q_proj.weight", SCOPE_FULL, SIZE_QUERY, SIZE_HIDDEN, FORM_SAME,
              ORDER_PAIRS),
    TENSOR_AS(ROLE_K, "attn_k.weight", "self_attn.k_proj.weight", SCOPE_FULL, SIZE_KEY, SIZE_HIDDEN, FORM_SAME,
              ORDER_PAIRS),
    VALUES_AND_OUTPUT,
    OPTIONAL_BIAS(ROLE_Q_BIAS, "attn_q.bias", "self_attn.q_proj.bias", SCOPE_FULL, SIZE_QUERY, ORDER_PAIRS),
    OPTIONAL_BIAS(ROLE_K_BIAS, "attn_k.bias", "self_attn.k_proj.bias", SCOPE_FULL, SIZE_KEY, ORDER_PAIRS),
    OPTIONAL_BIAS(ROLE_V_BIAS, "attn_v.bias", "self_attn.v_proj.bias", SCOPE_FULL, SIZE_KEY, ORDER_SAME),
    END_OF_ROWS,
};

const struct schema_tensor parts_bias_tensors[] = {
    BIAS(ROLE_Q_BIAS, "attn_q.bias", "self_attn.q_proj.bias", SCOPE_FULL, SIZE_QUERY),
    BIAS(ROLE_K_BIAS, "attn_k.bias", "self_attn.k_proj.bias", SCOPE_FULL, SIZE_KEY),
    BIAS(ROLE_V_BIAS, "attn_v.bias", "self_attn.v_proj.bias", SCOPE_FULL, SIZE_KEY),
    END_OF_ROWS,
};

const struct schema_tensor parts_optional_tensors[] = {
    OPTIONAL_BIAS(ROLE_Q_BIAS, "attn_q.bias", "self_attn.q_proj.bias", SCOPE_FULL, SIZE_QUERY, ORDER_SAME),
    OPTIONAL_BIAS(ROLE_K_BIAS, "attn_k.bias", "self_attn.k_proj.bias", SCOPE_FULL, SIZE_KEY, ORDER_SAME),
    OPTIONAL_BIAS(ROLE_V_BIAS, "attn_v.bias", "self_attn.v_proj.bias", SCOPE_FULL, SIZE_KEY, ORDER_SAME),
    OPTIONAL_BIAS(ROLE_O_BIAS, "attn_output.bias", "self_attn.o_proj.bias", SCOPE_FULL, SIZE_HIDDEN, ORDER_SAME),
    OPTIONAL_BIAS(ROLE_GATE_BIAS, "ffn_gate.bias", "mlp.gate_proj.bias", SCOPE_EVERY, SIZE_INTERMEDIATE, ORDER_SAME),
    OPTIONAL_BIAS(ROLE_UP_BIAS, "ffn_up.bias", "mlp.up_proj.bias", SCOPE_EVERY, SIZE_INTERMEDIATE, ORDER_SAME),
    OPTIONAL_BIAS(ROLE_DOWN_BIAS, "ffn_down.bias", "mlp.down_proj.bias", SCOPE_EVERY, SIZE_HIDDEN, ORDER_SAME),
    END_OF_ROWS,
};

const struct schema_tensor parts_dense_tensors[] = {
    TENSOR(ROLE_GATE, "ffn_gate.weight", "mlp.gate_proj.weight", SCOPE_EVERY, SIZE_INTERMEDIATE, SIZE_HIDDEN),
    TENSOR(ROLE_UP, "ffn_up.weight", "mlp.up_proj.weight", SCOPE_EVERY, SIZE_INTERMEDIATE, SIZE_HIDDEN),
    TENSOR(ROLE_DOWN, "ffn_down.weight", "mlp.down_proj.weight", SCOPE_EVERY, SIZE_HIDDEN, SIZE_INTERMEDIATE),
    END_OF_ROWS,
};

const struct schema_tensor parts_mixture_tensors[] = {
    TENSOR(ROLE_ROUTER, "ffn_gate_inp.weight", "mlp.gate.weight", SCOPE_EVERY, SIZE_EXPERTS, SIZE_HIDDEN),
    TENSOR(ROLE_EXPERTS_GATE, "ffn_gate_exps.weight", "mlp.experts.gate_proj|mlp.switch_mlp.gate_proj.weight",
           SCOPE_EVERY, SIZE_EXPERTS_EXPERT, SIZE_HIDDEN),
    TENSOR(ROLE_EXPERTS_UP, "ffn_up_exps.weight", "mlp.experts.up_proj|mlp.switch_mlp.up_proj.weight", SCOPE_EVERY,
           SIZE_EXPERTS_EXPERT, SIZE_HIDDEN),
    TENSOR(ROLE_EXPERTS_DOWN, "ffn_down_exps.weight", "mlp.experts.down_proj|mlp.switch_mlp.down_proj.weight",
           SCOPE_EVERY, SIZE_EXPERTS_HIDDEN, SIZE_EXPERT),
    END_OF_ROWS,
};

const struct schema_tensor parts_shared_tensors[] = {
    TENSOR(ROLE_GATE, "ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight", SCOPE_EVERY, SIZE_INTERMEDIATE,
           SIZE_HIDDEN),
    TENSOR(ROLE_UP, "ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight", SCOPE_EVERY, SIZE_INTERMEDIATE,
           SIZE_HIDDEN),
    TENSOR(ROLE_DOWN, "ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight", SCOPE_EVERY, SIZE_HIDDEN,
           SIZE_INTERMEDIATE),
    {.role = ROLE_SHARED_GATE,
     .gguf = "ffn_gate_inp_shexp.weight",
     .hf = "mlp.shared_expert_gate.weight",
     .scope = SCOPE_EVERY,
     .rows = SIZE_ONE,
     .cols = SIZE_HIDDEN,
     .flat = true},
    END_OF_ROWS,
};

/* Whole projections where others have two or three, and the other way round. */

const struct schema_pieces parts_dense_pieces[] = {
    SEVERAL("attn_qkv.weight", "self_attn.qkv_proj.weight", SCOPE_FULL, SIZE_ONE, 3, ROLE_Q, ROLE_K, ROLE_V),
    SEVERAL("ffn_gate_up.weight", "mlp.gate_up_proj.weight", SCOPE_EVERY, SIZE_ONE, 2, ROLE_GATE, ROLE_UP),
    END_OF_ROWS,
};

const struct schema_pieces parts_mixture_pieces[] = {
    SEVERAL("attn_qkv.weight", "self_attn.qkv_proj.weight", SCOPE_FULL, SIZE_ONE, 3, ROLE_Q, ROLE_K, ROLE_V),
    SEVERAL("ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj|mlp.switch_mlp.gate_up_proj.weight", SCOPE_EVERY,
            SIZE_EXPERTS, 2, ROLE_EXPERTS_GATE, ROLE_EXPERTS_UP),
    NUMBERED_PART(NULL, "mlp.experts.#.gate_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_GATE, SIZE_EXPERT, SIZE_EXPERTS),
    NUMBERED_PART(NULL, "mlp.experts.#.up_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_UP, SIZE_EXPERT, SIZE_EXPERTS),
    NUMBERED_PART(NULL, "mlp.experts.#.down_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_DOWN, SIZE_HIDDEN, SIZE_EXPERTS),
    END_OF_ROWS,
};
