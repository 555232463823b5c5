/* The feed-forward part of a mixture of experts:
 *
 *   p = softmax(router n) over all experts, in float32; of these the `used` largest, ties to the lowest id,
 *       divided by their sum (struct config_experts, norm_topk)
 *   x += sum of p_e expert_e(n), by ascending id, + sigmoid(shared_gate . n) * shared(n) where there is a shared one
 *
 * or, beside a dense network, x += norm(norm(dense(n)) + norm(sum of p_e scale_e expert_e(n'))), with norms of their
 * own before router and experts, and then the layer's scale.
 *
 * An expert is down(silu(gate n) * up n), or another form of feed-forward network (config.h), perhaps with biases; n =
 * norm(x). Tokens are grouped by expert: a batch is the rows of one expert; the last batch is the shared expert with
 * all tokens. Members claim pieces of (batch, rows of its matrices), so that uneven batches leave no member idle. The
 * experts' results are kept in scratch, a row per token and expert, and summed token by token, so the bits do not
 * depend on the grouping.
 */
#ifndef TANDEM_FORWARD_MIXTURE_H
#define TANDEM_FORWARD_MIXTURE_H

#include "engine/forward/pass.h"

/* The rows of one expert: [first, first + rows) of `members` and of `out`. */
struct batch {
    uint32_t first, rows;
    const float *bias[EXPERT_PARTS]; /* [rows of the part]; NULL: none */
    struct matrix gate, up, down;
    struct panel in[PANEL_KINDS], inner; /* normalised rows; silu(gate) * up of them */
};

/* One layer's activations: scratch of a workspace. */
struct mixture {
    float *router;                                      /* [tokens][pass_stride(experts)] */
    uint32_t *chosen;                                   /* [tokens][used] ascending ids */
    float *weights;                                     /* [tokens][used + 1], the shared expert's last */
    uint32_t *place;                                    /* [tokens][used + 1] row of `out` */
    uint32_t *counts;                                   /* [experts] */
    uint32_t *members;                                  /* [tokens * used] token of each row */
    struct batch *batches;                              /* [experts chosen + 1] */
    struct expert_lease *leases;                        /* [experts chosen] */
    uint32_t *wave;                                     /* [experts chosen + 1] batches that are worked on together */
    float *out;                                         /* [tokens * (used + 1)][pass_stride(hidden)] */
    unsigned char *in[PANEL_KINDS], *inner[PANEL_KINDS]; /* memory of the batches' panels */
    uint32_t n_batches, n_wave, n_loads;                /* n_batches: without the shared one */
    uint32_t yields; /* rows of `out` of a token: its experts', and the shared one's */
};

/* x += mixture(norm(x)). Without the last barrier, which the caller adds. If an expert can't be read, the pass is
 * `failed` and `cancelled` after that barrier. */
void pass_mixture(struct pass *p, struct member *m, const struct layer_weights *layer, uint32_t index);

#endif
