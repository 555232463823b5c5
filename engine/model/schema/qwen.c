/* Qwen2, which has biases, and Qwen3, which has norms of queries and keys, dense or with a mixture of experts. */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

/* An absent flag is true in GGUF, false in a checkpoint. */
static const struct schema_key mixture_keys[] = {
    FLAG(".expert_weights_norm|.norm_top_k_prob", NULL, experts.norm_topk, true),
    FLAG(NULL, "norm_topk_prob|norm_top_k_prob", experts.norm_topk, false),
    END_OF_ROWS,
};

const struct schema schema_qwen2 = {
    .gguf = "qwen2",
    .json = "qwen2",
    .title = "Qwen2",
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .windows = true,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_dense_keys, parts_scaled_keys},
    .tensors = {parts_norm_tensors, parts_attention_tensors, parts_bias_tensors, parts_dense_tensors},
    .pieces = parts_dense_pieces,
};

const struct schema schema_qwen3 = {
    .gguf = "qwen3",
    .json = "qwen3",
    .title = "Qwen3",
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .windows = true,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_dense_keys, parts_scaled_keys},
    .tensors = {parts_norm_tensors, parts_attention_tensors, parts_head_norm_tensors, parts_optional_tensors,
                parts_dense_tensors},
    .pieces = parts_dense_pieces,
};

const struct schema schema_qwen3moe = {
    .gguf = "qwen3moe",
    .json = "qwen3_moe",
    .title = "Qwen3 MoE",
    .mixture = true,
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .windows = true,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_mixture_keys, parts_scaled_keys, mixture_keys},
    .tensors = {parts_norm_tensors, parts_attention_tensors, parts_head_norm_tensors, parts_mixture_tensors},
    .pieces = parts_mixture_pieces,
};
