#include "src/tui/frame/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "src/tui/private.h"
#include "ui/terminal/questions.h"

const char *tui_pictures_question(const tui *t)
{
    bool within = getenv("TMUX") || getenv("STY");
    bool asks = t->face.look.colours >= 256 && options_int(t->o, OPTION_IMAGE_PREVIEW, 1) &&
                questions_may_ask_kitty(getenv("TERM"), within);
    return asks ? QUESTIONS_KITTY : "";
}

/* Without colours, and with ASCII alone, a picture is only named. */
static enum view_pictures wanted(const tui *t)
{
    static const enum view_pictures ways[] = {[QUESTIONS_NO_PICTURES] = VIEW_PICTURES_BLOCKS,
                                              [QUESTIONS_SIXEL] = VIEW_PICTURES_SIXEL,
                                              [QUESTIONS_KITTYS] = VIEW_PICTURES_KITTY};
    bool shows = options_int(t->o, OPTION_IMAGE_PREVIEW, 1) && t->face.look.colours >= 256 && !t->face.look.ascii;
    return shows ? ways[questions_pictures()] : VIEW_PICTURES_OFF;
}

void tui_pictures_choose(tui *t, int rows, int cols)
{
    struct view_options *look = &t->face.look;
    enum view_pictures way = wanted(t);
    bool resized = rows != t->face.pictured_rows || cols != t->face.pictured_cols;
    if (way == t->face.pictured && !resized) return;
    t->face.pictured = way;
    t->face.pictured_rows = rows;
    t->face.pictured_cols = cols;
    bool able = term_set_graphics(t->face.term, way == VIEW_PICTURES_KITTY   ? GRAPHICS_KITTY
                                                : way == VIEW_PICTURES_SIXEL ? GRAPHICS_SIXEL
                                                                             : GRAPHICS_NONE);
    look->pictures = able ? way : VIEW_PICTURES_BLOCKS;
    term_cell_size(t->face.term, &look->cell_width, &look->cell_height);
}

struct view_picture tui_picture_view(const picture *p)
{
    return (struct view_picture){.id = (uint64_t)(uintptr_t)p,
                                 .name = p->name,
                                 .width = p->width,
                                 .height = p->height,
                                 .view_width = p->view.width,
                                 .view_height = p->view.height,
                                 .rgb = p->view.rgb};
}
