/* The demo in a pseudo-terminal, with real runs of the built-in model: in a conversation, alone, left at any moment. */
#include "tests/check.h"
#include "tests/seeing.h"
#include "tests/src/tui/rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A script of two turns, which takes little. */
static const char *const *short_demo(void)
{
    static char path[300];
    static const char *const arguments[] = {"demo", "--script", path, NULL};
    static const char script[] =
        "{\"max_tokens\": 6, \"temperature\": 0, \"seed\": 1, \"typing_cps\": 100, \"turns\": ["
        "{\"text\": \"Why is the sky blue?\", \"pause\": 0.2},"
        "{\"text\": \"What is the Moonx?\", \"pause\": 0.2, \"events\": [{\"at_chars\": 17, \"do\": \"delete\"}]}]}";
    snprintf(path, sizeof path, "%s/script.json", check_tmp());
    FILE *out = fopen(path, "w");
    if (out) fputs(script, out), fclose(out);
    return arguments;
}

static void leaves_with(const char *key)
{
    rig_type(key);
    int ended = rig_end();
    CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    CHECK(!rig_alternate() && rig_cooked());
}

TEST(both_runs_are_made_and_shown)
{
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", short_demo()));
    CHECK(rig_wait("1 of 2  READS AFTER ENTER"));
    CHECK(rig_wait("SCALED: measured with the built-in model, shown as a "));
    CHECK(rig_wait("> Why is the sky blue?"));
    rig_type("x");
    CHECK(rig_wait("MEASURED: built-in 51M"));
    rig_type("n");
    CHECK(rig_wait("turn 2 of 2"));
    CHECK(rig_wait("> What is the Moon?"));
    CHECK(rig_wait("DEMO end") && rig_wait("in all"));
    rig_type("x");
    CHECK(rig_wait("SCALED") && rig_wait("DEMO end"));
    rig_type("r ");
    CHECK(rig_wait("paused 1 of 2"));
    rig_type(" ");
    CHECK(rig_wait("turn 1 of 2"));
    leaves_with("q");
    CHECK(rig_row("MEASURED: built-in 51M") >= 0 && rig_row("SCALED: measured with") >= 0 && rig_row("turn 2 ") >= 0);
}

/* Two pairs of units, here of the same cores, both read ahead; what was measured is shown as it is. */
TEST(two_pairs_are_played_side_by_side)
{
    const char *arguments[6], *const *all = short_demo();
    for (int i = 0; i < 3; i++) arguments[i] = all[i];
    arguments[3] = "--pair";
    arguments[4] = "cores+cores";
    arguments[5] = NULL;
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", arguments));
    CHECK(rig_wait("1 of 2  the chosen units") && rig_wait("2 of 2  cores+cores"));
    CHECK(rig_wait("MEASURED: built-in 51M") && rig_wait("cores + cores"));
    CHECK(rig_wait("DEMO end"));
    CHECK(rig_row("waits for Enter") < 0 && rig_row("x scaled") < 0 && rig_row("READS AHEAD") < 0);
    leaves_with("q");
    CHECK(rig_row("cores + cores | cores + cores") >= 0 && rig_row("SCALED") < 0);
    arguments[4] = "cores";
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", arguments));
    rig_end();
    CHECK(rig_row("--pair: expected PREFILL+DECODE like gpu+cores, found 'cores'") >= 0);
}

/* The picture stands before the first message of both runs, whose wait it is part of. */
TEST(a_picture_is_shown_and_read_on_both_sides)
{
    const char *model = seeing_model(), *picture = check_data("src/image/corpus/decode/alpha.png");
    const char *arguments[] = {"demo", "-m", model, "--image", picture, NULL};
    if (!model) return;
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", arguments));
    CHECK(rig_wait("1 of 2  READS AFTER ENTER") && rig_wait("alpha.png"));
    CHECK(rig_wait("MEASURED") && rig_wait("> Describe what this picture shows"));
    rig_type("n");
    CHECK(rig_wait("> Which colours stand out in it?") && rig_wait("DEMO end"));
    leaves_with("q");
    CHECK(rig_row("turn 1 ") >= 0 && rig_row("turn 2 ") >= 0);
    arguments[2] = "builtin";
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", arguments));
    rig_end();
    CHECK(rig_row("alpha.png: Tandem Demo 51M doesn't see pictures") >= 0);
    const char *placeless[] = {"demo", "-m", model, "--template", "chatml", "--image", picture, NULL};
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", placeless));
    rig_end();
    CHECK(rig_row("alpha.png: the model's chat template has no place for a picture") >= 0);
}

/* On each side six turns are measured, while the first one is shown. */
TEST(the_first_turn_is_shown_at_once)
{
    static const char *const arguments[] = {"demo", NULL};
    REQUIRE(rig_start(check_tmp(), 12, 40, "xterm-256color", arguments));
    CHECK(rig_wait("SCALED: as a ") && rig_wait("turn 1  -    measuring "));
    leaves_with("q");
    CHECK(rig_row("MEASURED: built-in 51M") >= 0 && rig_row("turn 1 ") >= 0 && rig_row("turn 2 ") < 0);
}

