/* Phi-3 and Phi-4 (dense): fused projections; in their long forms each pair has divisors of its own, of two lists. */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

static const struct schema_key keys[] = {
    SPECIAL(".attention.sliding_window", NULL),
    ONLY(NULL, "full_attn_mod", "1"),
    ONLY(NULL, "lm_head_bias", "false"),
    HARMLESS(NULL, "embd_pdrop|resid_pdrop", "for training"),
    END_OF_ROWS,
};

static const struct schema_pieces pieces[] = {
    JOINED("attn_qkv.weight", "self_attn.qkv_proj.weight", SCOPE_FULL, SIZE_ONE, 3, ROLE_Q, ROLE_K, ROLE_V),
    JOINED("ffn_up.weight", "mlp.gate_up_proj.weight", SCOPE_EVERY, SIZE_ONE, 2, ROLE_GATE, ROLE_UP),
    END_OF_ROWS,
};

/* GGUF's "ffn_up" is gate and up. */
static const struct schema_tensor feed_tensors[] = {
    TENSOR(ROLE_GATE, "", "mlp.gate_proj.weight", SCOPE_EVERY, SIZE_INTERMEDIATE, SIZE_HIDDEN),
    TENSOR(ROLE_UP, "", "mlp.up_proj.weight", SCOPE_EVERY, SIZE_INTERMEDIATE, SIZE_HIDDEN),
    TENSOR(ROLE_DOWN, "ffn_down.weight", "mlp.down_proj.weight", SCOPE_EVERY, SIZE_HIDDEN, SIZE_INTERMEDIATE),
    END_OF_ROWS,
};

const struct schema schema_phi3 = {
    .gguf = "phi3",
    .json = "phi3",
    .title = "Phi-3",
    .model = "model.",
    .layers = "layers.",
    .scaled = true,
    .windows = true,
    .interval = 1,
    .rotated = 1,
    .keys = {parts_text_keys, parts_rms_keys, parts_dense_keys, parts_scaled_keys, keys},
    .tensors = {parts_norm_tensors, parts_attention_tensors, feed_tensors},
    .pieces = pieces,
};
