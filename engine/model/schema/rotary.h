/* The frequencies of rotated positions (RoPE), by the scaling of a configuration. */
#ifndef TANDEM_MODEL_ROTARY_H
#define TANDEM_MODEL_ROTARY_H

#include "engine/model/config.h"

/* Fills the divisors and the amplitude from the kind of scaling and its numbers, unless the file listed them. */
void rotary_set(struct config_rope *rope);

/* YaRN's amplitude for a factor: a fraction with the multipliers `above` and `below` of the factor's logarithm; if
 * either is 0: as in the paper. */
float rotary_yarn_amplitude(double factor, double above, double below);

/* Radians per position of each of the dims / 2 pairs, in states with room for `context` tokens. */
void rotary_frequencies(const struct config_rope *rope, uint32_t context, double *out);

/* The number of rotated pairs, and their frequencies, of layers with windows that have a base of their own. */
uint32_t rotary_window_pairs(const struct config *c);
void rotary_window_frequencies(const struct config *c, double *out);

/* The factor of queries at a position. */
float rotary_query_scale(const struct config_rope *rope, uint32_t position);

/* "linear", "llama3", "yarn", "longrope", "proportional"; "none". */
const char *rotary_name(enum config_scaling kind);
/* False: there is none of this name. */
bool rotary_kind(const char *name, enum config_scaling *out);

#endif
