/* What a reader takes for one character is one for the keys, too: emoji sequences, flags, keycaps, letters with marks.
 */
#include "tests/check.h"
#include "tests/ui/edit/play.h"

#define FAMILY "\U0001F468\u200D\U0001F469\u200D\U0001F467"
#define THUMB  "\U0001F44D\U0001F3FD"
#define FLAG   "\U0001F1E9\U0001F1EA"
#define KEYCAP "1\uFE0F\u20E3"
#define MARKED "e\u0323\u0301"

#define HOME   "\033[H"
#define LEFT   "\033[D"
#define RIGHT  "\033[C"
#define DELETE "\033[3~"
#define VI     "set editing-mode vi\n"

static const char *const sequences[] = {FAMILY, THUMB, FLAG, KEYCAP, MARKED, "\u0928\u093F", "\u1112\u1161\u11AB"};
enum { N = sizeof sequences / sizeof *sequences };

/* For each sequence: the keys behind "a<sequence>b", and what they leave, where * is the sequence. */
static void check_each(const char *inputrc, const char *keys_behind, const char *left)
{
    for (size_t i = 0; i < N; i++) {
        char script[200], expected[200] = "";
        snprintf(script, sizeof script, "a%sb%s", sequences[i], keys_behind);
        for (const char *at = left; *at; at++)
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%.*s",
                     *at == '*' ? (int)strlen(sequences[i]) : 1, *at == '*' ? sequences[i] : at);
        CHECK_STR(expected, keys_with(inputrc, script));
    }
}

TEST(backspace_and_delete_take_one)
{
    check_each("", LEFT "\177", "a|b");
    check_each("", LEFT "\010", "a|b");
    check_each("", HOME RIGHT DELETE, "a|b");
    check_each("", "\001\006\004", "a|b");
    check_each("", LEFT "\177\037", "a*|b"); /* one undo step */
    CHECK_STR(FLAG "|", keys(FLAG FLAG "\177"));
    CHECK_STR("|", keys(FLAG FLAG "\177\177"));
    CHECK_STR("|" FLAG, keys(FLAG FLAG HOME DELETE));
    CHECK_STR("|", keys(THUMB FAMILY "\0332\177"));
    CHECK_STR(THUMB FAMILY "|", keys(THUMB FAMILY "\0332\177\031")); /* a numeric argument kills */
    CHECK_STR("a| b", keys("a" FAMILY "b" LEFT "\033[2~\177"));      /* overwriting */
}

TEST(the_cursor_passes_one)
{
    check_each("", LEFT LEFT, "a|*b");
    check_each("", "\002\002", "a|*b");
    check_each("", HOME RIGHT RIGHT, "a*|b");
    check_each("", "\001\0332\006", "a*|b");
    CHECK_STR(FLAG "|" FLAG, keys(FLAG FLAG LEFT));
    CHECK_STR(FAMILY "|" FAMILY "$" FAMILY FAMILY, keys(FAMILY FAMILY "\n" FAMILY FAMILY LEFT "\033[A"));
}

TEST(two_change_places)
{
    CHECK_STR(FAMILY "a|", keys("a" FAMILY "\024"));
    CHECK_STR(THUMB FLAG "|", keys(FLAG THUMB "\024"));
    CHECK_STR("b" MARKED "|", keys(MARKED "b" LEFT "\024"));
    CHECK_STR("|" FLAG "a", keys(FLAG "a" HOME "\024"));
    CHECK_STR(FLAG "|", keys(FLAG "\024"));
}

TEST(vi_stands_on_one)
{
    check_each(VI, "\033" WAIT "h", "a|*b");
    check_each(VI, "\033" WAIT "hx", "a|b");
    check_each(VI, "\033" WAIT "X", "a|b");
    check_each(VI, "\033" WAIT "hhl", "a|*b");
    check_each(VI, "\033" WAIT "hdl", "a|b");
    check_each(VI, "\033" WAIT "dh", "a|b");
    CHECK_STR("a|" FAMILY, keys_with(VI, "a" FAMILY "\033" WAIT)); /* Esc */
    CHECK_STR("a|" FAMILY, keys_with(VI, "a" FAMILY "\033" WAIT "0$"));
    CHECK_STR("|a", keys_with(VI, "a" FAMILY "\033" WAIT "x"));
    CHECK_STR(FAMILY "c|b", keys_with(VI, FAMILY "b\033" WAIT "0ac"));
    CHECK_STR("c|b", keys_with(VI, FAMILY "b\033" WAIT "0sc"));
    CHECK_STR("|b", keys_with(VI, FLAG FAMILY "b\033" WAIT "0x."));
}

/* The searches of readline's know its own commands, which others stand in for. */
TEST(keys_of_a_search)
{
    static const char *const past[] = {"first", "second one", "second two", NULL};
    const struct play p = {.history = past};
    CHECK_STR("(reverse-i-search)`se': |second two", play(&p, "\022sec\177"));
    CHECK_STR("(reverse-i-search)`sec': |second one", play(&p, "\022sec\022"));
    CHECK_STR("(i-search)`sec': |second two", play(&p, "\022sec\022\023\023"));
    CHECK_STR("(reverse-i-search)`second two': |second two", play(&p, "\022sec\031"));
    CHECK_STR("second on|", play(&p, "\022one\005\177")); /* and behind it the keys are ours again */
}

TEST_MAIN(T(backspace_and_delete_take_one), T(the_cursor_passes_one), T(two_change_places), T(vi_stands_on_one),
          T(keys_of_a_search))
