/* What the terminal is told so that it shows the canvas's pictures, and nothing else. */
#include "tests/check.h"

#include <string.h>

#include "ui/terminal/graphics.h"
#include "ui/terminal/questions.h"

static uint8_t rgb[3 * 12 * 12];
static struct buffer out;

static struct canvas *canvas_with(int row, int from, int to)
{
    static struct canvas *canvas;
    if (!canvas) canvas = canvas_new(20, 40);
    if (!canvas) abort();
    canvas_clear(canvas);
    if (to > from)
        canvas_picture(canvas, &(struct canvas_picture){.id = 7,
                                                        .row = row,
                                                        .col = 3,
                                                        .rows = 6,
                                                        .cols = 12,
                                                        .from = from,
                                                        .to = to,
                                                        .width = 12,
                                                        .height = 12,
                                                        .rgb = rgb});
    return canvas;
}

/* What a frame of this canvas tells; "": nothing. */
static const char *told(struct graphics *g, const struct canvas *canvas, bool afresh)
{
    buffer_clear(&out);
    if (graphics_changed(g, canvas, afresh)) graphics_draw(g, canvas, &out);
    return out.n ? out.bytes : "";
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part);
}

TEST(kitty_gets_the_pixels_once)
{
    struct graphics g = {.way = GRAPHICS_KITTY};
    const char *first = told(&g, canvas_with(2, 0, 6), false);
    CHECK(has(first, "\0337\033[3;4H\033_Ga=t,f=24") && has(first, "a=p,C=1,q=2,i=7,x=0,y=0,w=12,h=12,c=12,r=6"));
    CHECK(has(first, "\0338"));
    CHECK_STR("", told(&g, canvas_with(2, 0, 6), false));
    /* Scrolled: two of its rows have gone above the edge. */
    const char *moved = told(&g, canvas_with(-2, 2, 6), false);
    CHECK(!has(moved, "a=t") && has(moved, "\033_Ga=d,d=i,q=2,i=7") && has(moved, "\033[1;4H"));
    CHECK(has(moved, "y=4,w=12,h=8,c=12,r=4"));
    CHECK(strstr(moved, "a=d") < strstr(moved, "a=p"));
    CHECK(has(told(&g, canvas_with(-2, 2, 6), true), "a=p")); /* the screen was cleared */
    /* Something opens over a part of it: it goes, and comes back without its pixels. */
    struct canvas *covered = canvas_with(2, 0, 6);
    canvas_puts(covered, 4, 10, 40, "menu", STYLE_POPUP);
    CHECK_STR("\033_Ga=d,d=i,q=2,i=7\033\\", told(&g, covered, false));
    CHECK_STR("", told(&g, covered, false));
    const char *back = told(&g, canvas_with(2, 0, 6), false);
    CHECK(has(back, "a=p") && !has(back, "a=t"));
    CHECK(has(told(&g, canvas_with(0, 0, 0), false), "a=d,d=i"));
    buffer_clear(&out);
    graphics_remove(&g, &out);
    CHECK_STR("\033_Ga=d,d=I,q=2,i=7\033\\", out.bytes);
    CHECK_STR("", told(&g, canvas_with(0, 0, 0), false));
}

TEST(the_pictures_used_longest_ago_make_room)
{
    struct graphics g = {.way = GRAPHICS_KITTY};
    struct canvas *canvas = canvas_with(0, 0, 0);
    for (uint64_t id = 1; id <= CANVAS_PICTURES + 1; id++) {
        canvas_clear(canvas);
        canvas_picture(
            canvas,
            &(struct canvas_picture){
                .id = id, .row = 1, .col = 1, .rows = 2, .cols = 4, .to = 2, .width = 12, .height = 12, .rgb = rgb});
        bool full = id > CANVAS_PICTURES;
        const char *text = told(&g, canvas, false);
        CHECK(has(text, "a=t") && has(text, "a=d,d=I,q=2,i=1\033") == full);
    }
    CHECK_INT(CANVAS_PICTURES, g.n_sent);
}

TEST(sixels_go_with_the_cells)
{
    struct graphics g = {.way = GRAPHICS_SIXEL, .cell_width = 5, .cell_height = 10};
    int from, to;
    const char *first = told(&g, canvas_with(2, 0, 6), false);
    CHECK(has(first, "\033[3;4H\033P0;1;0q\"1;1;60;60"));
    graphics_rows(&g, &from, &to);
    CHECK(from == 2 && to == 8); /* whose cells are written again before it is drawn elsewhere */
    CHECK_STR("", told(&g, canvas_with(2, 0, 6), false));
    CHECK(has(told(&g, canvas_with(1, 0, 6), false), "\033[2;4H"));
    CHECK(has(told(&g, canvas_with(-3, 3, 6), false), "\033[1;4H\033P0;1;0q\"1;1;60;30"));
    CHECK_STR("", told(&g, canvas_with(0, 0, 0), false));
    graphics_rows(&g, &from, &to);
    CHECK_INT(from, to);
}

TEST(without_a_way_nothing_is_told)
{
    struct graphics g = {0};
    CHECK_STR("", told(&g, canvas_with(2, 0, 6), true));
    buffer_clear(&out);
    graphics_remove(&g, &out);
    CHECK_INT(0, out.n);
}

/* What a terminal answers, in pieces as they may come. */
static enum questions_pictures after(const char *answers)
{
    questions_asked(0, 0);
    for (; *answers; answers++) questions_heard(answers, 1);
    return questions_pictures();
}

TEST(the_terminal_says_which_it_knows)
{
    CHECK_INT(QUESTIONS_NO_PICTURES, after("\033[?62;22c"));
    CHECK_INT(QUESTIONS_SIXEL, after("\033[?62;4;22c"));
    CHECK_INT(QUESTIONS_SIXEL, after("\033[?1;2;4c"));
    CHECK_INT(QUESTIONS_NO_PICTURES, after("\033[?64;44;14c"));
    CHECK_INT(QUESTIONS_KITTYS, after("\033_Gi=31;OK\033\\\033[?62;c"));
    CHECK_INT(QUESTIONS_NO_PICTURES, after("\033_Gi=31;EINVAL:no\033\\\033[?62;c"));
    CHECK_INT(QUESTIONS_KITTYS, after("\033_Gi=31;OK\033\\\033[?62;4c"));
    CHECK(questions_may_ask_kitty("xterm-kitty", false) && questions_may_ask_kitty("xterm-256color", false));
    CHECK(!questions_may_ask_kitty("xterm-256color", true) && !questions_may_ask_kitty("linux", false));
    CHECK(!questions_may_ask_kitty("screen-256color", false) && !questions_may_ask_kitty(NULL, false));
}

TEST_MAIN(T(kitty_gets_the_pixels_once), T(the_pictures_used_longest_ago_make_room), T(sixels_go_with_the_cells),
          T(without_a_way_nothing_is_told), T(the_terminal_says_which_it_knows))
