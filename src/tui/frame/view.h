/* Fills the view (ui/draw/view.h) from the program's state, and shows a frame of it. */
#ifndef TANDEM_SRC_TUI_VIEW_H
#define TANDEM_SRC_TUI_VIEW_H

#include "ui/draw/view.h"

typedef struct tui tui;

enum { TUI_TIPS = 3 };
extern const char *const tui_tips[TUI_TIPS]; /* of the first run */

void tui_view_fill(tui *t, int64_t now_ns);
/* Draws and shows a frame now. */
void tui_view_draw(tui *t);
/* The view with updated pointers to the turns, which may have moved in memory since the last frame. */
struct view *tui_view_turns(tui *t);
/* The form of the monitor that was drawn last. */
enum view_form tui_view_form(const tui *t);
/* Updates the model's name for the status line. */
void tui_view_name_model(tui *t);

#endif
