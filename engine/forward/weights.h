/* Weights: a model's configuration and its matrices, packed for one kernel set. Immutable once made; any number of
 * units and threads read them.
 *
 * Memory while loading: each tensor's mapped pages are given back as soon as it is packed, the largest tensors come
 * first, and a tensor that is converted goes through a buffer of MATRIX_TILE rows per thread.
 */
#ifndef TANDEM_FORWARD_WEIGHTS_H
#define TANDEM_FORWARD_WEIGHTS_H

#include "engine/kernel/kernel.h"
#include "engine/model/source.h"
#include "engine/tandem.h"
#include "engine/thread/team.h"

/* Matrices are [rows][cols] as in engine/model/source.h, vectors float32 in the form of source_vector. */
struct layer_weights {
    bool full_attention;
    const float *input_norm, *post_norm; /* [hidden] */
    struct matrix gate, up, down;        /* feed-forward network */
    /* full attention */
    struct matrix q, k, v, o;
    const float *q_norm, *k_norm; /* [head_dim] */
    /* Gated DeltaNet */
    struct matrix lin_qkv, lin_z, lin_a, lin_b, lin_out;
    const float *lin_conv;    /* [taps][channels] */
    const float *lin_rate;    /* [value heads] -exp(A_log) */
    const float *lin_dt_bias; /* [value heads] */
    const float *lin_norm;    /* [value dim] */
};

struct weights {
    struct config config;
    const struct kernels *kernels;
    struct matrix embed;
    struct matrix own_head;       /* unset when tied */
    const struct matrix *lm_head; /* own_head, or embed when tied */
    const float *final_norm;
    struct layer_weights *layers; /* [config.layers] */
    float *vectors;               /* the memory of all vectors */
    uint64_t bytes;               /* of everything, packed */
    uint64_t layer_bytes;         /* of the layers' matrices: what one forward pass reads beside the LM head */
};

struct weights_options {
    enum type lm_head;     /* the LM head (when tied: the embeddings, too) becomes this type; TYPE_COUNT: as stored */
    tdm_progress progress; /* called by the thread that called weights_new; may be NULL */
    void *progress_ctx;
};

/* Packs all tensors of the source with the threads of the team. options may be NULL. The source may be closed
 * afterwards. Errors: TDM_E_NOMEM, TDM_E_CANCELLED, TDM_E_UNSUPPORTED (a row that the LM head's type does not divide).
 */
tdm_status weights_new(struct weights **out, const struct source *source, const struct kernels *kernels,
                       struct team *team, const struct weights_options *options, tdm_error *err);
void weights_free(struct weights *w); /* NULL is allowed */

/* The n matrices of a layer that exist in its kind; returns n <= WEIGHTS_LAYER_MATRICES. */
enum { WEIGHTS_LAYER_MATRICES = 8 };
int weights_layer_matrices(const struct layer_weights *layer, const struct matrix *out[WEIGHTS_LAYER_MATRICES]);

#endif
