/* The demo on the screen: it makes its runs (src/demo/demo_run.h) as soon as the model is there and no reply is being
 * written, and then shows them side by side. Meanwhile it has the whole screen and the keys; the conversation, its
 * draft and its settings are not touched, and go on when the demo is left. */
#ifndef TANDEM_SRC_TUI_DEMO_H
#define TANDEM_SRC_TUI_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/terminal/decoder.h"

typedef struct tui tui;
struct tui_demo;

/* path NULL: the script that comes along. alone: `tandem demo`, where leaving the demo leaves the program, and so does
 * what can't be shown. A script that can't be played is told as a notice. Nothing happens while one is shown. */
void tui_demo_begin(tui *t, const char *path, bool alone);
void tui_demo_end(tui *t);
/* A key. */
void tui_demo_event(tui *t, const struct decoder_event *e);
/* What has become due. */
void tui_demo_step(tui *t, int64_t now_ns);
int64_t tui_demo_deadline(const tui *t); /* of the next frame; INT64_MAX: none is due by itself */
/* Onto the screen's canvas. */
void tui_demo_draw(tui *t, int64_t now_ns);
/* `tandem demo`: why there was nothing to show; NULL: there was. */
const char *tui_demo_failure(const tui *t);

#endif
