/* The MTP head: drafts tokens that a later pass of the trunk (the model without the head) verifies.
 *
 *   x(p) = fc . concat(norm_e(embed(token p + 1)), norm_h(h(p))), then one layer of gated full attention with its
 *          feed-forward network (forward.h) over the head's own keys and values, RoPE position p;
 *   its output through the head's last norm and the LM head drafts token p + 2.
 *
 * h(p) is the trunk's output at position p after its final norm. A chain of drafts goes on with the head's own output
 * after its last norm as h(p + 1), and with the draft as token p + 2.
 *
 * The keys and values of entry p depend on fc, k and v only, so entries of known tokens are made many at a time at
 * little cost (state.h); the entries of a chain are made again when its tokens have been accepted.
 */
#ifndef TANDEM_FORWARD_HEAD_H
#define TANDEM_FORWARD_HEAD_H

#include "engine/forward/forward.h"

struct draft_run {
    struct state *state; /* of at least one token, not headless */
    tdm_id next;         /* the token that follows, not evaluated yet */
    uint32_t n;          /* drafts wanted, at least 1 */
    tdm_id *drafts;      /* [n] out: the tokens after `next` */
    float *logits;       /* [n][vocab] out, for tests and comparisons; NULL: drafts come from weights.drafted only */
};

/* Drafts the most probable tokens for several states. First makes the states' missing entries, except the last token's;
 * the states' bits are otherwise as before. *bytes (may be NULL): memory read.
 *   TDM_E_CONTEXT  a state has no room for 1 + n more tokens; TDM_E_NOMEM: no page; in both nothing was drafted */
tdm_status forward_draft(struct team *team, const struct weights *w, struct workspace *ws,
                         const struct draft_run *runs, uint32_t n_runs, uint64_t *bytes, tdm_error *err);

#endif
