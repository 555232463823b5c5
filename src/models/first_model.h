/* Which model a conversation begins with, or `run` answers with. */
#ifndef TANDEM_SRC_FIRST_MODEL_H
#define TANDEM_SRC_FIRST_MODEL_H

#include <stdbool.h>

#include "src/cli/options.h"

/* Where neither the command line nor the configuration names a model, that of the last conversation becomes the one
 * that the options name; for `run`, too, but for its scripts. One that is gone is passed over, for the built-in one,
 * and so is for `run` a server that its own command line does not name. note: gets a line about that, and for `run`
 * about any model that its command line doesn't name and that is not the built-in one; or "". */
void first_model(options *o, char *note, size_t room);

#endif
