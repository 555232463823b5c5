/* Weights: a model's configuration and its matrices, packed for one kernel set. Immutable once loaded; any number of
 * units and threads read them.
 *
 * They are read from a file of packed weights if there is one for this model and kernel set, else from the model's
 * files. Memory while loading: a tensor's mapped pages are released as soon as it is packed, the largest tensors come
 * first, and converted tensors go through a buffer of MATRIX_TILE rows per thread.
 */
#ifndef TANDEM_FORWARD_WEIGHTS_H
#define TANDEM_FORWARD_WEIGHTS_H

#include "engine/forward/experts.h"
#include "engine/forward/packed.h"
#include "engine/kernel/kernel.h"
#include "engine/model/source.h"
#include "engine/tandem.h"
#include "engine/thread/team.h"

/* Matrices are [rows][cols] as in engine/model/source.h, vectors float32 in the form of source_vector. */

/* A norm; a LayerNorm has both members. */
struct norm {
    const float *multiplier, *bias; /* [n]; bias NULL: none */
};

/* The parts of a layer. Members that a layer's kind lacks are NULL or matrices without data. */
struct attention_weights {
    bool rotated;    /* with positions */
    uint32_t window; /* and the next three: of this layer (config.h) */
    uint32_t kv_heads, head_dim, rope_dims;
    struct matrix q, k, v, o;
    const float *q_bias, *k_bias, *v_bias, *o_bias; /* [rows of the matrix] */
    const float *q_norm, *k_norm;                   /* [head_dim] */
    const float *sinks;                             /* [heads] */
};

/* Gated DeltaNet. */
struct delta_weights {
    struct matrix qkv, z, a, b, out;
    const float *conv;    /* [taps][channels] */
    const float *rate;    /* [value heads] -exp(A_log) */
    const float *dt_bias; /* [value heads] */
    const float *norm;    /* [value dim] */
};

/* The feed-forward network; in a mixture the shared expert, if there is one. */
struct feed_weights {
    struct matrix gate, up, down;
    const float *gate_bias, *up_bias, *down_bias; /* [rows of the matrix] */
};

/* Mixture of experts. */
struct mixture_weights {
    struct matrix router;              /* [experts][hidden], float32 */
    const float *router_bias;          /* [experts] */
    const float *shared_gate;          /* [hidden] */
    const struct expert_form *experts; /* shapes of the other experts; NULL: no mixture */
    const float *scale;                /* [experts] factors of their shares */
    const float *bias[EXPERT_PARTS];   /* [experts][rows of the part]; NULL: none */
    struct norm router_norm, in_norm;  /* [hidden] of the inputs of router and experts; without multiplier: post_norm
                                          is used */
    struct norm dense_norm, out_norm;  /* [hidden] of the outputs of a dense network beside the experts, and of the
                                          experts */
};

/* The layer's input from the token. */
struct layer_input_weights {
    struct matrix gate, out; /* [layer_input][hidden], [hidden][layer_input] */
    struct norm out_norm;    /* [hidden] */
};

struct layer_weights {
    bool full_attention;
    struct norm input_norm, post_norm;     /* [hidden] */
    struct norm attention_norm, feed_norm; /* [hidden] of a sublayer's output; without multiplier: none */
    const float *scale;                    /* [1] of its whole output */
    struct attention_weights attention;
    struct delta_weights delta;
    struct feed_weights feed;
    struct mixture_weights mixture;
    struct layer_input_weights input;
};

/* The MTP head: drafts token p + 2 from the trunk's output at p and token p + 1 (head.h has the formulas). */
struct head_weights {
    struct matrix fc;                      /* [hidden][2 hidden] */
    struct norm embed_norm, hidden_norm;   /* [hidden] */
    struct norm own_norm, norm;            /* [hidden] before the LM head; norm: own_norm, or the trunk's */
    struct matrix own_embed, own_lm_head;  /* unset: the trunk's are used */
    const struct matrix *embed, *lm_head;
    uint64_t bytes;                        /* of its matrices, without experts and without those that it shares with the
                                              trunk */
};

/* The rows of the LM head that drafts come from: the first ones, which hold the most frequent tokens, and those of the
 * special tokens, in whole tiles of MATRIX_TILE rows. */
enum { DRAFTED_ROWS = 65536, DRAFTED_MORE = 64 };

