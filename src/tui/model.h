/* The model that tui_load has loaded becomes the chat's: the first one, or the one of /model. */
#ifndef TANDEM_SRC_TUI_MODEL_H
#define TANDEM_SRC_TUI_MODEL_H

typedef struct tui tui;

/* Takes the loader's result over if it has just ended. */
void tui_model_take(tui *t);

#endif
