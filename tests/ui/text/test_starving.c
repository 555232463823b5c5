/* Turns that are drawn while an allocation fails: with memory again they are whole. */
#include "tests/check.h"
#include "tests/ui/dump.h"
#include "tests/starved.h"

#include "ui/draw/canvas.h"
#include "ui/text/transcript.h"

enum { ROWS = 24, COLS = 60 };

static char reply[] =
    "One **two** `three`.\n\n* a list\n* of two, with $x^2$\n\n```c\nint code = 1;\n```\n\n| a | b |\n|---|---|\n"
    "| 1 | 2 |\n\nThe end of it.";
static struct view_turn turns[] = {{.id = 1, .role = VIEW_USER, .text = "a question", .text_len = 10},
                                   {.id = 2, .role = VIEW_ASSISTANT, .text = reply, .text_len = sizeof reply - 1}};
static const struct view view = {
    .turns = turns, .n_turns = 2, .options = {.ascii = true, .colours = 256}, .now_ns = 1000000000000};
static struct transcript *transcript;
static struct canvas *canvas;

static void draw(void)
{
    canvas_clear(canvas);
    transcript_draw(transcript, &view, canvas, (struct rect){0, 0, ROWS, COLS});
}

static char *drawn_after(long n, bool *hit)
{
    transcript = transcript_new();
    *hit = starved_by(n, draw);
    draw();
    char *text = dump_canvas(canvas);
    transcript_free(transcript);
    return text;
}

TEST(the_next_frame_is_whole)
{
    if (!starved_can()) return;
    canvas = canvas_new(ROWS, COLS);
    bool hit;
    char *whole = drawn_after(-1, &hit);
    CHECK(strstr(whole, "The end of it."));
    long n = 0;
    for (hit = true; hit; n++) {
        char *text = drawn_after(n, &hit);
        if (strcmp(whole, text)) CHECK_FAIL("allocation %ld:\n%s", n, text);
        free(text);
    }
    CHECK(n > 10);
    free(whole);
    canvas_free(canvas);
}

TEST_MAIN(T(the_next_frame_is_whole))
