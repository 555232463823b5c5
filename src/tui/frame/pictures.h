/* Pictures on the screen: in which way they are shown, and what the view knows of one. */
#ifndef TANDEM_SRC_TUI_PICTURES_H
#define TANDEM_SRC_TUI_PICTURES_H

#include "src/image/picture.h"
#include "ui/draw/view.h"

typedef struct tui tui;

/* The questions to the terminal that only pictures need; they go before the others. "": none. */
const char *tui_pictures_question(const tui *t);
/* Chooses the way, by the terminal's answers so far and the options. Cheap: call it for each frame. */
void tui_pictures_choose(tui *t, int rows, int cols);
/* The view of a picture, which must stay: the view's strings and pixels are the picture's. */
struct view_picture tui_picture_view(const picture *p);

#endif
