/* Pictures on the screen: the way in which they are shown, and their data in the view. */
#ifndef TANDEM_SRC_TUI_PICTURES_H
#define TANDEM_SRC_TUI_PICTURES_H

#include "src/image/picture.h"
#include "ui/draw/view.h"

typedef struct tui tui;

/* The questions to the terminal for pictures alone; they go before the others. "": none. */
const char *tui_pictures_question(const tui *t);
/* Chooses the way, by the terminal's answers so far and the options. Cheap: call it for each frame. */
void tui_pictures_choose(tui *t, int rows, int cols);
/* The view of a picture, which must outlive it, since the view points to its strings and pixels. */
struct view_picture tui_picture_view(const picture *p);

#endif
