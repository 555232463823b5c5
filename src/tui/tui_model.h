/* The model that tui_load has loaded becomes the chat's: the first one, or the one of /model. */
#ifndef TANDEM_SRC_TUI_MODEL_H
#define TANDEM_SRC_TUI_MODEL_H

typedef struct tui tui;

/* If the loader has just ended: takes its result over. */
void tui_model_take(tui *t);

#endif
