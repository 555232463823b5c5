/* Themes of the user's own: what is taken, what is refused with which words, and how they look. */
#include "tests/check.h"

#include "ui/draw/theme_own.h"

static struct theme_own *all;
static int n;

static bool takes(const char *setting, const char *colour, int expected)
{
    tdm_error err = {0};
    if (theme_own_set(&all, &n, setting, colour, &err)) {
        CHECK_FAIL("%s = %s: %s", setting, colour, err.text);
        return false;
    }
    int found = all[n - 1].colour[STYLE_DRAFT];
    if (found != expected) CHECK_FAIL("%s = %s: %d, expected %d", setting, colour, found, expected);
    return true;
}

static void drop(void)
{
    theme_use(NULL, 0);
    free(all);
    all = NULL;
    n = 0;
}

TEST(colours)
{
    static const struct {
        const char *text;
        int colour;
    } good[] = {{"0", 0},         {"255", 255},      {"007", 7},          {"red", 1},         {"bright-white", 15},
                {"grey", 8},      {"default", -1},   {"#000000", 16},     {"#ffffff", 231},   {"#FFD787", 222},
                {"#080808", 232}, {"#5fafff", 75},   {"#60aefe", 75},     {"bright-red", 9}};
    static const char *const bad[] = {"",        "256",     "-1",   "1x",      "#12345",      "#1234567", "#12345g",
                                      "#+12345", "# 12345", "Red ", "bright-", "bright-grey", "reddish",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) takes("sand.draft", good[i].text, good[i].colour);
    CHECK_INT(1, n);
    CHECK_STR("bright-red", all[0].text[STYLE_DRAFT]);
    CHECK_INT(THEME_OWN_OPEN, all[0].colour[STYLE_USER]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tdm_error err = {0};
        char words[60];
        snprintf(words, sizeof words, "found '%s', expected 0 to 255", bad[i]);
        if (theme_own_set(&all, &n, "sand.draft", bad[i], &err) != TDM_E_FORMAT || !strstr(err.text, words))
            CHECK_FAIL("'%s': %s", bad[i], err.text);
    }
    CHECK_INT(9, all[0].colour[STYLE_DRAFT]); /* what was wrong changed nothing */
    drop();
}

TEST(names_and_roles)
{
    static const struct {
        const char *setting, *said;
    } bad[] = {{"draft", "expected theme.NAME.ROLE, found 'theme.draft'"},
               {".draft", "expected a name"},
               {"dark.draft", "found 'dark'"},
               {"a b.draft", "found 'a b'"},
               {"a.b.draft", "found 'a.b'"},
               {"sand.", "found the role '', expected one of text, quiet"},
               {"sand.Draft", "found the role 'Draft'"},
               {"12345678901234567890123456789012.draft", "31 at most"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tdm_error err = {0};
        if (!theme_own_set(&all, &n, bad[i].setting, "1", &err) || !strstr(err.text, bad[i].said))
            CHECK_FAIL("%s: %s", bad[i].setting, err.text);
    }
    CHECK_INT(0, n);
    for (int i = 0; i < STYLES; i++) { /* every role has a name that is taken */
        char setting[60];
        snprintf(setting, sizeof setting, "sand.%s", theme_style_name((enum style)i));
        CHECK_INT(TDM_OK, theme_own_set(&all, &n, setting, "200", NULL));
        CHECK_INT(200, all[0].colour[i]);
    }
    for (int i = 1; i <= THEME_OWN_MAX; i++) {
        char setting[60];
        tdm_error err = {0};
        snprintf(setting, sizeof setting, "t%d.draft", i);
        tdm_status status = theme_own_set(&all, &n, setting, "200", &err);
        CHECK(i < THEME_OWN_MAX ? !status : strstr(err.text, "expected at most 16 themes") != NULL);
    }
    CHECK_INT(THEME_OWN_MAX, n);
    CHECK(theme_own_find(all, n, "t3") == &all[3] && !theme_own_find(all, n, "t"));
    drop();
}

TEST(looks)
{
    theme_own_set(&all, &n, "first.user", "1", NULL);
    theme_own_set(&all, &n, "sand.draft", "208", NULL);
    theme_own_set(&all, &n, "sand.user", "bright-red", NULL);
    theme_own_set(&all, &n, "sand.rule", "default", NULL);
    theme_use(all, n);
    enum view_theme dark = theme_by_name("sand", false), light = theme_by_name("sand", true);
    CHECK(dark != light && theme_is_light(light) && !theme_is_light(dark));
    CHECK(theme_own_of(dark) == &all[1] && theme_own_of(light) == &all[1] && !theme_own_of(VIEW_THEME_MONO));
    CHECK_INT(VIEW_THEME_LIGHT, theme_by_name("gone", true));
    CHECK_INT(VIEW_THEME_MONO, theme_by_name("mono", true));
    CHECK_INT(208, theme_look(dark, 256, STYLE_DRAFT).fg);
    CHECK_INT(208, theme_look(light, 256, STYLE_DRAFT).fg);
    CHECK_INT(-1, theme_look(dark, 256, STYLE_RULE).fg);
    CHECK_INT(theme_look(VIEW_THEME_DARK, 256, STYLE_QUIET).fg, theme_look(dark, 256, STYLE_QUIET).fg);
    CHECK_INT(theme_look(VIEW_THEME_LIGHT, 256, STYLE_QUIET).fg, theme_look(light, 256, STYLE_QUIET).fg);
    CHECK_INT(1, theme_look(dark, 8, STYLE_USER).fg);
    CHECK_INT(theme_look(VIEW_THEME_DARK, 8, STYLE_DRAFT).fg, theme_look(dark, 8, STYLE_DRAFT).fg);
    CHECK_INT(-1, theme_look(dark, 0, STYLE_DRAFT).fg);
    CHECK(theme_look(dark, 256, STYLE_USER).attributes & STYLE_BOLD); /* only the colour is another one */
    drop();
}

TEST(contrast)
{
    double contrast;
    int below;
    theme_own_set(&all, &n, "sand.user", "red", NULL); /* as the terminal wants: nothing is known */
    CHECK_INT(-1, theme_own_poorest(all, false, &contrast, &below));
    theme_own_set(&all, &n, "sand.draft", "#ffd787", NULL);
    theme_own_set(&all, &n, "sand.read", "#1c1c1c", NULL);
    CHECK_INT(STYLE_READ, theme_own_poorest(all, false, &contrast, &below));
    CHECK(below == 1 && contrast > 1.1 && contrast < 1.4);
    CHECK_INT(STYLE_DRAFT, theme_own_poorest(all, true, &contrast, &below));
    CHECK(below == 1 && contrast > 1.2 && contrast < 1.5);
    drop();
}

TEST_MAIN(T(colours), T(names_and_roles), T(looks), T(contrast))
