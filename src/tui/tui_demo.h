/* A conversation that types itself: the format of src/chat/script.h, played through the same keys as a person's.
 *
 * It runs in a private conversation of its own on the script's prepared history. The user's conversation is put aside
 * meanwhile, with its settings, its draft and what the screen shows of it, and comes back however the demo ends: by any
 * key or by itself, with a page that compares the turns with and without reading ahead. */
#ifndef TANDEM_SRC_TUI_DEMO_H
#define TANDEM_SRC_TUI_DEMO_H

#include "src/tui/tui_action.h"

typedef struct tui tui;
struct tui_demo;

/* path NULL: the script that is installed with the built-in model. Nothing happens while one runs. */
void tui_demo_begin(tui *t, const char *path);
void tui_demo_end(tui *t);
int64_t tui_demo_deadline(const tui *t); /* INT64_MAX: nothing to do by itself */
/* What is to be done at the deadline comes back, one action at a time: the next deadline may be now. */
tui_action tui_demo_step(tui *t, int64_t now_ns);

#endif
