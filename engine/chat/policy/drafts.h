/* How many tokens to draft before a pass, and drafts without an MTP head.
 *
 * A pass of 1 + k tokens yields E(k) = 1 + p1 + p1 p2 + ... tokens, p_i the share of i-th drafts that were right when
 * all before them were. It costs the pass and k drafts. The k with the most expected tokens per time is chosen; 0
 * unless another is better by a margin. Shares and times are decaying means of what was measured. Probes notice
 * changes. While the choice is 0, one pass in DRAFTS_PROBE_TOKENS drafts all the same, and the next one too as long as
 * such drafts are right. While it is not 0, one pass in DRAFTS_PROBE_PASSES drafts none, and one in DRAFTS_PROBE_SIZES
 * drafts one more or one less than the choice.
 *
 * Costs are relative to a pass of one token, and are taken from passes that follow each other: a machine that is slow
 * for a while slows both. Single times may be far off, since other programs run: each counts for little, and no size of
 * pass is taken to cost more than a larger one.
 *
 * Pure functions of their arguments; the caller's lock guards the struct.
 */
#ifndef TANDEM_CHAT_DRAFTS_H
#define TANDEM_CHAT_DRAFTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/tandem.h"

enum { DRAFTS_MAX = 5, DRAFTS_PROBE_TOKENS = 64, DRAFTS_PROBE_PASSES = 128, DRAFTS_PROBE_SIZES = 24 };

struct drafts {
    double right[DRAFTS_MAX];           /* p_1 ... */
    double last_s;                      /* of the last pass; 0: it says nothing */
    uint32_t last_k;                    /* its drafts */
    double relative[DRAFTS_MAX + 1];    /* a pass of 1 + k tokens to one of one token */
    uint32_t costs[DRAFTS_MAX + 1];     /* of them that were measured */
    uint32_t shares[DRAFTS_MAX];        /* of the i-th drafts that were verified */
    double draft;                       /* a draft to a pass of one token */
    uint32_t passes, tokens;            /* passes since the last one without drafts; tokens since the last pass with
                                           drafts */
    uint32_t stretch;                   /* passes with drafts before one without: doubles up to DRAFTS_PROBE_PASSES */
    uint32_t alone;                     /* first passes still to come without drafts, which measure the cost of one
                                           token */
};

/* draft: the expected cost of a draft, relative to a pass of one token. */
void drafts_init(struct drafts *d, double draft);

/* Drafts for the next pass, at most `most`. */
uint32_t drafts_choose(const struct drafts *d, uint32_t most);

/* drafts_gain: expected tokens with k drafts per time of a pass of one token. drafts_cost: the time of a pass and its k
 * drafts, relative to a pass of one token. */
double drafts_gain(const struct drafts *d, uint32_t k);
double drafts_cost(const struct drafts *d, uint32_t k);

/* A pass with k drafts, of which the first `right` were right, took pass_s, and its drafts draft_s seconds in all.
 * timed: no other work slowed it meanwhile, so that its time counts. */
void drafts_count(struct drafts *d, uint32_t k, uint32_t right, double pass_s, double draft_s, bool timed);

/* Drafts from the context: what followed the longest earlier sequence of at least DRAFTS_NGRAM tokens that ends as
 * tokens[0..n) and then `next` do; of equally long ones the newest. Returns how many, at most `most`; 0: there is
 * none. */
enum { DRAFTS_NGRAM = 3 };
uint32_t drafts_from_context(const tdm_id *tokens, uint32_t n, tdm_id next, tdm_id *out, uint32_t most);

#endif
