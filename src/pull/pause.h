/* Waiting that Ctrl-C ends. */
#ifndef TANDEM_SRC_PULL_PAUSE_H
#define TANDEM_SRC_PULL_PAUSE_H

#include <stdbool.h>

/* False when Ctrl-C was pressed (src/process/interrupt.h), before or meanwhile. */
bool pause_for(int ms);

#endif
