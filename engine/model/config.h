/* The configuration of a model, read from its file and validated: arrays may be sized by it.
 *
 * Qwen3.5 text models: `layers` blocks of either gated full attention or Gated DeltaNet ("linear") attention, each
 * followed by a SwiGLU feed-forward network, or by a mixture of such experts and one that all tokens share; RMS norms
 * before both and at the end.
 */
#ifndef TANDEM_MODEL_CONFIG_H
#define TANDEM_MODEL_CONFIG_H

#include "engine/tandem.h"

struct gguf;
struct json_object;

enum { CONFIG_MAX_LAYERS = 512, CONFIG_MAX_STOPS = 16, CONFIG_MAX_HEAD = 256 };
enum { CONFIG_MAX_EXPERTS = 4096, CONFIG_MAX_USED = 64 };

struct config {
    char architecture[32]; /* "qwen35" or "qwen35moe": what GGUF keys begin with */
    char name[128];        /* the model's own name, or "" ; no control characters */

    uint32_t hidden;         /* width of the residual stream */
    uint32_t layers;         /* blocks; MTP blocks not counted */
    uint32_t whole_layers;   /* of the full model, if this is a part of it (synthetic ones may be); else = layers */
    uint32_t intermediate;   /* width of the feed-forward network; of the shared expert in a mixture */
    uint32_t vocab;          /* rows of the embeddings and of the LM head */
    uint32_t context_length; /* positions that the model was made for */
    bool tied;               /* the LM head is the embedding matrix */
    float rms_eps;

    /* Mixture of experts; experts 0: none. */
    uint32_t experts, experts_used; /* of a layer; of them for each token, at most experts */
    uint32_t expert_intermediate;   /* width of each */

    /* Full attention: q_proj yields, per head, head_dim query values and then head_dim gate values. */
    uint32_t heads, kv_heads; /* kv_heads divides heads */
    uint32_t head_dim;        /* 16..256, even */
    uint32_t rope_dims;       /* rotated elements at the start of each head, even, <= head_dim */
    float rope_theta;
    uint32_t rope_sections[4]; /* pairs per axis of the multimodal RoPE; all axes are equal for text */

    /* Gated DeltaNet. Channels of in_proj_qkv and of the convolution: q, k (key_heads x key_dim each), then v. */
    uint32_t lin_key_heads, lin_value_heads; /* lin_key_heads divides lin_value_heads */
    uint32_t lin_key_dim, lin_value_dim;     /* 16..256, even */
    uint32_t conv_kernel;                    /* taps, 2..8 */
    /* Which key head serves value head h: h % lin_key_heads when tiled (GGUF stores them so), otherwise
     * h / (lin_value_heads / lin_key_heads). */
    bool value_heads_tiled;

    bool full_attention[CONFIG_MAX_LAYERS + 1]; /* the kind of each block (config_blocks) */

    int32_t stops[CONFIG_MAX_STOPS]; /* ids that end a reply; the first is the end of a turn */
    uint32_t stop_count;

    /* Multi-token prediction. The head is used if the files have exactly one block for it. */
    uint32_t mtp_layers;                /* blocks that the files say they have */
    bool mtp;                           /* there is a head: block number `layers`, which is full attention */
    bool mtp_norm, mtp_embed, mtp_head; /* it has its own last norm, embeddings, LM head; else the trunk's serve */
};

/* Channels of the convolution: rows of in_proj_qkv. */
static inline uint32_t config_conv_channels(const struct config *c)
{
    return 2 * c->lin_key_heads * c->lin_key_dim + c->lin_value_heads * c->lin_value_dim;
}

/* The layers, and the block of the MTP head. */
static inline uint32_t config_blocks(const struct config *c)
{
    return c->layers + c->mtp;
}

/* Fills c from GGUF metadata (keys `qwen35.*` or `qwen35moe.*`), or from config.json (flat, or nested under
 * text_config). `file` is for error lines. vocab: config_from_json takes vocab_size, config_from_gguf leaves it 0 for
 * the caller to set from the tensors. `tied` and what the MTP head has are set from the tensors in any case. */
tdm_status config_from_gguf(struct config *c, const struct gguf *gguf, tdm_error *err);
tdm_status config_from_json(struct config *c, struct json_object *json, const char *file, tdm_error *err);

/* Adds the eos_token_id of generation_config.json, before those of config.json. */
tdm_status config_stops_from_json(struct config *c, struct json_object *json, const char *file, tdm_error *err);

/* Checks the ranges and divisibilities above; c->vocab must be set. */
tdm_status config_validate(const struct config *c, const char *file, tdm_error *err);

/* Adds a stop id unless it is there; config_validate refuses ids outside the vocabulary. */
void config_add_stop(struct config *c, int64_t id);

#endif
