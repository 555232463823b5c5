#include "ui/draw/theme.h"

#include <math.h>
#include <string.h>

#include "ui/draw/theme_own.h"

/* One row per style: dark and light foreground of the 256 colours, of the 8, and the attributes without colour (they
 * are added with colour only where `always` says so). Reverse video stands for itself everywhere. */
static const struct {
    const char *name;
    int16_t dark, light, dark8, light8;
    uint16_t mono, always;
} table[STYLES] = {
    [STYLE_TEXT] = {"text", -1, -1, -1, -1, 0, 0},
    [STYLE_QUIET] = {"quiet", 246, 241, -1, -1, 0, 0},
    [STYLE_USER] = {"user", 153, 24, 6, 4, STYLE_BOLD, STYLE_BOLD},
    [STYLE_READ] = {"read", 115, 23, 6, 4, STYLE_UNDERLINE, 0},
    [STYLE_RULE] = {"rule", 245, 242, -1, -1, 0, 0},
    [STYLE_STATUS] = {"status", 250, 239, -1, -1, 0, 0},
    [STYLE_STATE] = {"state", 153, 24, 6, 4, STYLE_BOLD, STYLE_BOLD},
    [STYLE_NOTICE] = {"notice", 153, 24, 6, 4, 0, 0},
    [STYLE_WARN] = {"warn", 215, 94, 3, 5, STYLE_BOLD, STYLE_BOLD},
    [STYLE_ERROR] = {"error", 210, 124, 1, 1, STYLE_BOLD, STYLE_BOLD},
    [STYLE_HISTORY] = {"history", 75, 26, 6, 4, 0, 0},
    [STYLE_DRAFT] = {"draft", 222, 94, 3, 5, 0, 0},
    [STYLE_SUFFIX] = {"end", 183, 91, 5, 5, STYLE_BOLD, 0},
    [STYLE_PROMPT] = {"prompt", 117, 24, 6, 4, STYLE_BOLD, 0},
    [STYLE_DECODE] = {"decode", 255, 16, 7, 0, STYLE_BOLD, 0},
    [STYLE_HANDOVER] = {"handover", 214, 130, 3, 5, STYLE_REVERSE, STYLE_BOLD},
    [STYLE_LENT] = {"helps", 247, 241, -1, -1, 0, 0},
    [STYLE_IDLE] = {"idle", 243, 243, -1, -1, 0, 0},
    [STYLE_ENTER] = {"enter", 214, 130, 3, 5, STYLE_BOLD, STYLE_BOLD},
    [STYLE_HEADING] = {"heading", 153, 24, 6, 4, STYLE_BOLD, STYLE_BOLD},
    [STYLE_QUOTE] = {"quote", 250, 239, -1, -1, 0, 0},
    [STYLE_LINK] = {"link", 75, 26, 6, 4, STYLE_UNDERLINE, STYLE_UNDERLINE},
    [STYLE_CODE] = {"code", 223, 94, 3, 5, 0, 0},
    [STYLE_KEYWORD] = {"keyword", 117, 25, 6, 4, STYLE_BOLD, STYLE_BOLD},
    [STYLE_STRING] = {"string", 222, 94, 3, 5, 0, 0},
    [STYLE_COMMENT] = {"comment", 246, 241, -1, -1, STYLE_ITALIC, STYLE_ITALIC},
    [STYLE_NUMBER] = {"number", 183, 91, 5, 5, 0, 0},
    [STYLE_THINKING] = {"thinking", 246, 241, -1, -1, 0, 0},
    [STYLE_SELECTED] = {"selected", -1, -1, -1, -1, STYLE_REVERSE, STYLE_REVERSE},
    [STYLE_MATCH] = {"match", -1, -1, -1, -1, STYLE_REVERSE, STYLE_REVERSE},
    [STYLE_POPUP] = {"popup", -1, -1, -1, -1, 0, 0},
    [STYLE_KEY] = {"key", 215, 94, 3, 5, STYLE_BOLD, STYLE_BOLD},
};

