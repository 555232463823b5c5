#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/base/harmless.h"

TEST(what_steers_a_terminal_is_harmful)
{
    static const struct {
        int32_t from, to;
    } harmful[] = {{-1, 0x1f},        {0x7f, 0x9f},      {0x61c, 0x61c}, {0x200e, 0x200f},
                   {0x2028, 0x202e}, {0x2066, 0x2069}};
    int found = 0;
    for (int32_t code = -1; code < 0x110000; code++) {
        bool expected = true;
        for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++)
            expected = expected && (code < harmful[i].from || code > harmful[i].to);
        if (harmless_code(code) != expected && found++ < 5) CHECK_FAIL("U+%04X", (unsigned)code);
    }
}

TEST(a_line_keeps_its_length)
{
    char line[] = "a\nb\tc\x1b\x7f \xc2\x9b \xd8\x9c \xe2\x80\xae \xe2\x80\xa8 \xff \xc3\xa9 \xe2\x80\x8d";
    harmless_line(line);
    CHECK_STR("a?b?c?? ?? ?? ??? ??? ? \xc3\xa9 \xe2\x80\x8d", line);
    CHECK(harmless_text(line, strlen(line)));
    CHECK(!harmless_text("\xe2\x80\x8f", 3));
}

TEST(an_error_gives_no_direction)
{
    tdm_error err;
    error_set(&err, TDM_E_IO, "%s: no", "x\xe2\x80\xaetxt\xe2\x80\xa8y");
    CHECK_STR("x???txt???y: no", err.text);
}

static const char *formatted(const char *format, ...)
{
    static char text[100];
    va_list args;
    va_start(args, format);
    char *made = harmless_format(format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s", made);
    free(made);
    return text;
}

TEST(only_the_format_ends_lines)
{
    CHECK_STR("\n\na?b: c?d\n", formatted("\n\n%s: %s\n", "a\nb", "c\td"));
    CHECK_STR("a?\n", formatted("%s\n", "a\n"));
    CHECK_STR("?a", formatted("%s", "\na"));
    CHECK_STR("\n", formatted("\n"));
    CHECK_STR("\n\n", formatted("\n%s\n", ""));
    CHECK_STR("?[2J", formatted("%s", "\x1b[2J"));
}

TEST_MAIN(T(what_steers_a_terminal_is_harmful), T(a_line_keeps_its_length), T(an_error_gives_no_direction),
          T(only_the_format_ends_lines))
