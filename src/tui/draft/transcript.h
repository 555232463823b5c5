/* Browse mode, in which keys move in the transcript, as in less, with counts before them; and the effects of keys on
 * the transcript and on one turn of it: the marked one, else the last. */
#ifndef TANDEM_SRC_TUI_TRANSCRIPT_H
#define TANDEM_SRC_TUI_TRANSCRIPT_H

#include "src/tui/action.h"
#include "ui/keys/decoder.h"

/* Zeroed: the input has the keys. */
typedef struct {
    bool on;
    int count;        /* typed so far; 0: none */
    size_t hit, hits; /* number of the match that the search shows, from 1, and of all matches; 0: none */
} tui_browse;

tui_action tui_browse_event(tui_browse *b, const struct decoder_event *e);

typedef struct tui tui;

/* Scrolls, copies, opens ...: does what a key stands for, n times. Returns the action that follows. */
tui_action tui_transcript_act(tui *t, enum key_action action, int n);
/* Goes to the branch with that message. */
void tui_transcript_branch(tui *t, int node);
/* words NULL: those of the last search. A negative direction searches up. */
void tui_transcript_find(tui *t, const char *words, int direction);

#endif
