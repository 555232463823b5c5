/* Gemma 2 and 3 (text): four norms a layer, their 1 added, embeddings times the root of their width, most layers with a
 * window; soft caps (2), norms of queries and keys and a base for each kind of layer (3). */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

enum { MAX_WIDTH = CONFIG_MAX_WIDTH, MAX_HEADS = CONFIG_MAX_HEADS };

/* Checkpoints with pictures leave out what is as in the 4B model. */
static const struct schema_key keys[] = {
    GEMMA_OPENING(262208),
    NUMBER(".attention.head_count", NULL, attention.heads, 1, MAX_HEADS),
    NUMBER_OR(NULL, "num_attention_heads", attention.heads, 1, MAX_HEADS, 8),
    NUMBER_OR(".attention.head_count_kv", NULL, attention.kv_heads, 1, MAX_HEADS, 0),
    NUMBER_OR(NULL, "num_key_value_heads", attention.kv_heads, 1, MAX_HEADS, 4),
    NUMBER_OR(".attention.key_length", NULL, attention.head_dim, 1, MAX_WIDTH, 256),
    NUMBER_OR(NULL, "head_dim", attention.head_dim, 1, MAX_WIDTH, 256),
    EQUAL(".attention.value_length", NULL, attention.head_dim),
    REAL(".attention.layer_norm_rms_epsilon", NULL, rms_eps),
    REAL_OR(NULL, "rms_norm_eps", rms_eps, 1e-6),
    REAL_OR(".attention.scale", NULL, attention.scale, 0),
    REAL_OR(NULL, "query_pre_attn_scalar", attention.query_scalar, 256),
    REAL_OR(".attn_logit_softcapping", "attn_logit_softcapping", attention.cap, 0),
    REAL_OR(".final_logit_softcapping", "final_logit_softcapping", scales.logit_cap, 0),
    ONLY(NULL, "hidden_act|hidden_activation", "gelu_pytorch_tanh|gelu_tanh"),
    ONLY(NULL, "attention_bias|use_bidirectional_attention", "false"),
    SPECIAL(".block_count", "num_hidden_layers"),
    SPECIAL(".attention.sliding_window|.attention.sliding_window_pattern",
            "sliding_window_pattern|_sliding_window_pattern"),
    SPECIAL(".rope.freq_base_swa", "rope_local_base_freq"),
    SPECIAL(NULL, "layer_types"),
    HARMLESS(NULL, "cache_implementation|mm_tokens_per_image", "how another program computes the same"),
    END_OF_ROWS,
};

static const struct schema_tensor tensors[] = {
    FOUR_NORMS(NORM),
    END_OF_ROWS,
};

static const struct schema_tensor head_norms[] = {
    NORM(ROLE_Q_NORM, "attn_q_norm.weight", "self_attn.q_norm.weight", SCOPE_FULL, SIZE_HEAD),
    NORM(ROLE_K_NORM, "attn_k_norm.weight", "self_attn.k_norm.weight", SCOPE_FULL, SIZE_HEAD),
    END_OF_ROWS,
};

const struct schema schema_gemma2 = {
    .gguf = "gemma2",
    .json = "gemma2",
    .title = "Gemma 2",
    .model = "model.",
    .layers = "layers.",
    .feed = CONFIG_FEED_GELU_GATED,
    .tied = true,
    .scaled = true,
    .windows = true,
    .root = true,
    .pattern = 2,
    .wide_layers = 46,
    .interval = 1,
    .rotated = 1,
    .keys = {keys, parts_dense_keys, parts_scaled_keys},
    .tensors = {tensors, parts_attention_tensors, parts_dense_tensors},
    .pieces = parts_dense_pieces,
};

const struct schema schema_gemma3 = {
    .gguf = "gemma3",
    .json = "gemma3_text|gemma3",
    .title = "Gemma 3",
    .model = "model.",
    .layers = "layers.",
    .feed = CONFIG_FEED_GELU_GATED,
    .tied = true,
    .scaled = true,
    .windows = true,
    .root = true,
    .window_base = true,
    .pattern = 6,
    .wide_layers = 62,
    .interval = 1,
    .rotated = 1,
    .keys = {keys, parts_dense_keys, parts_scaled_keys},
    .tensors = {tensors, parts_attention_tensors, head_norms, parts_dense_tensors},
    .pieces = parts_dense_pieces,
};
