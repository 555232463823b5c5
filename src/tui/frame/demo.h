/* The demo on the screen: it makes its runs (src/demo/run.h) as soon as the model is loaded and no reply is being
 * written, and shows them side by side, beginning with the first turn as soon as both have it. `tandem demo` prints the
 * measurements at its end. The demo has the whole screen and the keys; the conversation, its draft and its settings do
 * not change, and continue afterwards. */
#ifndef TANDEM_SRC_TUI_DEMO_H
#define TANDEM_SRC_TUI_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/keys/decoder.h"

typedef struct tui tui;
struct tui_demo;

/* path NULL: the installed script. alone: `tandem demo`, where leaving the demo, or a failure, ends the program. A
 * script that can't be played gives a notice. Does nothing while a demo is shown. */
void tui_demo_begin(tui *t, const char *path, bool alone);
void tui_demo_end(tui *t);
/* Handles a key. */
void tui_demo_event(tui *t, const struct decoder_event *e);
/* Does due work. */
void tui_demo_step(tui *t, int64_t now_ns);
int64_t tui_demo_deadline(const tui *t); /* of the next frame; INT64_MAX: none is due by itself */
/* Draws it onto the screen's canvas. */
void tui_demo_draw(tui *t, int64_t now_ns);
/* For `tandem demo`: why nothing could be shown; NULL: no failure. */
const char *tui_demo_failure(const tui *t);

#endif
