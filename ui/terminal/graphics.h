/* Pictures on the terminal's screen, between its cells: the pictures that are shown, and the sequences that bring them
 * up to date with the canvas. If a picture has gone, moved or is covered, the terminal is told to remove it; only then
 * is it drawn again.
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
    int cell_width, cell_height;                  /* in pixels; must be known for sixel */
    struct canvas_picture shown[CANVAS_PICTURES]; /* rgb is not used */
    int n;
    uint64_t sent[CANVAS_PICTURES]; /* KITTY: the terminal has these pictures, the one used last first */
    int n_sent;
};

/* Whether the shown pictures differ from the canvas's. afresh: the screen has been cleared. */
bool graphics_changed(const struct graphics *g, const struct canvas *canvas, bool afresh);
/* The rows [*from, *to) whose cells must be written again to remove pixels; *from == *to: none. */
void graphics_rows(const struct graphics *g, int *from, int *to);
/* Appends the sequences that remove shown pictures and draw those of the canvas; they follow the cells of a frame. */
void graphics_draw(struct graphics *g, const struct canvas *canvas, struct buffer *out);
/* Appends the sequences that remove all pictures, also from the terminal's memory, before the terminal is given
 * back. */
void graphics_remove(struct graphics *g, struct buffer *out);

#endif
