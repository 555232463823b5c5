/* Whether the background is dark or light. */
#include "tests/check.h"

#include "ui/terminal/ground.h"

static enum ground answered(const char *text) { return ground_from_answer(text, strlen(text)); }

TEST(answers)
{
    CHECK_INT(GROUND_DARK, answered("11;rgb:0000/0000/0000"));
    CHECK_INT(GROUND_LIGHT, answered("11;rgb:ffff/ffff/ffff"));
    CHECK_INT(GROUND_LIGHT, answered("11;rgb:FD/F6/E3"));   /* two digits each */
    CHECK_INT(GROUND_DARK, answered("11;rgb:00/2b/36"));
    CHECK_INT(GROUND_LIGHT, answered("11;rgb:f/f/f"));
    CHECK_INT(GROUND_LIGHT, answered("11;rgba:eeee/eeee/eeee/ffff"));
    CHECK_INT(GROUND_DARK, answered("11;rgb:3030/3434/4646"));
    CHECK_INT(GROUND_LIGHT, answered("11;rgb:8080/8080/8080")); /* black has more contrast with it than white */
}

TEST(what_is_no_answer)
{
    static const char *const wrong[] = {"", "11", "11;", "11;?", "11;rgb:", "11;rgb:ffff/ffff", "11;rgb:ffff/ffff/",
                                        "11;rgb:ffff/ffff/ffff/ffff", "11;rgb:fffff/ffff/ffff", "10;rgb:ffff/ffff/ffff",
                                        "11;rgb:gggg/ffff/ffff", "11;rgb:ffff/ffff/ffff ", "11;rgba:f/f/f",
                                        "11;#ffffff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (answered(wrong[i]) != GROUND_UNKNOWN) CHECK_FAIL("'%s'", wrong[i]);
}

TEST(environment)
{
    CHECK_INT(GROUND_DARK, ground_from_environment("15;0"));
    CHECK_INT(GROUND_LIGHT, ground_from_environment("0;15"));
    CHECK_INT(GROUND_LIGHT, ground_from_environment("0;default;7"));
    CHECK_INT(GROUND_DARK, ground_from_environment("7;8"));
    CHECK_INT(GROUND_UNKNOWN, ground_from_environment(NULL));
    CHECK_INT(GROUND_UNKNOWN, ground_from_environment(""));
    CHECK_INT(GROUND_UNKNOWN, ground_from_environment("15"));
    CHECK_INT(GROUND_UNKNOWN, ground_from_environment("15;default"));
    CHECK_INT(GROUND_UNKNOWN, ground_from_environment("15;16"));
    CHECK_INT(GROUND_UNKNOWN, ground_from_environment("15;0x"));
    CHECK_INT(GROUND_UNKNOWN, ground_from_environment("15;99999999999999999999"));
}

TEST(themes)
{
    CHECK_INT(VIEW_THEME_DARK, ground_theme("auto", GROUND_UNKNOWN));
    CHECK_INT(VIEW_THEME_DARK, ground_theme(NULL, GROUND_DARK));
    CHECK_INT(VIEW_THEME_LIGHT, ground_theme("auto", GROUND_LIGHT));
    CHECK_INT(VIEW_THEME_DARK, ground_theme("dark", GROUND_LIGHT));
    CHECK_INT(VIEW_THEME_LIGHT, ground_theme("light", GROUND_DARK));
    CHECK_INT(VIEW_THEME_MONO, ground_theme("mono", GROUND_LIGHT));
}

TEST_MAIN(T(answers), T(what_is_no_answer), T(environment), T(themes))
