/* Contrast of every style with the default grounds, and kinds that red-green blind eyes tell apart. */
#include "tests/check.h"

#include "ui/draw/theme.h"

static double linear(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }

/* With black or white. */
static double ratio_with(double ground, int colour)
{
    uint8_t rgb[3];
    theme_rgb(colour, rgb);
    return theme_contrast((const double[3]){ground, ground, ground},
                          (const double[3]){rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0});
}

/* Values of WCAG's own formula, by hand. */
TEST(ratios)
{
    const double white[3] = {1, 1, 1}, black[3] = {0, 0, 0}, grey[3] = {0.5, 0.5, 0.5};
    CHECK(fabs(theme_contrast(white, black) - 21) < 1e-9);
    CHECK(fabs(theme_contrast(black, white) - 21) < 1e-9);
    CHECK(fabs(theme_contrast(grey, grey) - 1) < 1e-9);
    CHECK(fabs(theme_contrast(white, (const double[3]){0x76 / 255.0, 0x76 / 255.0, 0x76 / 255.0}) - 4.54) < 0.01);
}

TEST(contrast)
{
    for (int i = 0; i < STYLES; i++) {
        struct theme_look dark = theme_look(VIEW_THEME_DARK, 256, (style_t)i);
        struct theme_look light = theme_look(VIEW_THEME_LIGHT, 256, (style_t)i);
        if (dark.fg >= 0) {
            double ratio = ratio_with(0, dark.fg);
            if (ratio < 4.5) CHECK_FAIL("dark %s: %.2f", theme_style_name((enum style)i), ratio);
        }
        if (light.fg >= 0) {
            double ratio = ratio_with(1, light.fg);
            if (ratio < 4.5) CHECK_FAIL("light %s: %.2f", theme_style_name((enum style)i), ratio);
        }
    }
}

/* Deuteranopia after Vienot, Brettel and Mollon (1999): linear RGB with the missing cone's response replaced. */
static void as_deuteranope(int colour, double out[3])
{
    uint8_t rgb[3];
    theme_rgb(colour, rgb);
    double r = linear(rgb[0] / 255.0), g = linear(rgb[1] / 255.0), b = linear(rgb[2] / 255.0);
    out[0] = 0.29275 * r + 0.70725 * g;
    out[1] = 0.29275 * r + 0.70725 * g;
    out[2] = -0.02234 * r + 0.02234 * g + b;
}

TEST(kinds_differ_without_red_and_green)
{
    static const enum style kinds[] = {STYLE_HISTORY, STYLE_DRAFT, STYLE_SUFFIX, STYLE_LENT};
    for (int theme = VIEW_THEME_DARK; theme <= VIEW_THEME_LIGHT; theme++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = i + 1; j < 4; j++) {
                double a[3], b[3], d = 0;
                as_deuteranope(theme_look((enum view_theme)theme, 256, kinds[i]).fg, a);
                as_deuteranope(theme_look((enum view_theme)theme, 256, kinds[j]).fg, b);
                for (int k = 0; k < 3; k++) d += (a[k] - b[k]) * (a[k] - b[k]);
                if (sqrt(d) < 0.1)
                    CHECK_FAIL("theme %d: %s and %s differ by %.3f", theme, theme_style_name(kinds[i]),
                               theme_style_name(kinds[j]), sqrt(d));
            }
}

TEST(nothing_needs_colour)
{
    for (int i = 0; i < STYLES; i++) {
        CHECK_INT(-1, theme_look(VIEW_THEME_DARK, 0, (style_t)i).fg);
        CHECK_INT(-1, theme_look(VIEW_THEME_MONO, 256, (style_t)i).fg);
        CHECK(theme_look(VIEW_THEME_DARK, 8, (style_t)i).fg < 8);
    }
    CHECK(theme_look(VIEW_THEME_MONO, 256, STYLE_READ).attributes & STYLE_UNDERLINE);
    CHECK_INT(0, theme_look(VIEW_THEME_DARK, 256, STYLE_READ).attributes);
}

TEST_MAIN(T(ratios), T(contrast), T(kinds_differ_without_red_and_green), T(nothing_needs_colour))
