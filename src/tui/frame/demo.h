/* The demo on the screen: it makes its runs (src/demo/run.h) as soon as the model is there and no reply is being
 * written, and shows them side by side: the first turn as soon as both have it. `tandem demo` prints what was measured
 * when it is left. Meanwhile it has the whole screen and the keys; the conversation, its
 * draft and its settings are not touched, and go on when the demo is left. */
#ifndef TANDEM_SRC_TUI_DEMO_H
#define TANDEM_SRC_TUI_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/keys/decoder.h"

typedef struct tui tui;
struct tui_demo;

/* path NULL: the script that comes along. alone: `tandem demo`, where leaving the demo leaves the program, and so does
 * what can't be shown. For a script that can't be played there is a notice. Nothing happens while one is shown. */
void tui_demo_begin(tui *t, const char *path, bool alone);
void tui_demo_end(tui *t);
/* Handles a key. */
void tui_demo_event(tui *t, const struct decoder_event *e);
/* Does what has become due. */
void tui_demo_step(tui *t, int64_t now_ns);
int64_t tui_demo_deadline(const tui *t); /* of the next frame; INT64_MAX: none is due by itself */
/* Draws it onto the screen's canvas. */
void tui_demo_draw(tui *t, int64_t now_ns);
/* `tandem demo`: why there was nothing to show; NULL: there was. */
const char *tui_demo_failure(const tui *t);

#endif
