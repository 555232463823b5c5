/* The frequencies of rotated positions (RoPE), by the scaling of a configuration. */
#ifndef TANDEM_MODEL_ROTARY_H
#define TANDEM_MODEL_ROTARY_H

#include "engine/model/config.h"

/* Fills the divisors and the amplitude from the kind of scaling and its numbers, unless the file listed them. */
void rotary_set(struct config *c);

/* YaRN's amplitude for a factor, by the multipliers of its logarithm above and below the line; both or the second 0: as
 * the paper has it. */
float rotary_yarn_amplitude(double factor, double above, double below);

/* Radians per position of each of the rope_dims / 2 pairs, in states with room for `context` tokens. */
void rotary_frequencies(const struct config *c, uint32_t context, double *out);

/* The same of layers with windows that have a base of their own, and the number of their pairs. */
uint32_t rotary_window_pairs(const struct config *c);
void rotary_window_frequencies(const struct config *c, double *out);

/* What queries at a position are multiplied by. */
float rotary_query_scale(const struct config *c, uint32_t position);

/* "linear", "llama3", "yarn", "longrope", "proportional"; "none". */
const char *rotary_name(enum config_scaling kind);
/* False: there is none of this name. */
bool rotary_kind(const char *name, enum config_scaling *out);

#endif
