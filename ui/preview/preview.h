/* A small view of a picture in a terminal, in each way that terminals support: kitty's protocol, sixel, or half blocks,
 * two pixels a cell. Pure functions: RGB (a byte each, rows one after the other) in, cells or escape sequences out.
 * ui/terminal/questions.h finds out what the terminal supports. */
#ifndef TANDEM_UI_PREVIEW_H
#define TANDEM_UI_PREVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/buffer.h"

struct preview_picture {
    uint32_t width, height;
    const uint8_t *rgb;
};

/* The cells that a picture takes: as large as fits into most_cols and most_rows, in its own aspect, at least one each
 * way. cell_width, cell_height: a cell's pixels; 0: unknown, cells count as twice as high as wide. */
void preview_fit(const struct preview_picture *p, int most_cols, int most_rows, int cell_width, int cell_height,
                 int *cols, int *rows);

/* The picture in another size, each new pixel is the mean of the pixels that it covers; out: 3 * width * height
 * bytes. */
void preview_resize(const struct preview_picture *p, uint32_t width, uint32_t height, uint8_t *out);

/* Half blocks: cell (row, col) of cols x rows is U+2580 in the upper colour on the lower one. */
struct preview_cell {
    uint8_t upper[3], lower[3];
};
/* out: [rows][cols]. False: out of memory. */
bool preview_cells(const struct preview_picture *p, int cols, int rows, struct preview_cell *out);

/* Appends to out the sequence that sends the pixels, for the terminal to keep. id: the picture's number there, from 1
 * on. */
tdm_status preview_kitty_send(struct buffer *out, const struct preview_picture *p, uint32_t id, tdm_error *err);
/* Rows of pixels of a picture. */
struct preview_part {
    uint32_t top, width, height;
};
/* Appends the sequence that shows such a part at the cursor, which does not move, on cols x rows cells. */
tdm_status preview_kitty_place(struct buffer *out, uint32_t id, const struct preview_part *part, int cols, int rows,
                               tdm_error *err);
/* Appends the sequence that removes the picture from the screen; forget: also from the terminal's memory. */
tdm_status preview_kitty_remove(struct buffer *out, uint32_t id, bool forget, tdm_error *err);

/* Appends a picture at the cursor, in its own size in pixels, in at most 216 colours, dithered by error diffusion. */
tdm_status preview_sixel(struct buffer *out, const struct preview_picture *p, tdm_error *err);

#endif
