/* The pieces of the list of models that need no screen: a line that is typed, and whatever a child may tell. */
#include "tests/check.h"

#include <stdio.h>
#include <string.h>

#include "src/tui/lists/list.h"
#include "src/tui/pull.h"

static bool type(char *line, size_t room, const char *bytes)
{
    const struct decoder_event e = {.kind = DECODER_BYTES, .data = bytes, .length = strlen(bytes)};
    return tui_line_edit(line, room, &e);
}

TEST(a_line_is_typed)
{
    char line[8] = "";
    CHECK(!type(line, sizeof line, "ab\xc3\xa4"));
    CHECK_STR("ab\xc3\xa4", line);
    CHECK(!type(line, sizeof line, "\x7f"));
    CHECK_STR("ab", line);
    CHECK(!type(line, sizeof line, "0123456789"));
    CHECK_STR("ab01234", line);
    CHECK(!type(line, sizeof line, "\x15"));
    CHECK_STR("", line);
    CHECK(!type(line, sizeof line, "\b\b"));
    CHECK(type(line, sizeof line, "x\ry"));
    CHECK_STR("x", line);
    const struct decoder_event paste = {.kind = DECODER_PASTE, .data = "a\r\x1b[b", .length = 5};
    CHECK(!tui_line_edit(line, sizeof line, &paste));
    CHECK_STR("xa[b", line);
}

TEST(without_the_program_it_says_so)
{
    tui_pull p = {0};
    tdm_error err = {0};
    CHECK_INT(TDM_E_NOT_FOUND, tui_pull_begin(&p, "a/b", true, &err)); /* beside the test is none */
    CHECK_STR("tandem-pull is not there: Tandem was built without libcurl", err.text);
    CHECK(!p.runs);
    tui_pull_stop(&p);
    tui_pull_close(&p);
}

TEST_MAIN(T(a_line_is_typed), T(without_the_program_it_says_so))
