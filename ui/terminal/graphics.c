#include "ui/terminal/graphics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/preview/preview.h"

/* The pictures of the canvas of which no cell is covered by something else. */
static int visible(const struct graphics *g, const struct canvas *canvas, struct canvas_picture out[CANVAS_PICTURES])
{
    int n = 0;
    for (int i = 0; g->way && i < canvas->n_pictures; i++)
        if (canvas_picture_whole(canvas, i)) out[n++] = canvas->pictures[i];
    return n;
}

static bool same(const struct canvas_picture *a, const struct canvas_picture *b)
{
    return a->id == b->id && a->row == b->row && a->col == b->col && a->rows == b->rows && a->cols == b->cols &&
           a->from == b->from && a->to == b->to;
}

bool graphics_changed(const struct graphics *g, const struct canvas *canvas, bool afresh)
{
    struct canvas_picture wanted[CANVAS_PICTURES];
    int n = visible(g, canvas, wanted);
    if (n != g->n || (afresh && n)) return true;
    for (int i = 0; i < n; i++)
        if (!same(&wanted[i], &g->shown[i])) return true;
    return false;
}

void graphics_rows(const struct graphics *g, int *from, int *to)
{
    *from = *to = 0;
    for (int i = 0; g->way == GRAPHICS_SIXEL && i < g->n; i++) {
        const struct canvas_picture *p = &g->shown[i];
        if (*from == *to || p->row + p->from < *from) *from = p->row + p->from;
        if (p->row + p->to > *to) *to = p->row + p->to;
    }
}

/* ---- Kitty ------------------------------------------------------------------------------------------------------- */

/* The terminal's number of a picture: not 0. */
static uint32_t number_of(uint64_t id)
{
    uint32_t number = (uint32_t)(id ^ id >> 32);
    return number ? number : 1;
}

/* Sends the pixels unless the terminal has them; the one that was used longest ago makes room. */
static void send_once(struct graphics *g, const struct canvas_picture *p, struct buffer *out)
{
    int at = 0;
    while (at < g->n_sent && g->sent[at] != p->id) at++;
    if (at == g->n_sent) {
        if (g->n_sent == CANVAS_PICTURES) preview_kitty_remove(out, number_of(g->sent[--g->n_sent]), true, NULL);
        at = g->n_sent++;
        preview_kitty_send(out, &(struct preview_picture){p->width, p->height, p->rgb}, number_of(p->id), NULL);
    }
    memmove(g->sent + 1, g->sent, (size_t)at * sizeof *g->sent);
    g->sent[0] = p->id;
}

static void draw_kitty(struct graphics *g, const struct canvas_picture *p, struct buffer *out)
{
    uint32_t top = p->height * (uint32_t)p->from / (uint32_t)p->rows,
             bottom = p->height * (uint32_t)p->to / (uint32_t)p->rows;
    send_once(g, p, out);
    const struct preview_part part = {top, p->width, bottom > top ? bottom - top : 1};
    preview_kitty_place(out, number_of(p->id), &part, p->cols, p->to - p->from, NULL);
}

/* ---- Sixel ------------------------------------------------------------------------------------------------------- */

static void draw_sixel(const struct graphics *g, const struct canvas_picture *p, struct buffer *out)
{
    uint32_t width = (uint32_t)(p->cols * g->cell_width), height = (uint32_t)(p->rows * g->cell_height);
    size_t row = (size_t)3 * width, skipped = row * (size_t)(p->from * g->cell_height);
    uint8_t *rgb = malloc(row * height);
    if (!rgb) return;
    preview_resize(&(struct preview_picture){p->width, p->height, p->rgb}, width, height, rgb);
    preview_sixel(out, &(struct preview_picture){width, (uint32_t)((p->to - p->from) * g->cell_height), rgb + skipped},
                  NULL);
    free(rgb);
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

/* The cursor is curses' own: it comes back to where it was. */
static void draw_one(struct graphics *g, const struct canvas_picture *p, struct buffer *out)
{
    char text[40];
    int n = snprintf(text, sizeof text, "\0337\033[%d;%dH", p->row + p->from + 1, p->col + 1);
    buffer_append(out, text, (size_t)n, NULL);
    if (g->way == GRAPHICS_KITTY)
        draw_kitty(g, p, out);
    else
        draw_sixel(g, p, out);
    buffer_append(out, "\0338", 2, NULL);
}

void graphics_draw(struct graphics *g, const struct canvas *canvas, struct buffer *out)
{
    struct canvas_picture wanted[CANVAS_PICTURES];
    int n = visible(g, canvas, wanted);
    for (int i = 0; g->way == GRAPHICS_KITTY && i < g->n; i++)
        preview_kitty_remove(out, number_of(g->shown[i].id), false, NULL);
    for (int i = 0; i < n; i++) draw_one(g, &wanted[i], out);
    memcpy(g->shown, wanted, (size_t)n * sizeof *wanted);
    g->n = n;
}

void graphics_remove(struct graphics *g, struct buffer *out)
{
    for (int i = 0; i < g->n_sent; i++) preview_kitty_remove(out, number_of(g->sent[i]), true, NULL);
    g->n = g->n_sent = 0;
}
