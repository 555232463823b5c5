/* What is asked of a row of logits beside a sample. */
#ifndef TANDEM_FORWARD_LOGITS_H
#define TANDEM_FORWARD_LOGITS_H

#include "engine/tandem.h"

/* Continues a 64-bit FNV-1a style hash over the bits of n floats, one step a float: equal sequences of logits have
 * equal hashes. Start with LOGITS_HASH_START. */
#define LOGITS_HASH_START 0xcbf29ce484222325u
uint64_t logits_hash(uint64_t hash, const float *logits, size_t n);

/* The natural logarithm of the softmax probability of id, in double precision. */
double logits_log_probability(const float *logits, size_t n, tdm_id id);

#endif
