/* Which model a conversation begins with, and which one a newcomer could get. */
#ifndef TANDEM_SRC_FIRST_MODEL_H
#define TANDEM_SRC_FIRST_MODEL_H

#include <stdbool.h>

#include "src/cli/options.h"

/* Where neither the command line nor the configuration names a model, that of the last conversation becomes the one
 * that the options name. One that is gone is passed over, for the built-in one. note: gets a line about that, or "". */
void first_model(options *o, char *note, size_t room);

/* A line with the command that gets the model of the family that suits a computer with so many bytes of memory (0: not
 * known): the largest whose weights fit into it less HUB_SPARE. The size in it is an estimate. */
void first_model_suggest(uint64_t memory, char *out, size_t room);

#endif
