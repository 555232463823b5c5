/* Showing a conversation, and going about in it, takes work in proportion to its turns. */
#include "ui/text/transcript.c"

#include "tests/check.h"
#include "tests/work.h"

static void number_turns(struct view_turn *turns, size_t n, uint64_t first)
{
    for (size_t i = 0; i < n; i++)
        turns[i] = (struct view_turn){
            .id = first + i, .role = i % 2 ? VIEW_ASSISTANT : VIEW_USER, .text = "One line.", .text_len = 9};
}

/* A conversation comes; its beginning, its end and a word in it are looked at; another branch takes its place. */
static uint64_t look_around(size_t n)
{
    struct transcript *t = transcript_new();
    struct canvas *canvas = canvas_new(20, 60);
    struct view_turn *turns = calloc(n, sizeof *turns);
    if (!t || !canvas || !turns) abort();
    struct view view = {.turns = turns, .n_turns = n, .options = {.ascii = true, .colours = 256}};
    const struct rect area = {0, 0, 20, 60};
    work_done = 0;
    number_turns(turns, n, 1);
    transcript_draw(t, &view, canvas, area);
    transcript_home(t, &view);
    transcript_draw(t, &view, canvas, area);
    transcript_find(t, &view, "absent", 1);
    transcript_end(t, &view);
    transcript_draw(t, &view, canvas, area);
    number_turns(turns, n, 1 + n);
    transcript_draw(t, &view, canvas, area);
    number_turns(turns, n, 1);
    transcript_draw(t, &view, canvas, area);
    uint64_t done = work_done;
    transcript_free(t);
    canvas_free(canvas);
    free(turns);
    return done;
}

TEST(twice_the_turns_are_twice_the_work)
{
    uint64_t once = look_around(1500), twice = look_around(3000);
    if (once < 1500 || 10 * twice > 22 * once)
        CHECK_FAIL("of 1500 %llu, of 3000 %llu", (unsigned long long)once, (unsigned long long)twice);
}

TEST_MAIN(T(twice_the_turns_are_twice_the_work))
