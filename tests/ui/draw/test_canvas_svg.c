/* A screen as an SVG picture: its texts, and the colours of what it shows of pictures. */
#include "tests/check.h"

#include "ui/draw/canvas.h"

/* How often a piece stands in a text. */
static int count(const char *text, const char *piece)
{
    int n = 0;
    for (const char *at = text; at && (at = strstr(at, piece)); at += strlen(piece)) n++;
    return n;
}

TEST(texts)
{
    struct canvas *canvas = canvas_new(3, 20);
    canvas_puts(canvas, 0, 0, 20, "a < b & c", STYLE_TEXT);
    canvas_puts(canvas, 1, 2, 20, "\xe6\xbc\xa2 x", STYLE_TEXT | STYLE_BOLD);
    char *svg = canvas_svg(canvas, VIEW_THEME_DARK, 256);
    REQUIRE(svg);
    CHECK(strstr(svg, ">a &lt; b &amp; c") && strstr(svg, "font-weight=\"bold\">\xe6\xbc\xa2</text>"));
    CHECK_INT(1, count(svg, "<rect")); /* the ground */
    free(svg);
    canvas_free(canvas);
}

/* Two pixels a cell, in the colours of xterm's palette; one rectangle for each stretch of a colour. */
TEST(half_blocks_have_their_colours)
{
    struct canvas *canvas = canvas_new(2, 10);
    canvas_puts(canvas, 0, 0, 10, "ab", STYLE_TEXT);
    for (int col = 2; col < 6; col++) canvas_blocks(canvas, 0, col, 196, col < 5 ? 21 : 231);
    canvas_puts(canvas, 0, 6, 10, "cd", STYLE_TEXT);
    char *svg = canvas_svg(canvas, VIEW_THEME_LIGHT, 256);
    REQUIRE(svg);
    CHECK(strstr(svg, ">ab</text>") && strstr(svg, ">cd  </text>") && !strstr(svg, "\xe2\x96\x80"));
    CHECK_INT(1, count(svg, "<rect x=\"30\" y=\"12\" width=\"36\" height=\"9.5\" fill=\"#ff0000\"/>"));
    CHECK_INT(1, count(svg, "<rect x=\"30\" y=\"21.5\" width=\"27\" height=\"9.5\" fill=\"#0000ff\"/>"));
    CHECK_INT(1, count(svg, "<rect x=\"57\" y=\"21.5\" width=\"9\" height=\"9.5\" fill=\"#ffffff\"/>"));
    CHECK_INT(4, count(svg, "<rect"));
    free(svg);
    canvas_free(canvas);
}

/* Green on the left, its rows brighter downwards, and blue on the right; all but its first and last rows are seen, and
 * a text covers a part. */
TEST(pictures_that_the_terminal_shows_are_there)
{
    enum { WIDTH = 8, HEIGHT = 16 };
    uint8_t rgb[HEIGHT][WIDTH][3] = {0};
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) rgb[y][x][x < WIDTH / 2 ? 1 : 2] = x < WIDTH / 2 ? (uint8_t)(16 * y) : 255;
    struct canvas *canvas = canvas_new(2, 6);
    canvas_picture(canvas, &(struct canvas_picture){.id = 1,
                                                    .row = -1,
                                                    .col = 1,
                                                    .rows = 4,
                                                    .cols = 4,
                                                    .from = 1,
                                                    .to = 3,
                                                    .width = WIDTH,
                                                    .height = HEIGHT,
                                                    .rgb = &rgb[0][0][0]});
    canvas_puts(canvas, 1, 4, 6, "x", STYLE_TEXT);
    char *svg = canvas_svg(canvas, VIEW_THEME_DARK, 256);
    REQUIRE(svg);
    for (int y = 0; y < HEIGHT; y++) {
        char piece[40];
        snprintf(piece, sizeof piece, "width=\"18\" height=\"4.75\" fill=\"#00%02x00\"", 16 * y);
        CHECK_INT(y >= 4 && y < 12, count(svg, piece));
    }
    CHECK_INT(4, count(svg, "width=\"18\" height=\"4.75\" fill=\"#0000ff\""));
    CHECK_INT(4, count(svg, "width=\"9\" height=\"4.75\" fill=\"#0000ff\""));
    CHECK(strstr(svg, ">x</text>") || strstr(svg, ">x </text>"));
    free(svg);
    canvas_free(canvas);
}

TEST_MAIN(T(texts), T(half_blocks_have_their_colours), T(pictures_that_the_terminal_shows_are_there))
