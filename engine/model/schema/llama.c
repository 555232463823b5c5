/* Llama (2, 3.x, TinyLlama, the distills of R1) and what is built like it: Mistral, Ministral, SmolLM3, Granite. Their
 * GGUF files have queries and keys for rotation pair by pair. */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

static const struct schema_key smollm3_keys[] = {
    SPECIAL(NULL, "no_rope_layers|no_rope_layer_interval"),
    END_OF_ROWS,
};

/* An absent scale is head_dim^-1/2 in GGUF, 1 in a checkpoint. */
static const struct schema_key granite_keys[] = {
    REAL_OR(".attention.scale", NULL, attention.scale, 0),
    REAL_OR(NULL, "attention_multiplier", attention.scale, 1),
    REAL_OR(".embedding_scale", "embedding_multiplier", scales.embedding, 1),
    REAL_OR(".residual_scale", "residual_multiplier", scales.residual, 1),
    REAL_OR(".logit_scale", "logits_scaling", scales.logit_divisor, 1),
    END_OF_ROWS,
};

#define TENSORS_LIKE_LLAMA                                                                                             \
    {                                                                                                                  \
        parts_norm_tensors, parts_paired_tensors, parts_optional_tensors, parts_dense_tensors                          \
    }

const struct schema schema_llama = {
    .gguf = "llama",
    .json = "llama|mistral",
    .title = "Llama",
    .outer = "mistral3",
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .windows = true,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_dense_keys, parts_scaled_keys},
    .tensors = TENSORS_LIKE_LLAMA,
    .pieces = parts_dense_pieces,
};

const struct schema schema_mistral3 = {
    .gguf = "mistral3",
    .json = "ministral3",
    .title = "Ministral",
    .outer = "mistral3",
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .windows = true,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_dense_keys, parts_scaled_keys},
    .tensors = TENSORS_LIKE_LLAMA,
    .pieces = parts_dense_pieces,
};

const struct schema schema_smollm3 = {
    .gguf = "smollm3",
    .json = "smollm3",
    .title = "SmolLM3",
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .windows = true,
    .interval = 1,
    .unrotated = 4,
    .tied = true,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_dense_keys, parts_scaled_keys, smollm3_keys},
    .tensors = TENSORS_LIKE_LLAMA,
    .pieces = parts_dense_pieces,
};

const struct schema schema_granite = {
    .gguf = "granite",
    .json = "granite",
    .title = "Granite",
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_dense_keys, parts_scaled_keys, granite_keys},
    .tensors = TENSORS_LIKE_LLAMA,
    .pieces = parts_dense_pieces,
};
