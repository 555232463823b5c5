/* Pictures on the terminal's screen, between its cells: what is shown, and what makes it what the canvas has. Where a
 * picture has gone, has moved or is covered, the terminal is asked to remove it; it is drawn anew only then.
 *
 * One thread: the terminal's owner. */
#ifndef TANDEM_UI_GRAPHICS_H
#define TANDEM_UI_GRAPHICS_H

#include "engine/base/buffer.h"
#include "ui/draw/canvas.h"

enum graphics_way { GRAPHICS_NONE, GRAPHICS_SIXEL, GRAPHICS_KITTY };

/* Zeroed: nothing is shown. */
struct graphics {
    enum graphics_way way;
    int cell_width, cell_height;                  /* pixels; of sixel they have to be known */
    struct canvas_picture shown[CANVAS_PICTURES]; /* rgb is not looked at */
    int n;
    uint64_t sent[CANVAS_PICTURES]; /* KITTY: the terminal has these pictures, the one used last first */
    int n_sent;
};

/* Whether what is shown is another than what the canvas has. afresh: the screen has been cleared. */
bool graphics_changed(const struct graphics *g, const struct canvas *canvas, bool afresh);
/* The rows [*from, *to) whose cells must be written again, since pixels would stay there otherwise; *from == *to:
 * none. */
void graphics_rows(const struct graphics *g, int *from, int *to);
/* Appends the sequences that remove the pictures that are shown and draw those of the canvas, behind the cells of a
 * frame. */
void graphics_draw(struct graphics *g, const struct canvas *canvas, struct buffer *out);
/* Appends the sequences that remove all pictures, those that the terminal keeps too: before it is given back. */
void graphics_remove(struct graphics *g, struct buffer *out);

#endif
