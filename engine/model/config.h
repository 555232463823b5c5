/* The configuration of a model, read from its file and validated: arrays may be sized by it. Forward passes go by this
 * table: a model's computation follows from it and from the model's tensors (role.h), never from the name of its
 * family.
 *
 * `layers` blocks of either attention or Gated DeltaNet ("linear" attention), each followed by a feed-forward network,
 * or by a mixture of such experts and perhaps one that all tokens share; norms before both and at the end.
 */
#ifndef TANDEM_MODEL_CONFIG_H
#define TANDEM_MODEL_CONFIG_H

#include "engine/tandem.h"

struct gguf;
struct json_object;
struct schema;
struct unknowns;

/* Generous bounds: far beyond every released model, small enough that products of two fit into 64 bits and of sizes in
 * bytes stay sane. */
enum { CONFIG_MAX_WIDTH = 1 << 20, CONFIG_MAX_HEADS = 4096, CONFIG_MAX_CONTEXT = 1 << 30 };
enum { CONFIG_MAX_LAYERS = 512, CONFIG_MAX_STOPS = 16, CONFIG_MAX_HEAD = 512, CONFIG_MAX_LINEAR_HEAD = 256 };
enum { CONFIG_MAX_EXPERTS = 4096, CONFIG_MAX_USED = 64 };

/* Multi-token prediction. The head is used if the files have exactly one block for it. */
struct config_mtp {
    uint32_t layers;        /* blocks that the files say they have */
    bool there;             /* there is a head: block number `layers` of the config, which is full attention */
    bool norm, embed, head; /* it has its own last norm, embeddings, LM head; otherwise it uses the trunk's */
};

enum config_norm {
    CONFIG_NORM_RMS,   /* x / sqrt(mean x^2 + eps) * multiplier */
    CONFIG_NORM_LAYER, /* (x - mean) / sqrt(variance + eps) * multiplier + bias */
};

enum config_feed_kind {
    CONFIG_FEED_SILU,       /* down(silu(gate n) * up n) */
    CONFIG_FEED_GELU,       /* down(gelu(up n)), gelu by its tanh form; up has a bias */
    CONFIG_FEED_GELU_GATED, /* down(gelu(gate n) * up n) */
    CONFIG_FEED_CLAMPED,    /* down(g sigmoid(1.702 g) * (u + 1)), g = gate n, at most limit, u = up n within it */
};

/* How rotated positions are extended beyond the positions of the first training. */
enum config_scaling {
    CONFIG_SCALING_NONE,
    CONFIG_SCALING_LINEAR, /* all frequencies are divided by `factor` */
    CONFIG_SCALING_LLAMA3, /* only those of long wavelengths are divided, with a smooth transition between two
                              wavelengths */
    CONFIG_SCALING_YARN,   /* the same, with a transition between two numbers of rotations within `original` positions;
                              arXiv:2309.00071 */
    CONFIG_SCALING_LONG,   /* each is divided by its own factor, of two lists: arXiv:2402.13753 */
    CONFIG_SCALING_PROPORTIONAL, /* all are divided by `factor`, and only the first pairs are rotated */
    CONFIG_SCALINGS
};

struct config_rope_scaling {
    enum config_scaling kind;
    float factor;
    uint32_t original; /* positions of the first training */
    float slow, fast;  /* LLAMA3: factors of low and high frequencies; YARN: rotations (beta_slow, beta_fast) */
    bool whole;        /* YARN: the transition begins and ends at whole pairs */
    float amplitude;   /* factor of cosines and sines: 1, except for YARN and LONG */
    float attention;   /* queries at position p are multiplied by 1 + attention ln(1 + floor(p / original)) */
    bool listed;       /* the file has the divisors themselves */
    uint32_t turning;  /* PROPORTIONAL: this many pairs are rotated */
    /* The divisor of each pair's frequency; INFINITY: the pair isn't rotated. [1]: in states with room for more than
     * `original` positions. */
    float divisors[2][CONFIG_MAX_HEAD / 2];
};

/* The feed-forward network. */
struct config_feed {
    enum config_feed_kind kind;
    uint32_t intermediate;        /* width; of the shared expert in a mixture */
    uint32_t shared_intermediate; /* width in layers that share keys and values; 0: the same */
    float limit;                  /* CLAMPED */
};

