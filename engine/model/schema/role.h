/* Roles: the tensors of a model, each with its purpose. Their names, shapes and forms are rows of the architecture's
 * schema (schema.h), which a configuration refers to. */
#ifndef TANDEM_MODEL_ROLE_H
#define TANDEM_MODEL_ROLE_H

#include "engine/base/span.h"
#include "engine/model/config.h"

enum schema_format { SCHEMA_GGUF, SCHEMA_HF };
struct schema_tensor;
struct schema_pieces;

enum role {
    /* once */
    ROLE_EMBED,           /* [vocab][hidden] */
    ROLE_LM_HEAD,         /* [vocab][hidden]; the embeddings themselves when tied */
    ROLE_FINAL_NORM,      /* hidden */
    ROLE_FINAL_NORM_BIAS, /* hidden */
    ROLE_POSITIONS,       /* [positions][hidden]: learned, added to the embeddings in float32 */
    /* in every layer */
    ROLE_INPUT_NORM,      /* hidden */
    ROLE_INPUT_NORM_BIAS, /* hidden */
    ROLE_POST_NORM,       /* hidden: before the feed-forward network */
    ROLE_POST_NORM_BIAS,  /* hidden */
    ROLE_ATTENTION_NORM,  /* hidden: of attention's output, before it is added */
    ROLE_FEED_NORM,       /* hidden: likewise of the feed-forward network */
    ROLE_GATE,            /* [intermediate][hidden]; in a mixture these three are the shared expert */
    ROLE_UP,              /* [intermediate][hidden] */
    ROLE_DOWN,            /* [hidden][intermediate] */
    ROLE_GATE_BIAS,       /* [intermediate][1] */
    ROLE_UP_BIAS,         /* [intermediate][1] */
    ROLE_DOWN_BIAS,       /* [hidden][1] */
    /* mixture of experts: matrices of all experts, one after the other */
    ROLE_ROUTER,       /* [experts][hidden]: multiplied in float32, never quantised */
    ROLE_SHARED_GATE,  /* hidden: the sigmoid of its dot product with n weights the shared expert */
    ROLE_EXPERTS_GATE, /* [experts * expert_intermediate][hidden] */
    ROLE_EXPERTS_UP,   /* [experts * expert_intermediate][hidden] */
    ROLE_EXPERTS_DOWN, /* [experts * hidden][expert_intermediate] */
    /* attention */
    ROLE_Q,      /* [heads * head_dim][hidden]; gated: per head the query, then the output gate */
    ROLE_K,      /* [kv_heads * head_dim][hidden] */
    ROLE_V,      /* [kv_heads * head_dim][hidden] */
    ROLE_O,      /* [hidden][heads * head_dim] */
    ROLE_Q_BIAS, /* [rows of ROLE_Q][1], likewise the next three */
    ROLE_K_BIAS,
    ROLE_V_BIAS,
    ROLE_O_BIAS,
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
    /* The input of each layer from the token (struct config, layer_input). For the model: the table, which stays in the
     * file, and a projection of the embedding that is added to its rows. For each layer: projections to and from its
     * row. New roles are added at the end, since fingerprints depend on the numbers of roles. */
    ROLE_INPUT_TABLE,      /* [vocab][layers * layer_input] */
    ROLE_INPUT_PROJECTION, /* [layers * layer_input][hidden] */
    ROLE_INPUT_TABLE_NORM, /* layer_input */
    ROLE_INPUT_GATE,       /* [layer_input][hidden] */
    ROLE_INPUT_OUT,        /* [hidden][layer_input] */
    ROLE_INPUT_OUT_NORM,   /* hidden */
    ROLE_LAYER_SCALE,      /* 1: the layer's whole output is multiplied with it */
    /* a dense network beside the experts, each with norms of its own */
    ROLE_DENSE_NORM,       /* hidden: of the dense network's output */
    ROLE_EXPERTS_IN_NORM,  /* hidden: before the experts; without it POST_NORM serves */
    ROLE_EXPERTS_OUT_NORM, /* hidden: of the experts' output */
    ROLE_ROUTER_NORM,      /* hidden: before the router, and then times hidden^-1/2; without it the router has the
                              experts' input */
    ROLE_EXPERTS_SCALE,    /* experts: factors of their shares, after the softmax */
    /* biases of a mixture, and sinks */
    ROLE_ROUTER_BIAS,       /* [experts][1] */
    ROLE_EXPERTS_GATE_BIAS, /* [rows of the experts' matrices][1], likewise the next two */
    ROLE_EXPERTS_UP_BIAS,
    ROLE_EXPERTS_DOWN_BIAS,
    ROLE_SINKS, /* heads: for each head a logit that enters only the denominator of its softmax */
    ROLE_COUNT
};
_Static_assert(ROLE_COUNT <= 64, "struct config has a bit for each role");

const char *role_name(enum role role);
/* Is it a matrix that kernels multiply with, not a small vector? */
bool role_is_matrix(enum role role);
/* Does it stay in the file, from which single rows are read? */
static inline bool role_stays(enum role role)
{
    return role == ROLE_INPUT_TABLE;
}
/* Does it have a matrix per expert? */
static inline bool role_is_experts(enum role role)
{
    return role == ROLE_EXPERTS_GATE || role == ROLE_EXPERTS_UP || role == ROLE_EXPERTS_DOWN;
}
/* Does a model with this configuration have it (in this layer)? A tied model has no LM head of its own. */
bool role_exists(const struct config *c, enum role role, uint32_t layer);
/* The shape in this layer according to the configuration; a vector has 1 row. */
void role_shape(const struct config *c, enum role role, uint32_t layer, uint64_t *rows, uint64_t *cols);

/* The tensor of GGUF files that holds it together with other roles; NULL: it is a tensor of its own. */
const struct schema_pieces *role_joined(const struct config *c, enum role role);

/* The tensor's name in a GGUF file, or in a checkpoint ("model.layers.0...", without "language_model."), of a model of
 * this shape. */
void role_file_name(char *out, size_t size, const struct config *c, enum schema_format format, enum role role,
                    uint32_t layer);
/* The same for a tensor that holds several. */
void role_pieces_name(char *out, size_t size, const struct config *c, enum schema_format format,
                      const struct schema_pieces *pieces, uint32_t layer);

/* What a name in a file refers to. ROLE_MTP: a tensor of a head that is not used; names of layers beyond c->layers are
 * MTP blocks if the file has any. ROLE_HARMLESS: a tensor without effect on results; ROLE_ONES: the same if all its
 * elements are 1. ROLE_DIVISORS: numbers of the configuration that GGUF files keep as a tensor. */
enum role_kind { ROLE_KNOWN, ROLE_MTP, ROLE_VISION, ROLE_AUDIO, ROLE_HARMLESS, ROLE_ONES, ROLE_DIVISORS, ROLE_UNKNOWN };

struct role_place {
    enum role_kind kind;
    const struct schema_tensor *tensor; /* ROLE_KNOWN: its row, or */
    const struct schema_pieces *pieces; /* that of a tensor that holds several or a part */
    uint32_t layer;                     /* 0 for roles that a model has once */
    uint32_t part;                      /* the number of a part that has one */
};

void role_find(const struct config *c, enum schema_format format, struct span name, struct role_place *out);

#endif
