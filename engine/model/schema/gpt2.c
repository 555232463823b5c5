/* GPT-2: learned positions, LayerNorms, biases everywhere, GELU without a gate. Its checkpoints hold matrices
 * [columns][rows]. */
#include "engine/model/schema/parts.h"
#include "engine/model/schema/rows.h"

static const struct schema_key keys[] = {
    REAL(".attention.layer_norm_epsilon", NULL, rms_eps),
    REAL_OR(NULL, "layer_norm_epsilon", rms_eps, 1e-5),
    NUMBER_OR(".feed_forward_length", "n_inner|intermediate_size", feed.intermediate, 1, CONFIG_MAX_WIDTH, 0),
    ONLY(NULL, "activation_function", "gelu_new|gelu_pytorch_tanh|gelu_fast"),
    ONLY(NULL, "scale_attn_weights", "true"),
    ONLY(NULL, "scale_attn_by_inverse_layer_idx", "false"),
    HARMLESS(NULL, "reorder_and_upcast_attn", "all is float32 in any case"),
    HARMLESS(NULL, "n_ctx", "n_positions counts"),
    HARMLESS(NULL, "summary_*", "for other tasks than chat"),
    HARMLESS(NULL, "attn_pdrop|embd_pdrop|resid_pdrop", "for training"),
    END_OF_ROWS,
};

#define TURNED(what, in_gguf, in_hf, height, width)                                                                    \
    {                                                                                                                  \
        .role = what, .gguf = in_gguf, .hf = in_hf, .scope = SCOPE_EVERY, .rows = height, .cols = width,               \
        .turned = true                                                                                                 \
    }
#define NORM_PART(what, in_gguf, in_hf, where) TENSOR(what, in_gguf, in_hf, where, SIZE_ONE, SIZE_HIDDEN)

static const struct schema_tensor tensors[] = {
    TENSOR(ROLE_EMBED, "token_embd.weight", "wte.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    TENSOR(ROLE_LM_HEAD, "output.weight", "lm_head.weight", SCOPE_ONCE, SIZE_VOCAB, SIZE_HIDDEN),
    TENSOR(ROLE_POSITIONS, "position_embd.weight", "wpe.weight", SCOPE_ONCE, SIZE_POSITIONS, SIZE_HIDDEN),
    NORM_PART(ROLE_FINAL_NORM, "output_norm.weight", "ln_f.weight", SCOPE_ONCE),
    NORM_PART(ROLE_FINAL_NORM_BIAS, "output_norm.bias", "ln_f.bias", SCOPE_ONCE),
    NORM_PART(ROLE_INPUT_NORM, "attn_norm.weight", "ln_1.weight", SCOPE_EVERY),
    NORM_PART(ROLE_INPUT_NORM_BIAS, "attn_norm.bias", "ln_1.bias", SCOPE_EVERY),
    NORM_PART(ROLE_POST_NORM, "ffn_norm.weight", "ln_2.weight", SCOPE_EVERY),
    NORM_PART(ROLE_POST_NORM_BIAS, "ffn_norm.bias", "ln_2.bias", SCOPE_EVERY),

    TURNED(ROLE_Q, "attn_q.weight", "attn.q_proj.weight", SIZE_QUERY, SIZE_HIDDEN),
    TURNED(ROLE_K, "attn_k.weight", "attn.k_proj.weight", SIZE_KEY, SIZE_HIDDEN),
    TURNED(ROLE_V, "attn_v.weight", "attn.v_proj.weight", SIZE_KEY, SIZE_HIDDEN),
    TURNED(ROLE_O, "attn_output.weight", "attn.c_proj.weight", SIZE_HIDDEN, SIZE_QUERY),
    BIAS(ROLE_Q_BIAS, "attn_q.bias", "attn.q_proj.bias", SCOPE_EVERY, SIZE_QUERY),
    BIAS(ROLE_K_BIAS, "attn_k.bias", "attn.k_proj.bias", SCOPE_EVERY, SIZE_KEY),
    BIAS(ROLE_V_BIAS, "attn_v.bias", "attn.v_proj.bias", SCOPE_EVERY, SIZE_KEY),
    BIAS(ROLE_O_BIAS, "attn_output.bias", "attn.c_proj.bias", SCOPE_EVERY, SIZE_HIDDEN),

    TURNED(ROLE_UP, "ffn_up.weight", "mlp.c_fc.weight", SIZE_INTERMEDIATE, SIZE_HIDDEN),
    TURNED(ROLE_DOWN, "ffn_down.weight", "mlp.c_proj.weight", SIZE_HIDDEN, SIZE_INTERMEDIATE),
    BIAS(ROLE_UP_BIAS, "ffn_up.bias", "mlp.c_fc.bias", SCOPE_EVERY, SIZE_INTERMEDIATE),
    BIAS(ROLE_DOWN_BIAS, "ffn_down.bias", "mlp.c_proj.bias", SCOPE_EVERY, SIZE_HIDDEN),
    END_OF_ROWS,
};

static const struct schema_pieces pieces[] = {
    {.gguf = "attn_qkv.weight",
     .hf = "attn.c_attn.weight",
     .scope = SCOPE_EVERY,
     .groups = SIZE_ONE,
     .parts = {ROLE_Q, ROLE_K, ROLE_V},
     .n_parts = 3,
     .turned = true,
     .joined = true},
    JOINED("attn_qkv.bias", "attn.c_attn.bias", SCOPE_EVERY, SIZE_ONE, 3, ROLE_Q_BIAS, ROLE_K_BIAS, ROLE_V_BIAS),
    END_OF_ROWS,
};

const struct schema schema_gpt2 = {
    .gguf = "gpt2",
    .json = "gpt2",
    .title = "GPT-2",
    .model = "transformer.",
    .layers = "h.",
    .norm = CONFIG_NORM_LAYER,
    .feed = CONFIG_FEED_GELU,
    .tied = true,
    .interval = 1,
    .keys = {parts_text_keys, keys},
    .tensors = {tensors},
    .pieces = pieces,
};
