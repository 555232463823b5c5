/* Hashes of logits, by which tests and benchmarks compare passes. */
#ifndef TANDEM_FORWARD_LOGITS_H
#define TANDEM_FORWARD_LOGITS_H

#include "engine/base/fnv.h"
#include "engine/tandem.h"

/* Continues a 64-bit hash, which starts as LOGITS_HASH_START, with a row of logits: equal sequences of rows have equal
 * hashes. FNV-1a over the words of four interleaved streams, whose hashes are then hashed in turn (a single stream
 * would cost the latency of a multiplication per word). */
#define LOGITS_HASH_START FNV_START
uint64_t logits_hash(uint64_t hash, const float *logits, size_t n);

#endif
