/* The sampler: from the logits of a position to the next token.
 *
 * In this order: repetition penalty (tokens of prompt and reply: a positive logit is divided, a negative one
 * multiplied by it, Keskar et al. 2019), frequency and presence penalty (tokens of the reply: logit -= frequency *
 * count + presence), temperature, top-k, top-p (the smallest set of the most probable tokens that reaches p), min-p
 * (at least min-p times the best one's probability). Temperature 0 takes the best one, ties to the lowest id, after the
 * penalties.
 *
 * Deterministic: the random number is a hash of seed, turn, attempt and index (sampler_random), candidates are ordered
 * by logit and then by id, sums are taken in that order in double precision. Ids from `limit` on (rows of the LM head
 * without a token), infinite and NaN logits are never sampled.
 *
 * Usually the best few logits decide, so a device may select these and leave the others where they are: sampling from
 * them gives the same token, or is refused (sampler_sample_topk).
 *
 * Memory is allocated in sampler_new only. Threads: one at a time per sampler.
 */
#ifndef TANDEM_FORWARD_SAMPLER_H
#define TANDEM_FORWARD_SAMPLER_H

#include "engine/tandem.h"

struct sampler;

struct candidate {
    float logit;
    tdm_id id;
};

/* The best logits of a position, in any order: all finite logits of at least `from`, each once. Ids that may not be
 * sampled may be among them. from: -INFINITY: these are all finite ones. */
struct topk_logits {
    const struct candidate *all;
    uint32_t n;
    float from;
};

/* limit: ids that may be sampled, at most the logits' length. */
tdm_status sampler_new(struct sampler **out, uint32_t limit, tdm_error *err);
void sampler_free(struct sampler *s); /* NULL is allowed */

/* Completes a caller's struct: NULL, or zeros in all members but the seed, become the recommended values. Then zeros in
 * top_p and repeat_penalty become 1, which switches them off. */
tdm_sampling sampler_complete(const tdm_sampling *given, const tdm_sampling *recommended);
/* Values out of range are TDM_E_ARG with the name, the range and what was found. */
tdm_status sampler_check(const tdm_sampling *sampling, tdm_error *err);

/* Forgets the tokens seen and starts a reply after this prompt (only the repetition penalty uses it). */
void sampler_start(struct sampler *s, const tdm_id *prompt, size_t n);
/* Counts a token of the reply. */
void sampler_accept(struct sampler *s, tdm_id id);

/* Samples the index-th token of the reply; -1: no logit is finite. The token is not accepted yet. */
tdm_id sampler_sample(struct sampler *s, const tdm_sampling *sampling, const float *logits, uint32_t turn,
                      uint32_t attempt, uint32_t index);

/* The same from the best logits alone. False: others may decide, so all logits are needed. The settings matter: without
 * top-k, unless greedy, every logit within a wide range of the best one counts, and a negative penalty, which is a
 * bonus, may raise any token. Penalties of the best tokens matter too: at least top-k of the logits in `best` must stay
 * at `from` or above. */
bool sampler_sample_topk(struct sampler *s, const tdm_sampling *sampling, const struct topk_logits *best, uint32_t turn,
                         uint32_t attempt, uint32_t index, tdm_id *out);

/* Whether sampling with these settings is likely to need no more than the best `n`. */
bool sampler_needs_few(const tdm_sampling *sampling, uint32_t n);

/* Do these settings always take the best logit of ids below sampler_limit, ties to the lowest id, whatever tokens came
 * before? */
bool sampler_takes_topk(const tdm_sampling *sampling);
uint32_t sampler_limit(const struct sampler *s);

/* The random number of a sample, in [0, 1): a hash of the arguments. Declared here for tests of its distribution. */
double sampler_random(uint64_t seed, uint32_t turn, uint32_t attempt, uint32_t index);

#endif