struct drafted {
    uint32_t first_tiles;        /* tiles [0, first_tiles) */
    uint32_t n_more;
    uint32_t more[DRAFTED_MORE]; /* other tiles, ascending */
};

struct weights {
    struct config config;
    const struct kernels *kernels;
    struct matrix embed;
    struct matrix own_head;       /* unset when tied */
    const struct matrix *lm_head; /* own_head, or embed when tied */
    struct norm final_norm;
    const float *positions;       /* [config.positions][hidden]; NULL: none are learned */
    /* Inputs of layers by the token (inputs.c); unset: there are none. */
    struct matrix input_projection;   /* [layers * layer_input][hidden] */
    struct norm input_norm;           /* [layer_input] */
    const struct tensor *input_table; /* [vocab][layers * layer_input] in `source` */
    const struct source *source;      /* from which its rows are read */
    struct layer_weights *layers; /* [config_blocks]: an MTP head's layer is the last */
    struct head_weights head;     /* if config.mtp.there */
    struct drafted drafted;
    unsigned char *memory;        /* of all matrices but the experts', then of all vectors; large pages (os/pages.h) */
    uint64_t memory_bytes;
    float *vectors;               /* where these begin */
    uint64_t vector_bytes;
    struct experts *experts;      /* of all layers; NULL: no mixture */
    uint64_t bytes;               /* of everything in memory, packed */
    uint64_t layer_bytes;         /* of the trunk's layers' matrices without the experts, which every pass reads */
    double from_disk_tps;         /* expected tokens per second, experts read on demand; 0: unknown, or all in memory */
    double load_seconds;          /* time that reading and packing took */
    uint64_t pack_key;            /* of their file of packed weights (packed.h); 0: they cannot have one */
    bool was_packed;              /* they were read from it */
    bool shared;                  /* its memory is that of others (weights_share) */
};

struct weights_options {
    uint64_t expert_bytes;   /* memory for packed experts, the others are read on demand; 0: all in memory */
    enum type lm_head;       /* type of the LM head (and, if tied, the embeddings); TYPE_COUNT: as stored */
    const tdm_id *special;   /* [n_special] ascending ids that drafts may have, even beyond DRAFTED_ROWS */
    size_t n_special;
    const char *pack_folder; /* the folder of packed weights; NULL: none */
    bool forget_files;       /* memory can't hold the files beside the packed weights: what has been read leaves the
                                system's cache, so that weights find large pages (all experts in memory, or none) */
    tdm_progress progress;   /* called by the thread that called weights_new; may be NULL */
    void *progress_ctx;
};

/* Packs all tensors of the source with the threads of the team. options may be NULL. The source may be closed
 * afterwards, unless experts (experts_resident) or inputs of layers are read from it on demand. Errors: TDM_E_NOMEM,
 * TDM_E_CANCELLED, TDM_E_UNSUPPORTED (the row length of the LM head is no multiple of its type's block).
 */
tdm_status weights_new(struct weights **out, const struct source *source, const struct kernels *kernels,
                       struct team *team, const struct weights_options *options, tdm_error *err);
/* The same weights in the same memory for another kernel set that packs alike (kernel.h, pack); `of` is freed later.
 * TDM_E_NOMEM. */
tdm_status weights_share(struct weights **out, const struct weights *of, const struct kernels *kernels, tdm_error *err);
void weights_free(struct weights *w); /* NULL is allowed */

/* Bytes that the source's weights take when packed: those of the experts, and all others. */
void weights_packed_bytes(const struct source *source, const struct kernels *kernels,
                          const struct weights_options *options, uint64_t *experts, uint64_t *others);

/* Bytes of weights that a pass of n tokens reads, without the LM head; of the experts, those that random choices would
 * touch. */
double weights_pass_bytes(const struct weights *w, uint32_t n);

/* The memory blocks that a file of packed weights holds, *out malloc'ed: all weights, but no experts unless all are in
 * memory. Returns their number; 0: out of memory. */
size_t weights_blobs(const struct weights *w, struct blob **out);

/* The matrices that a layer of this kind has, without the experts. Returns their number. */
enum { WEIGHTS_LAYER_MATRICES = 10 };
int weights_layer_matrices(const struct layer_weights *layer, const struct matrix *out[WEIGHTS_LAYER_MATRICES]);

#endif