static struct {
    const struct theme_own *all;
    int n;
} own;

void theme_use(const struct theme_own *all, int n)
{
    own.all = all;
    own.n = n;
}

enum view_theme theme_by_name(const char *name, bool light)
{
    if (!strcmp(name, "mono")) return VIEW_THEME_MONO;
    if (!strcmp(name, "light")) return VIEW_THEME_LIGHT;
    if (!strcmp(name, "dark")) return VIEW_THEME_DARK;
    const struct theme_own *t = theme_own_find(own.all, own.n, name);
    if (t) return (enum view_theme)(VIEW_THEME_OWN + 2 * (t - own.all) + light);
    return light ? VIEW_THEME_LIGHT : VIEW_THEME_DARK;
}

const struct theme_own *theme_own_of(enum view_theme theme)
{
    int i = ((int)theme - VIEW_THEME_OWN) / 2;
    return theme >= VIEW_THEME_OWN && i < own.n ? &own.all[i] : NULL;
}

bool theme_is_light(enum view_theme theme)
{
    return theme == VIEW_THEME_LIGHT || (theme_own_of(theme) && (theme - VIEW_THEME_OWN) % 2);
}

/* A colour of the user's own among the eight: bright ones are among them too, any other is not. */
static int16_t of_eight(int16_t colour) { return colour < 16 ? (int16_t)(colour & 7) : THEME_OWN_OPEN; }

struct theme_look theme_look(enum view_theme theme, int colours, style_t style)
{
    enum style name = style_name(style) < STYLES ? style_name(style) : STYLE_TEXT;
    struct theme_look look = {-1, -1, (uint16_t)(style & 0xFF00)};
    if (theme == VIEW_THEME_MONO || colours < 8) {
        look.attributes |= table[name].mono;
        return look;
    }
    const struct theme_own *t = theme_own_of(theme);
    const bool light = theme_is_light(theme);
    int16_t chosen = t ? t->colour[name] : THEME_OWN_OPEN;
    look.attributes |= table[name].always;
    if (colours >= 256)
        look.fg = light ? table[name].light : table[name].dark;
    else
        look.fg = light ? table[name].light8 : table[name].dark8;
    if (colours < 256 && chosen >= 0) chosen = of_eight(chosen);
    if (chosen != THEME_OWN_OPEN) {
        look.fg = chosen;
        return look;
    }
    /* White on a light default and black on a dark one are taken from the terminal's own foreground. */
    if (name == STYLE_DECODE && colours < 256) look.fg = -1;
    return look;
}

const char *theme_style_name(enum style style) { return style < STYLES ? table[style].name : "?"; }

void theme_rgb(int colour, uint8_t rgb[3])
{
    static const uint8_t basic[16][3] = {
        {0, 0, 0},       {205, 0, 0},   {0, 205, 0},   {205, 205, 0},   {0, 0, 238},     {205, 0, 205},
        {0, 205, 205},   {229, 229, 229}, {127, 127, 127}, {255, 0, 0}, {0, 255, 0},     {255, 255, 0},
        {92, 92, 255},   {255, 0, 255}, {0, 255, 255}, {255, 255, 255},
    };
    static const uint8_t step[6] = {0, 95, 135, 175, 215, 255};
    if (colour < 16) {
        for (int i = 0; i < 3; i++) rgb[i] = basic[colour < 0 ? 7 : colour][i];
    } else if (colour < 232) {
        colour -= 16;
        rgb[0] = step[colour / 36];
        rgb[1] = step[colour / 6 % 6];
        rgb[2] = step[colour % 6];
    } else {
        rgb[0] = rgb[1] = rgb[2] = (uint8_t)(8 + 10 * (colour - 232));
    }
}

static double linear(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }

static double luminance(const double rgb[3])
{
    return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
}

double theme_contrast(const double a[3], const double b[3])
{
    double one = luminance(a) + 0.05, other = luminance(b) + 0.05;
    return one > other ? one / other : other / one;
}