TEST(any_size_and_terminal_will_do)
{
    static const int sizes[][2] = {{3, 3}, {1, 1}, {12, 40}, {60, 200}, {5, 300}, {100, 4}, {24, 80}};
    REQUIRE(rig_start(check_tmp(), 24, 80, "vt100", short_demo()));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rig_resize(sizes[i][0], sizes[i][1]);
        CHECK(rig_take(30));
    }
    CHECK(rig_wait("SCALED"));
    rig_type(" ");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rig_resize(sizes[i][0], sizes[i][1]);
        CHECK(rig_take(30));
    }
    CHECK(rig_wait("READS AHEAD"));
    leaves_with("\x03");
}

TEST(it_can_be_left_at_any_moment)
{
    static const char *const moments[] = {"DEMO", "measured", "1 of 2", "SCALED"};
    static const char *const keys[] = {"q", "\033", "\x03", "q"};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", short_demo()));
        CHECK(rig_wait(moments[i]));
        leaves_with(keys[i]);
    }
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", short_demo()));
    CHECK(rig_wait("1 of 2"));
    rig_kill(SIGTERM);
    rig_end();
    CHECK(!rig_alternate() && rig_cooked());
}

/* A row that holds a text; "" when there is none. */
static const char *row_with(const char *text)
{
    static char row[RIG_ROW];
    row[0] = 0;
    if (rig_row(text) >= 0) rig_text(rig_row(text), row);
    return row;
}

TEST(a_conversation_goes_on_as_it_was)
{
    char before[RIG_ROW];
    START();
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("read before Enter") && rig_wait("LENGTH | first"));
    rig_type("/speculation draft\r");
    CHECK(rig_wait("draft |"));
    rig_type("/demo\r");
    snprintf(before, sizeof before, "%s", row_with("LENGTH | first"));
    CHECK(rig_wait("READS AHEAD") && rig_wait("SCALED"));
    rig_type("any word");
    rig_type("q");
    CHECK(rig_wait("LENGTH | first") && rig_wait("The sky is blue"));
    CHECK_STR(before, row_with("LENGTH | first"));
    CHECK(strstr(before, "draft |"));
    rig_type("And the Moon?");
    CHECK(rig_wait_rest()); /* what is read ahead of Enter here makes the turn a warm one */
    rig_type("\r");
    CHECK(rig_wait("warm") && rig_shows("> And the Moon?"));
    LEAVE();
    CHECK(rig_wait("tandem: 'Why is the sky blue?', 2 turns"));
}

/* Text frames of the demo that comes along, from real runs. With $TANDEM_DEMO set they are kept there (`make figures`),
 * at the speed at which they are shown; otherwise they are gone through. */
static void keep_frame(FILE *out, const char *about)
{
    char row[RIG_ROW];
    if (!out) return;
    rig_take(100); /* the rest of the frame */
    fprintf(out, "\n%s\n\n", about);
    for (int i = 0; i < 24; i++) {
        rig_text(i, row);
        fprintf(out, row[0] ? "    %s\n" : "\n", row);
    }
}

TEST(frames)
{
    static const char *const arguments[] = {"demo", "--ascii", NULL};
    const char *kept = getenv("TANDEM_DEMO");
    FILE *out = kept && kept[0] ? fopen(kept, "w") : NULL;
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", arguments));
    if (out)
        fputs("# The demo as text\n\nFrames of `tandem demo --ascii` on 80x24, with the built-in model. `make figures` "
              "writes them.\n", out);
    CHECK(rig_wait(out ? "turn 1 of 6," : "1 of 2  READS AFTER ENTER"));
    keep_frame(out, "Two real runs are made; the first turn of both comes first:");
    CHECK(rig_wait("SCALED") && rig_wait("Tomek. My dog"));
    keep_frame(out, "The first message is typed; on the right it is read meanwhile. The rest is being measured:");
    if (!out) rig_type("n");
    CHECK(rig_wait(out ? "reading" : "turn 2 of"));
    keep_frame(out, "Enter was pressed: the left side begins to read, the right side has read:");
    if (!out) rig_type("nnnn");
    if (out) CHECK(rig_wait("turn 3 of") && rig_wait("dog's name?") && rig_wait("reading") && rig_wait("Bruno."));
    keep_frame(out, "The third turn:");
    if (!out) rig_type("n");
    CHECK(rig_wait(out ? "turn 6 of" : "DEMO end"));
    CHECK(rig_wait("in all"));
    keep_frame(out, "The end:");
    if (out) fclose(out);
    leaves_with("q");
}

TEST_MAIN(T(both_runs_are_made_and_shown), T(two_pairs_are_played_side_by_side),
          T(a_picture_is_shown_and_read_on_both_sides), T(the_first_turn_is_shown_at_once),
          T(any_size_and_terminal_will_do), T(it_can_be_left_at_any_moment), T(a_conversation_goes_on_as_it_was),
          T(frames))
