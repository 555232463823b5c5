/* Comparing states. */
#ifndef TANDEM_TESTS_STATE_EQUAL_H
#define TANDEM_TESTS_STATE_EQUAL_H

#include "engine/state/state.h"

/* Bit for bit the same tokens, keys and values, recurrent and convolution states, and logits; of logits and the pages
 * of windows what both have. The pools may differ, their shapes and kernel sets may not. */
bool state_equal(const struct state *a, const struct state *b);

#endif
