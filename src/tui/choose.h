/* Connects the list of models (lists/models.h) with the front end: its facts about the conversation, and the user's
 * choice. */
#ifndef TANDEM_SRC_TUI_CHOOSE_H
#define TANDEM_SRC_TUI_CHOOSE_H

typedef struct tui tui;

void tui_choose_first(tui *t); /* begins to load the model of the start */
void tui_choose_open(tui *t);
/* Takes the results of the list's thread; called before each wait. */
void tui_choose_step(tui *t);
/* Called when the child that fetches a model has written something. */
void tui_choose_read(tui *t);
/* Called before a frame; cols: of the area that popups open in. */
void tui_choose_fit(tui *t, int cols);

#endif
