/* The model with which a conversation begins, or `run` answers. */
#ifndef TANDEM_SRC_FIRST_MODEL_H
#define TANDEM_SRC_FIRST_MODEL_H

#include <stdbool.h>

#include "src/cli/options.h"

/* If neither the command line nor the configuration names a model, sets the option to the model of the last
 * conversation; for `run` too, except with a script. The built-in model is used if that one is gone and, for `run`, if
 * it is on a server. note: gets a line about that, and for `run` about any model that its command line doesn't name and
 * that is not the built-in one; or "". */
void first_model(options *o, char *note, size_t room);

#endif
