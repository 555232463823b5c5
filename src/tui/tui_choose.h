/* The list of models (tui_models.h) in the front end: what it has to know of the conversation, and what is told when it
 * is closed. */
#ifndef TANDEM_SRC_TUI_CHOOSE_H
#define TANDEM_SRC_TUI_CHOOSE_H

typedef struct tui tui;

void tui_choose_first(tui *t); /* begins to load the model of the start */
void tui_choose_open(tui *t);
/* Takes what the list's thread has done; before each wait. */
void tui_choose_step(tui *t);
/* The child that fetches a model has told something. */
void tui_choose_read(tui *t);
/* Before a frame: cols of the area that popups open in. */
void tui_choose_fit(tui *t, int cols);

#endif
