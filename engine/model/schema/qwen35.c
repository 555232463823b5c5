/* Qwen3.5 (also 3.6 and 3.8) and Qwen3-Next: layers of gated full attention and Gated DeltaNets, dense or with a
 * mixture of experts. In GGUF it is the layout of llama.cpp's converter; where Ollama's differs, its names stand behind
 * a "|". */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

enum { MAX_WIDTH = CONFIG_MAX_WIDTH, MAX_HEADS = CONFIG_MAX_HEADS };

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static const struct schema_key text_keys[] = {
    NUMBER(".embedding_length", "hidden_size", hidden, 1, MAX_WIDTH),
    NUMBER(".context_length", "max_position_embeddings", context_length, 1, CONFIG_MAX_CONTEXT),
    NUMBER(NULL, "vocab_size", vocab, 1, INT32_MAX),
    REAL(".attention.layer_norm_rms_epsilon", NULL, rms_eps),
    REAL_OR(NULL, "rms_norm_eps", rms_eps, 1e-6),

    NUMBER_OF_FULL(".attention.head_count", "num_attention_heads", attention.heads, 1, MAX_HEADS),
    NUMBER_OF_FULL(".attention.head_count_kv", "num_key_value_heads", attention.kv_heads, 1, MAX_HEADS),
    NUMBER(".attention.key_length", "head_dim", attention.head_dim, 1, MAX_WIDTH),
    EQUAL(".attention.value_length", NULL, attention.head_dim),
    ONLY(NULL, "attn_output_gate", "true"),
    ONLY(NULL, "output_gate_type", "swish|silu"),
    ONLY(NULL, "attention_bias|qkv_bias", "false"),
    ONLY(NULL, "hidden_act", "silu|swish"),

    SPECIAL(".attention.recurrent_layers", "layer_types"),
    SPECIAL(".block_count", "num_hidden_layers"),
    SPECIAL(".nextn_predict_layers", "mtp_num_hidden_layers|num_nextn_predict_layers"),
    HARMLESS(NULL, "mtp_use_dedicated_embeddings", "the tensors of the MTP head say it"),
    HARMLESS(NULL, "unsloth_fixed_mtp", "tells of how the file was made"),
    HARMLESS(".rope.mrope_section|.mrope_sections|.rope.mrope_interleaved|.mrope_interleaved",
             "mrope_interleaved|mrope_section", "all axes of a text's positions are equal"),
    END_OF_ROWS,
};

static const struct schema_key dense_keys[] = {
    NUMBER(".feed_forward_length", "intermediate_size", feed.intermediate, 1, MAX_WIDTH),
    HARMLESS(NULL, "num_experts_per_tok|moe_intermediate_size|shared_expert_intermediate_size|decoder_sparse_step",
             "of a mixture, and there are no experts"),
    HARMLESS(NULL, "norm_topk_prob|output_router_logits", "of a mixture, and there are no experts"),
    END_OF_ROWS,
};

static const struct schema_key normed_keys[] = {
    ONLY(".expert_weights_norm|.norm_top_k_prob", "norm_topk_prob|norm_top_k_prob", "true"),
    END_OF_ROWS,
};

/* The expert that all tokens share. */
static const struct schema_key shared_keys[] = {
    NUMBER(".expert_shared_feed_forward_length", "shared_expert_intermediate_size", feed.intermediate, 1, MAX_WIDTH),
    ONLY(".expert_shared_count", "n_shared_experts|num_shared_experts", "1"),
    END_OF_ROWS,
};

/* Qwen3-Next's, beside those that most families have. */
static const struct schema_key next_keys[] = {
    FLAG(".expert_weights_norm|.norm_top_k_prob", "norm_topk_prob|norm_top_k_prob", experts.norm_topk, true),
    ONLY(NULL, "attention_bias|qkv_bias", "false"),
    SPECIAL(".nextn_predict_layers", "mtp_num_hidden_layers|num_nextn_predict_layers"),
    END_OF_ROWS,
};

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

