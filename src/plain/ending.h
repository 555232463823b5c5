/* What is said of a reply that did not end by itself, line by line. */
#ifndef TANDEM_SRC_ENDING_H
#define TANDEM_SRC_ENDING_H

#include "src/chat/app.h"

/* How a turn ended, where that is not by itself, and what goes on from there. */
void ending_note(const app *a, const tdm_event *e);

#endif
