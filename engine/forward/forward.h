/* The forward pass: appends tokens to states and computes logits.
 *
 * One call evaluates a list of runs, each some tokens of one state: prefill is one run of 32, decode one run of 1,
 * batched decode N runs of 1. All tokens share the matrix products; attention, convolution and the delta rule work run
 * by run. The whole pass is one function that all members of the team run, in phases separated by barriers.
 *
 * Exactness: states and logits have the same bits whatever the runs of a call, the split of a text into calls, and
 * the number of threads. Attention takes the positions in blocks of KV_PAGE; blocks are merged in ascending order
 * within groups of FORWARD_GROUP blocks, and the groups in ascending order. Both are aligned to absolute positions.
 *
 * The configuration's table defines the model (config.h; Hugging Face transformers; Gated Delta Networks,
 * arXiv:2412.06464), x the residual stream, which begins as the embedding, scaled, plus a learned position:
 *
 *   attention        q, gate = q_proj(n) per head; k, v, perhaps with biases; q and k: RMS norm per head, then RoPE on
 *                    the first elements; x += o_proj(softmax(scale q k^T) v * sigmoid(gate)), n = norm(x), over all
 *                    positions up to the token's or the last ones of a window; values may be keys before norm and
 *                    rotation, and normalised; a layer may read the keys and values of an earlier one; a sink is a
 *                    term of the softmax's denominator that has no value
 *   Gated DeltaNet   q, k, v = silu(conv(in_proj_qkv(n))); q, k: L2 norm per head, q / sqrt(key_dim);
 *                    the gated delta rule per value head (struct kernels, delta_slab);
 *                    x += out_proj(norm(out) * silu(in_proj_z(n)))
 *   feed-forward     x += down(silu(gate(n)) * up(n)) or down(gelu(up(n))), or a mixture of such experts (mixture.h)
 *
 * The embedding of a pad (pads.h) is its picture's row, which is not scaled. Where the table has soft caps, scores and
 * logits become cap tanh(v / cap). A sublayer's output may be normalised before it is added. The residual scale is
 * folded into the input of the sublayer's last matrix, and into its bias. A layer may take a second embedding of its
 * token (inputs.c), and its whole output may have a scale.
 */
#ifndef TANDEM_FORWARD_FORWARD_H
#define TANDEM_FORWARD_FORWARD_H

#include "engine/forward/weights.h"
#include "engine/state/state.h"

#include <stdatomic.h>

enum { FORWARD_GROUP = 8 };

enum forward_logits {
    LOGITS_NONE, /* the state's logits become invalid */
    LOGITS_LAST, /* those of the last token are stored in the state */
    LOGITS_ALL,  /* the same, and those of every token in `all` */
};

/* The data that a verified run leaves for forward_accept: the inputs of its DeltaNet layers' states, and its
 * outputs. */
struct forward_kept;

struct forward_run {
    struct state *state;
    const tdm_id *tokens;
    uint32_t n;       /* at least 1 */
    uint32_t padding; /* rows after the n tokens that do not change the state (fixed slots); in a single run only */
    enum forward_logits logits;
    float *all; /* [n][vocab] for LOGITS_ALL */
    /* Verification of drafted tokens: the pass leaves the state as it is, and forward_accept appends as many of the
     * tokens as turn out right. With LOGITS_ALL. NULL: the tokens are appended. */
    struct forward_kept *kept;
};

struct forward_options {
    const atomic_bool *cancel; /* looked at before each layer; NULL: never */
    float *hidden; /* [layers + 1][hidden] of the first run's last token: embedding, output of each layer but
                      the last, final norm; for comparison with other implementations. NULL: not wanted */
};

/* The scratch memory of a forward pass, allocated and touched once; one pass at a time. */
struct workspace;

/* For passes of at most max_tokens tokens (padding included) in at most max_runs runs, teams of at most max_members
 * and states of at most `context` tokens. The weights must outlive it. */
tdm_status workspace_new(struct workspace **out, const struct weights *w, uint32_t max_tokens, uint32_t max_runs,
                         uint32_t max_members, uint32_t context, tdm_error *err);
void workspace_free(struct workspace *ws); /* NULL is allowed */

/* Appends each run's tokens to its state; ids below 0 are pads (pads.h), which verified runs must not contain. The
 * states are of the weights' kernel set and shape, distinct, and not broken; options may be NULL; *bytes (may be NULL)
 * is the memory that the pass reads and writes: weights, keys and values, recurrent states.
 *
 *   TDM_E_CONTEXT     A state has no room. Nothing was changed.
 *   TDM_E_ARG         A token id is outside the vocabulary, a picture's embedding is missing, or the workspace takes
 *                     fewer tokens or runs. Nothing was changed.
 *   TDM_E_NOMEM       There is no page for a state. Nothing was changed.
 *   TDM_E_CANCELLED   The pass was cancelled. If a layer had begun, the states of all runs except verified ones are
 *                     `broken`: restore them from forks.
 *   TDM_E_IO          Experts could not be read from the model's file. The states are as for TDM_E_CANCELLED.
 */
tdm_status forward(struct team *team, const struct weights *w, struct workspace *ws, const struct forward_run *runs,
                   uint32_t n_runs, const struct forward_options *options, uint64_t *bytes, tdm_error *err);

/* For verified runs of at most `rows` tokens. */
tdm_status forward_kept_new(struct forward_kept **out, const struct weights *w, uint32_t rows, tdm_error *err);
void forward_kept_free(struct forward_kept *k); /* NULL is allowed */

/* Appends the first rows[r] tokens of each verified run (at most its n; 0: none) to its state, which has then the bits
 * that it would have had without drafts, and the logits of the last of them. The states are as the pass found them.
 * Reads no weights but, once in STATE_WAITING tokens, some of the MTP head's. */
void forward_accept(struct team *team, const struct weights *w, struct workspace *ws, const struct forward_run *runs,
                    const uint32_t *rows, uint32_t n_runs);

#endif
