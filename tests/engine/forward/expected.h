/* Golden files: what other implementations computed, and comparing with it. */
#ifndef TANDEM_TESTS_EXPECTED_H
#define TANDEM_TESTS_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/model/hf/safetensors.h"
#include "engine/tandem.h"

/* The data of a tensor of this type and so many elements; another one ends the program. */
const void *expected_tensor(const struct safetensors *file, const char *name, const char *dtype, uint64_t elements);

/* Fails the test where a value differs by more than the tolerance; relative: times the largest expected value. */
void expected_compare(const char *what, const float *found, const float *expected, size_t n, double tolerance,
                    bool relative);

/* Evaluates some tokens more, then drafts n tokens behind `next`: drafts [n], logits [n][vocab]. */
typedef void expected_draft(void *ctx, const tdm_id *ids, uint32_t some, tdm_id next, uint32_t n, tdm_id *drafts,
                            float *logits);

/* The MTP head's logits behind each pass of at most `most` tokens over the n of a prompt, and its drafts behind all of
 * it, against FOLDER/mtp-golden-N.safetensors. */
void expected_compare_drafts(const char *folder, uint32_t n, uint32_t most, uint32_t vocab, expected_draft *draft,
                             void *ctx);

/* The residual stream of a text's last token: hidden [layers + 1][width]. */
void expected_compare_hidden(const struct safetensors *golden, const float *hidden, uint32_t layers, uint32_t width);

#endif
