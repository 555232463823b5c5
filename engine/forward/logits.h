/* What is asked of a row of logits beside a sample. */
#ifndef TANDEM_FORWARD_LOGITS_H
#define TANDEM_FORWARD_LOGITS_H

#include "engine/base/fnv.h"
#include "engine/tandem.h"

/* Continues a 64-bit hash by a row of logits: equal sequences of rows have equal hashes. FNV-1a over the words of four
 * interleaved streams, which are then hashed in turn (one stream would take a multiplication's latency a word). Start
 * with LOGITS_HASH_START. */
#define LOGITS_HASH_START FNV_START
uint64_t logits_hash(uint64_t hash, const float *logits, size_t n);

#endif
