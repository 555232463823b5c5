/* Browse mode, in which keys move in the transcript, as in less, with counts before them. */
#ifndef TANDEM_SRC_TUI_BROWSE_H
#define TANDEM_SRC_TUI_BROWSE_H

#include "src/tui/action.h"
#include "ui/keys/decoder.h"

/* Zeroed: the input has the keys. */
typedef struct {
    bool on;
    int count; /* typed so far; 0: none */
    size_t hit, hits; /* number of the match that the search shows, from 1, and of all matches; 0: none */
} tui_browse;

tui_action tui_browse_event(tui_browse *b, const struct decoder_event *e);

#endif
