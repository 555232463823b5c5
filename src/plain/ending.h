/* The note about a reply that did not end by itself, in the conversation line by line. */
#ifndef TANDEM_SRC_ENDING_H
#define TANDEM_SRC_ENDING_H

#include "src/chat/app.h"

/* Prints why a turn ended, unless it ended by itself, and how to continue. */
void ending_note(const app *a, const tdm_event *e);

#endif
