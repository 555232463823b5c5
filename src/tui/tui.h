/* `tandem chat` and `tandem demo` on a terminal: the full-screen front end. */
#ifndef TANDEM_SRC_TUI_H
#define TANDEM_SRC_TUI_H

#include "src/cli/options.h"

/* Whether standard input and output are a terminal that can hold a screen. */
bool tui_possible(const options *o);
/* Runs until the user leaves. A terminal that can't be taken over gets the plain front end, but for `tandem demo`,
 * which needs a screen. Returns the exit status. */
int tui_main(options *o);

#endif
