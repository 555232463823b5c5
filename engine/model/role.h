/* Roles: the tensors of a model, each with its purpose, its shape and its name in either file format. */
#ifndef TANDEM_MODEL_ROLE_H
#define TANDEM_MODEL_ROLE_H

#include "engine/model/config.h"
#include "engine/model/gguf.h"

enum role {
    /* once */
    ROLE_EMBED,      /* [vocab][hidden] */
    ROLE_LM_HEAD,    /* [vocab][hidden]; the embeddings themselves when tied */
    ROLE_FINAL_NORM, /* hidden */
    /* in every layer */
    ROLE_INPUT_NORM, /* hidden */
    ROLE_POST_NORM,  /* hidden: before the feed-forward network */
    ROLE_GATE,       /* [intermediate][hidden]; in a mixture these three are the shared expert */
    ROLE_UP,         /* [intermediate][hidden] */
    ROLE_DOWN,       /* [hidden][intermediate] */
    /* mixture of experts: matrices of all experts, one after the other */
    ROLE_ROUTER,       /* [experts][hidden]: multiplied in float32, never quantised */
    ROLE_SHARED_GATE,  /* hidden: the sigmoid of its dot product with n weights the shared expert */
    ROLE_EXPERTS_GATE, /* [experts * expert_intermediate][hidden] */
    ROLE_EXPERTS_UP,   /* [experts * expert_intermediate][hidden] */
    ROLE_EXPERTS_DOWN, /* [experts * hidden][expert_intermediate] */
    /* full attention */
    ROLE_Q,      /* [heads * 2 * head_dim][hidden]: per head the query, then the output gate */
    ROLE_K,      /* [kv_heads * head_dim][hidden] */
    ROLE_V,      /* [kv_heads * head_dim][hidden] */
    ROLE_O,      /* [hidden][heads * head_dim] */
    ROLE_Q_NORM, /* head_dim */
    ROLE_K_NORM, /* head_dim */
    /* Gated DeltaNet ("linear" attention) */
    ROLE_LIN_QKV,     /* [conv channels][hidden]: all q heads, all k heads, all v heads */
    ROLE_LIN_Z,       /* [value_heads * value_dim][hidden]: the output gate */
    ROLE_LIN_A,       /* [value_heads][hidden]: decay */
    ROLE_LIN_B,       /* [value_heads][hidden]: beta */
    ROLE_LIN_CONV,    /* [conv channels][conv_kernel] */
    ROLE_LIN_A_LOG,   /* value_heads */
    ROLE_LIN_DT_BIAS, /* value_heads */
    ROLE_LIN_NORM,    /* value_dim */
    ROLE_LIN_OUT,     /* [hidden][value_heads * value_dim] */
    /* MTP head: in its block (config.h) beside the roles of a layer of full attention */
    ROLE_MTP_FC,          /* [hidden][2 * hidden]: embedding first, then the trunk's output */
    ROLE_MTP_EMBED_NORM,  /* hidden */
    ROLE_MTP_HIDDEN_NORM, /* hidden */
    ROLE_MTP_NORM,        /* hidden: before the LM head; may be missing, as the next two */
    ROLE_MTP_EMBED,       /* [vocab][hidden] */
    ROLE_MTP_LM_HEAD,     /* [vocab][hidden] */
    ROLE_COUNT,
    /* only in files, where each expert's gate and up follow each other: sources present them separately */
    ROLE_EXPERTS_GATE_UP = ROLE_COUNT /* [experts * 2 * expert_intermediate][hidden] */
};

const char *role_name(enum role role);
/* Is it a matrix that kernels multiply with, not a small vector? */
bool role_is_matrix(enum role role);
/* Does it have a matrix per expert? */
static inline bool role_is_experts(enum role role)
{
    return role == ROLE_EXPERTS_GATE || role == ROLE_EXPERTS_UP || role == ROLE_EXPERTS_DOWN;
}
/* Does a model with this configuration have it (in this layer)? A tied model has no LM head of its own. */
bool role_exists(const struct config *c, enum role role, uint32_t layer);
/* The shape according to the configuration; a vector has 1 row. */
void role_shape(const struct config *c, enum role role, uint64_t *rows, uint64_t *cols);

/* The tensor's name in a GGUF file, or in a checkpoint ("model.layers.0...", without "language_model."), of a model of
 * this shape. */
void role_gguf_name(char *out, size_t size, const struct config *c, enum role role, uint32_t layer);
void role_hf_name(char *out, size_t size, const struct config *c, enum role role, uint32_t layer);

/* What a name in a file refers to. */
#define ROLE_ALL_EXPERTS UINT32_MAX
enum role_kind { ROLE_KNOWN, ROLE_MTP, ROLE_VISION, ROLE_HARMLESS, ROLE_UNKNOWN };

/* ROLE_KNOWN sets role and layer; role may be ROLE_EXPERTS_GATE_UP. ROLE_MTP: a tensor of a head that is not used.
 * Names of layers beyond c->layers are MTP blocks if the file has any. ROLE_HARMLESS: a tensor without effect on
 * results. *expert: the expert, in checkpoints with a tensor per expert; otherwise ROLE_ALL_EXPERTS. */
enum role_kind role_of_gguf(const struct config *c, struct span name, enum role *role, uint32_t *layer);
enum role_kind role_of_hf(const struct config *c, struct span name, enum role *role, uint32_t *layer, uint32_t *expert);

#endif