/* Mixture of experts; count 0: none. */
struct config_experts {
    uint32_t count, used;  /* of a layer; of them for each token, at most count */
    uint32_t intermediate; /* width of each */
    bool norm_topk; /* the probabilities of a token's experts are divided by their sum; otherwise they stay those of the
                       softmax over all experts */
};

struct config_attention {
    uint32_t heads, kv_heads; /* kv_heads divides heads */
    uint32_t head_dim;        /* 16..512, even */
    uint32_t window_kv_heads, window_head_dim; /* of layers with windows; 0: as in the others */
    uint32_t shared_layers;   /* how many of the last layers read the keys and values of the last layer of their kind
                                 before them */
    bool value_norm;          /* the values of each head are normalised, without multipliers */
    bool values_are_keys;     /* layers without a window use the output of k_proj as values, too */
    bool gated;               /* q_proj yields, per head, head_dim query values and then head_dim gate values */
    float scale;              /* of the products of queries and keys; usually head_dim^-1/2 */
    float query_scalar;       /* the scale is this to the power of -1/2; 0: the file has no such key */
    float cap;                /* products v of queries and keys become cap tanh(v / cap); 0: they stay */
};

/* Rotated positions. */
struct config_rope {
    uint32_t dims; /* rotated elements at the start of each head, even, <= head_dim; 0: no rotation */
    float theta;
    float window_theta;   /* of layers with a window, whose positions are not scaled; 0: as in the others */
    uint32_t sections[4]; /* pairs per axis of the multimodal RoPE; all axes are equal for text */
    struct config_rope_scaling scaling;
};

/* Gated DeltaNet, where there are such layers. Channels of in_proj_qkv and of the convolution: q, k (key_heads x
 * key_dim each), then v. */
struct config_delta {
    uint32_t key_heads, value_heads; /* key_heads divides value_heads */
    uint32_t key_dim, value_dim;     /* 16..256, even */
    uint32_t conv_kernel;            /* taps, 2..8 */
    /* Which key head serves value head h: h % key_heads when tiled (GGUF stores them so), otherwise
     * h / (value_heads / key_heads). */
    bool value_heads_tiled;
};

/* Factors, 1 in most models. */
struct config_scales {
    float embedding;     /* of the embeddings */
    float residual;      /* of the output of each sublayer, before it is added */
    float logit_divisor; /* logits are divided by it */
    float logit_cap;     /* logits v become cap tanh(v / cap); 0: they stay */
};

/* The ids that end a reply. */
struct config_stops {
    int32_t ids[CONFIG_MAX_STOPS]; /* the first is the end of a turn */
    uint32_t count;
};

struct config {
    const struct schema *schema; /* what its files hold (schema.h) */
    char architecture[32];       /* "qwen35": what GGUF keys begin with */
    char name[128];              /* the model's own name, or ""; no control characters */

    uint32_t hidden;         /* width of the residual stream */
    uint32_t layers;         /* blocks; MTP blocks not counted */
    uint32_t whole_layers;   /* of the full model, if this is a part of it (synthetic ones may be); else = layers */
    uint32_t layer_input;    /* width of the input that each layer looks up in a table by the token; 0: none */
    uint32_t vocab;          /* rows of the embeddings and of the LM head */
    uint32_t context_length; /* positions that the model was made for */
    uint32_t positions;      /* rows of learned positions, which are added to the embeddings; 0: none */
    bool tied;               /* the LM head is the embedding matrix */
    enum config_norm norm;
    float rms_eps;     /* of either kind of norm */
    uint64_t optional; /* bits of the roles (role.h) that are optional in the schema and that the files have */

    struct config_feed feed;
    struct config_experts experts;
    struct config_attention attention;
    struct config_rope rope;
    struct config_delta delta;
    struct config_scales scales;

    /* The kind of each block (config_blocks blocks). */
    bool full_attention[CONFIG_MAX_LAYERS + 1]; /* attention, not a DeltaNet */
    bool unrotated[CONFIG_MAX_LAYERS + 1];      /* attention without positions */
    uint32_t window[CONFIG_MAX_LAYERS + 1]; /* how many positions a token sees, its own the last; 0: all before it */

