/* What goes before the message, as one row of chips:
 *
 *     1 notes.md 1,482  2 $ git diff 1,204  3 src/ (41) 9,310   12.0k, 18.1k left
 *
 * A chip is tinted once its text is read. Behind its name stand `*` where it has changed on the disk since, `!` where
 * there is no room for it, and dots in place of the tokens while it is being read. What has no place in the row is
 * counted at its end: +3. */
#ifndef TANDEM_UI_CHIPS_H
#define TANDEM_UI_CHIPS_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

void chips_draw(const struct view *view, struct canvas *canvas, struct rect area);

#endif
