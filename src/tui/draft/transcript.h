/* The effects of keys on the transcript and on one turn of it: the marked one, else the last. */
#ifndef TANDEM_SRC_TUI_TRANSCRIPT_H
#define TANDEM_SRC_TUI_TRANSCRIPT_H

#include "src/tui/action.h"

typedef struct tui tui;

/* Scrolls, copies, opens ...: does what a key stands for, n times. Returns the action that follows. */
tui_action tui_transcript_act(tui *t, enum key_action action, int n);
/* Goes to the branch with that message. */
void tui_transcript_branch(tui *t, int node);
/* words NULL: those of the last search. A negative direction searches up. */
void tui_transcript_find(tui *t, const char *words, int direction);

#endif