    struct config_stops stops;
    struct config_mtp mtp;
};

/* Channels of the convolution: rows of in_proj_qkv. */
static inline uint32_t config_conv_channels(const struct config_delta *d)
{
    return 2 * d->key_heads * d->key_dim + d->value_heads * d->value_dim;
}

/* The layers, and the block of the MTP head. */
static inline uint32_t config_blocks(const struct config *c)
{
    return c->layers + c->mtp.there;
}

/* The shape of a layer's attention and feed-forward network. */
static inline uint32_t config_kv_heads(const struct config *c, uint32_t layer)
{
    const struct config_attention *a = &c->attention;
    return c->window[layer] && a->window_kv_heads ? a->window_kv_heads : a->kv_heads;
}

static inline uint32_t config_head_dim(const struct config *c, uint32_t layer)
{
    const struct config_attention *a = &c->attention;
    return c->window[layer] && a->window_head_dim ? a->window_head_dim : a->head_dim;
}

/* The largest values of all layers, including the MTP head's. */
struct config_heads {
    uint32_t head_dim;
    uint32_t keys;  /* elements of all KV heads of a layer */
    uint32_t group; /* heads that share a KV head */
};
struct config_heads config_widest_heads(const struct config *c);

/* Elements at the start of each head that are rotated. */
static inline uint32_t config_rope_dims(const struct config *c, uint32_t layer)
{
    return c->window[layer] && c->attention.window_head_dim ? c->attention.window_head_dim : c->rope.dims;
}

static inline bool config_shares(const struct config *c, uint32_t layer)
{
    return layer < c->layers && layer >= c->layers - c->attention.shared_layers;
}

static inline uint32_t config_intermediate(const struct config *c, uint32_t layer)
{
    return config_shares(c, layer) && c->feed.shared_intermediate ? c->feed.shared_intermediate : c->feed.intermediate;
}

/* The layer whose keys and values a layer reads: its own, or, if it shares them, the last layer of its kind before the
 * first one that shares; UINT32_MAX: there is none. */
uint32_t config_keys_of(const struct config *c, uint32_t layer);

/* Does it have DeltaNet layers? */
bool config_is_recurrent(const struct config *c);
/* The window of its layers of attention, 0: none has one; false: only some of them have it. */
bool config_window(const struct config *c, uint32_t *window);

/* Fills c from GGUF metadata (keys `ARCHITECTURE.*`), or from config.json (flat, or nested under text_config). A key
 * that is neither used nor known to be without effect is refused, or noted in u (unknown.h). `file` is for error lines.
 * vocab: config_from_json takes vocab_size, config_from_gguf leaves it 0 for the caller to set from the tensors. `tied`
 * and what the MTP head has are set from the tensors in any case, and the ids that end a reply by generation.h. */
tdm_status config_from_gguf(struct config *c, const struct gguf *gguf, struct unknowns *u, tdm_error *err);
tdm_status config_from_json(struct config *c, struct json_object *json, const char *file, struct unknowns *u,
                            tdm_error *err);

/* Checks the ranges and divisibilities above; c->vocab must be set. */
tdm_status config_validate(const struct config *c, const char *file, tdm_error *err);

/* Sets the model's name to the printable form of an untrusted text. */
void config_set_name(struct config *c, const char *bytes, size_t length);
/* Gives all layers this window, except every `pattern`-th; pattern 0: gives it to all. */
void config_set_windows(struct config *c, uint32_t window, uint32_t pattern);
/* Makes every `interval`-th layer full attention. */
void config_set_interval(struct config *c, uint64_t interval);
/* The interval of full attention; 0: it is not regular. */
uint32_t config_interval(const struct config *c);
/* Splits the rotated pairs over the axes as the released models do (32: 11, 11, 10). */
void config_set_sections(struct config *c);
/* Fills in what files may leave out: key/value heads, the size of a head, the scale of attention. */
void config_complete(struct config *c);

/* Adds a stop id unless it is there; config_validate refuses ids outside the vocabulary. */
void config_add_stop(struct config_stops *stops, int64_t id);
bool config_is_stop(const struct config_stops *stops, int32_t id);

#endif
