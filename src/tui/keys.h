/* Passes an event of the terminal to the right part: an open popup, browse mode, the full-screen monitor or the
 * input. */
#ifndef TANDEM_SRC_TUI_KEYS_H
#define TANDEM_SRC_TUI_KEYS_H

#include "ui/keys/decoder.h"

typedef struct tui tui;

void tui_keys_event(tui *t, const struct decoder_event *e);
/* Handles the events in the input's queue. */
void tui_keys_input(tui *t);

#endif
