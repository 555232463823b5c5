/* The attachments, which go before the message, as one row of chips:
 *
 *     1 notes.md 1,482  2 $ git diff 1,204  3 photo.jpg 640x480 302, 40 % read   12.0k, 18.1k left
 *
 * A chip is tinted once its text is read; for a picture it shows the size, and how much is encoded and read. Its name
 * is followed by `*` if the file has changed on the disk since, and by `!` if there is no room for it or it can't be
 * encoded (words say why); while it is being read dots replace the tokens. The end of the row counts the chips that
 * don't fit: +3. */
#ifndef TANDEM_UI_CHIPS_H
#define TANDEM_UI_CHIPS_H

#include "ui/draw/canvas.h"
#include "ui/draw/view.h"

void chips_draw(const struct view *view, struct canvas *canvas, struct rect area);

#endif