static const struct schema_tensor text_tensors[] = {
    TENSOR(ROLE_EMBED, "token_embd.weight", "embed_tokens.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    TENSOR(ROLE_LM_HEAD, "output.weight", "lm_head.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    NORM(ROLE_FINAL_NORM, "output_norm.weight", "norm.weight", SCOPE_ONCE, SIZE_HIDDEN),
    NORM(ROLE_INPUT_NORM, "attn_norm.weight", "input_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN),
    NORM(ROLE_POST_NORM, "post_attention_norm.weight", "post_attention_layernorm.weight", SCOPE_EVERY, SIZE_HIDDEN),

    TENSOR(ROLE_Q, "attn_q.weight", "self_attn.q_proj.weight", SCOPE_FULL, SIZE_GATED_QUERY, SIZE_HIDDEN),
    TENSOR(ROLE_K, "attn_k.weight", "self_attn.k_proj.weight", SCOPE_FULL, SIZE_KEY, SIZE_HIDDEN),
    TENSOR(ROLE_V, "attn_v.weight", "self_attn.v_proj.weight", SCOPE_FULL, SIZE_KEY, SIZE_HIDDEN),
    TENSOR(ROLE_O, "attn_output.weight", "self_attn.o_proj.weight", SCOPE_FULL, SIZE_HIDDEN, SIZE_QUERY),
    NORM(ROLE_Q_NORM, "attn_q_norm.weight", "self_attn.q_norm.weight", SCOPE_FULL, SIZE_HEAD),
    NORM(ROLE_K_NORM, "attn_k_norm.weight", "self_attn.k_norm.weight", SCOPE_FULL, SIZE_HEAD),

    TENSOR_AS(ROLE_LIN_QKV, "attn_qkv.weight", "linear_attn.in_proj_qkv.weight", SCOPE_LINEAR, SIZE_LINEAR_CHANNELS,
              SIZE_HIDDEN, FORM_SAME, ORDER_ROWS_AFTER),
    TENSOR_AS(ROLE_LIN_Z, "attn_gate.weight", "linear_attn.in_proj_z.weight", SCOPE_LINEAR, SIZE_LINEAR_VALUE,
              SIZE_HIDDEN, FORM_SAME, ORDER_ROWS),
    TENSOR_AS(ROLE_LIN_A, "ssm_alpha.weight", "linear_attn.in_proj_a.weight", SCOPE_LINEAR, SIZE_LINEAR_HEADS,
              SIZE_HIDDEN, FORM_SAME, ORDER_ROW_EACH),
    TENSOR_AS(ROLE_LIN_B, "ssm_beta.weight", "linear_attn.in_proj_b.weight", SCOPE_LINEAR, SIZE_LINEAR_HEADS,
              SIZE_HIDDEN, FORM_SAME, ORDER_ROW_EACH),
    TENSOR_AS(ROLE_LIN_CONV, "ssm_conv1d.weight", "linear_attn.conv1d.weight", SCOPE_LINEAR, SIZE_LINEAR_CHANNELS,
              SIZE_KERNEL, FORM_SAME, ORDER_ROWS_AFTER),
    TENSOR_AS(ROLE_LIN_A_LOG, "ssm_a", "linear_attn.A_log", SCOPE_LINEAR, SIZE_ONE, SIZE_LINEAR_HEADS, FORM_RATE,
              ORDER_COL_EACH),
    TENSOR_AS(ROLE_LIN_DT_BIAS, "ssm_dt.bias|ssm_dt", "linear_attn.dt_bias", SCOPE_LINEAR, SIZE_ONE,
              SIZE_LINEAR_HEADS, FORM_SAME, ORDER_COL_EACH),
    TENSOR(ROLE_LIN_NORM, "ssm_norm.weight", "linear_attn.norm.weight", SCOPE_LINEAR, SIZE_ONE, SIZE_LINEAR_HEAD),
    TENSOR_AS(ROLE_LIN_OUT, "ssm_out.weight", "linear_attn.out_proj.weight", SCOPE_LINEAR, SIZE_HIDDEN,
              SIZE_LINEAR_VALUE, FORM_SAME, ORDER_COLS),

    TENSOR(ROLE_MTP_FC, "nextn.eh_proj.weight", "fc.weight", SCOPE_HEAD, SIZE_HIDDEN, SIZE_TWICE_HIDDEN),
    NORM(ROLE_MTP_EMBED_NORM, "nextn.enorm.weight", "pre_fc_norm_embedding.weight", SCOPE_HEAD, SIZE_HIDDEN),
    NORM(ROLE_MTP_HIDDEN_NORM, "nextn.hnorm.weight", "pre_fc_norm_hidden.weight", SCOPE_HEAD, SIZE_HIDDEN),
    NORM(ROLE_MTP_NORM, "nextn.shared_head_norm.weight", "norm.weight", SCOPE_HEAD, SIZE_HIDDEN),
    TENSOR(ROLE_MTP_EMBED, "nextn.embed_tokens.weight", "embed_tokens.weight", SCOPE_HEAD, SIZE_VOCAB, SIZE_HIDDEN),
    TENSOR(ROLE_MTP_LM_HEAD, "nextn.shared_head_head.weight", "lm_head.weight", SCOPE_HEAD, SIZE_VOCAB, SIZE_HIDDEN),
    END_OF_ROWS,
};

/* Whole projections where others have two or three, and the other way round. */
#define ATTENTION_PIECES                                                                                               \
    SEVERAL("attn_qkv.weight", "self_attn.qkv_proj.weight", SCOPE_FULL, SIZE_ONE, 3, ROLE_Q, ROLE_K, ROLE_V),          \
        PART("attn_q.weight", "linear_attn.in_proj_q.weight", SCOPE_LINEAR, ROLE_LIN_QKV, SIZE_LINEAR_KEY, 0,          \
             SIZE_LINEAR_KEY),                                                                                         \
        PART("attn_k.weight", "linear_attn.in_proj_k.weight", SCOPE_LINEAR, ROLE_LIN_QKV, SIZE_LINEAR_KEY, 1,          \
             SIZE_LINEAR_KEY),                                                                                         \
        PART("attn_v.weight", "linear_attn.in_proj_v.weight", SCOPE_LINEAR, ROLE_LIN_QKV, SIZE_LINEAR_VALUE, 2,        \
             SIZE_LINEAR_KEY)

static const struct schema_pieces dense_pieces[] = {
    ATTENTION_PIECES,
    SEVERAL("ffn_gate_up.weight", "mlp.gate_up_proj.weight", SCOPE_EVERY, SIZE_ONE, 2, ROLE_GATE, ROLE_UP),
    END_OF_ROWS,
};

static const struct schema_pieces mixture_pieces[] = {
    ATTENTION_PIECES,
    SEVERAL("ffn_gate_up_shexp.weight", "mlp.shared_expert.gate_up_proj.weight", SCOPE_EVERY, SIZE_ONE, 2, ROLE_GATE,
            ROLE_UP),
    SEVERAL("ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj|mlp.switch_mlp.gate_up_proj.weight", SCOPE_EVERY,
            SIZE_EXPERTS, 2, ROLE_EXPERTS_GATE, ROLE_EXPERTS_UP),
    NUMBERED_PART(NULL, "mlp.experts.#.gate_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_GATE, SIZE_EXPERT, SIZE_EXPERTS),
    NUMBERED_PART(NULL, "mlp.experts.#.up_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_UP, SIZE_EXPERT, SIZE_EXPERTS),
    NUMBERED_PART(NULL, "mlp.experts.#.down_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_DOWN, SIZE_HIDDEN, SIZE_EXPERTS),
    END_OF_ROWS,
};

/* In Qwen3-Next's checkpoints the parts of each key head stand together. */
static const struct schema_pieces next_pieces[] = {
    SEVERAL("ffn_gate_up_shexp.weight", "mlp.shared_expert.gate_up_proj.weight", SCOPE_EVERY, SIZE_ONE, 2, ROLE_GATE,
            ROLE_UP),
    {.gguf = "ssm_in.weight",
     .hf = "linear_attn.in_proj_qkvz.weight",
     .scope = SCOPE_LINEAR,
     .groups = SIZE_LINEAR_KEY_HEADS,
     .parts = {ROLE_LIN_QKV, ROLE_LIN_QKV, ROLE_LIN_QKV, ROLE_LIN_Z},
     .n_parts = 4,
     .sizes = {SIZE_LINEAR_KEY, SIZE_LINEAR_KEY, SIZE_LINEAR_VALUE, SIZE_LINEAR_VALUE}},
    JOINED("ssm_ba.weight", "linear_attn.in_proj_ba.weight", SCOPE_LINEAR, SIZE_LINEAR_KEY_HEADS, 2, ROLE_LIN_B,
           ROLE_LIN_A),
    SEVERAL("ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj|mlp.switch_mlp.gate_up_proj.weight", SCOPE_EVERY,
            SIZE_EXPERTS, 2, ROLE_EXPERTS_GATE, ROLE_EXPERTS_UP),
    NUMBERED_PART(NULL, "mlp.experts.#.gate_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_GATE, SIZE_EXPERT, SIZE_EXPERTS),
    NUMBERED_PART(NULL, "mlp.experts.#.up_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_UP, SIZE_EXPERT, SIZE_EXPERTS),
    NUMBERED_PART(NULL, "mlp.experts.#.down_proj.weight", SCOPE_EVERY, ROLE_EXPERTS_DOWN, SIZE_HIDDEN, SIZE_EXPERTS),
    END_OF_ROWS,
};

/* ---- Architectures ----------------------------------------------------------------------------------------------- */

const struct schema schema_qwen35 = {
    .gguf = "qwen35",
    .json = "qwen3_5|qwen3_5_text",
    .title = "Qwen3.5",
    .model = "model.",
    .layers = "layers.",
    .gated = true,
    .penalised = true,
    .sections = true,
    .tiled = true,
    .interval = 4,
    .rotated = 0.25,
    .keys = {text_keys, parts_delta_keys, dense_keys},
    .tensors = {text_tensors, parts_dense_tensors},
    .pieces = dense_pieces,
};

const struct schema schema_qwen35moe = {
    .gguf = "qwen35moe",
    .json = "qwen3_5_moe|qwen3_5_moe_text",
    .title = "Qwen3.5 MoE",
    .mixture = true,
    .model = "model.",
    .layers = "layers.",
    .gated = true,
    .penalised = true,
    .sections = true,
    .tiled = true,
    .interval = 4,
    .rotated = 0.25,
    .keys = {text_keys, parts_delta_keys, parts_mixture_keys, shared_keys, normed_keys},
    .tensors = {text_tensors, parts_shared_tensors, parts_mixture_tensors},
    .pieces = mixture_pieces,
};

const struct schema schema_qwen3next = {
    .gguf = "qwen3next",
    .json = "qwen3_next",
    .title = "Qwen3-Next",
    .mixture = true,
    .model = "model.",
    .layers = "layers.",
    .gated = true,
    .interval = 4,
    .rotated = 0.25,
    .keys = {parts_text_keys, parts_rms_keys, next_keys, parts_delta_keys, parts_mixture_keys, shared_keys},
    .tensors = {text_tensors, parts_shared_tensors, parts_mixture_tensors},
    .pieces = next_pieces,
};
