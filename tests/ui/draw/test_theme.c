/* Contrast of every style with the default grounds, and kinds that red-green blind eyes tell apart. */
#include "tests/check.h"

#include "ui/draw/theme.h"

static double linear(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }

/* WCAG 2.1: relative luminance. */
static double luminance(int colour)
{
    uint8_t rgb[3];
    theme_rgb(colour, rgb);
    return 0.2126 * linear(rgb[0] / 255.0) + 0.7152 * linear(rgb[1] / 255.0) + 0.0722 * linear(rgb[2] / 255.0);
}

TEST(contrast)
{
    for (int i = 0; i < STYLES; i++) {
        struct theme_look dark = theme_look(VIEW_THEME_DARK, 256, (style_t)i);
        struct theme_look light = theme_look(VIEW_THEME_LIGHT, 256, (style_t)i);
        if (dark.fg >= 0) {
            double ratio = (luminance(dark.fg) + 0.05) / 0.05;
            if (ratio < 4.5) CHECK_FAIL("dark %s: %.2f", theme_style_name((enum style)i), ratio);
        }
        if (light.fg >= 0) {
            double ratio = 1.05 / (luminance(light.fg) + 0.05);
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

TEST_MAIN(T(contrast), T(kinds_differ_without_red_and_green), T(nothing_needs_colour))
