/* From the program's state to what the screen shows (ui/draw/view.h), and a frame of it. */
#ifndef TANDEM_SRC_TUI_VIEW_H
#define TANDEM_SRC_TUI_VIEW_H

#include "ui/draw/view.h"

typedef struct tui tui;

enum { TUI_TIPS = 3 };
extern const char *const tui_tips[TUI_TIPS]; /* of the first run */

void tui_view_fill(tui *t, int64_t now_ns);
/* Draws and shows a frame now. */
void tui_view_draw(tui *t);
/* The view with the turns as they are now: between two frames they may have moved in memory. */
struct view *tui_view_turns(tui *t);
/* The form of the monitor that was drawn last. */
enum view_form tui_view_form(const tui *t);
/* The model's name for the status line, after it has changed. */
void tui_view_name_model(tui *t);

#endif
