/* A configuration in words, for `info`. */
#ifndef TANDEM_MODEL_DESCRIBE_H
#define TANDEM_MODEL_DESCRIBE_H

#include "engine/model/config.h"

/* "rotated, base 500000, scaled by llama3 (8 times 8192)", "1024 learned". */
void describe_positions(const struct config *c, char *out, size_t room);
/* Further features of its layers, separated by commas: "biases, a window of 4096"; "": none. */
void describe_layers(const struct config *c, char *out, size_t room);

#endif
