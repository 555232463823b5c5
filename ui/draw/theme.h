/* Styles by name, and their looks in each theme and class of colours.
 *
 * A style is a name (enum style) with optional attributes or'ed in, 16 bits in all. Foregrounds of the dark and light
 * theme have at least 4.5:1 contrast with black or white (tests/ui/draw/test_theme.c computes it) and kinds that stand
 * beside each other differ for red-green blindness. Dim and blink are never used; the palette is never redefined.
 */
#ifndef TANDEM_UI_THEME_H
#define TANDEM_UI_THEME_H

#include <stdint.h>

#include "ui/draw/view.h"

enum style {
    STYLE_TEXT,
    STYLE_QUIET,  /* turn line, hints, marks */
    STYLE_USER,   /* the user's words in the transcript */
    STYLE_READ,   /* the part of the draft that is evaluated: tint, or underline without colour */
    STYLE_RULE,
    STYLE_STATUS,
    STYLE_STATE,  /* the state's word */
    STYLE_NOTICE,
    STYLE_WARN,
    STYLE_ERROR,
    STYLE_HISTORY, /* the kinds of the lanes, in the order of enum view_kind */
    STYLE_DRAFT,
    STYLE_SUFFIX,
    STYLE_PROMPT,
    STYLE_DECODE,
    STYLE_HANDOVER,
    STYLE_LENT,
    STYLE_IDLE,
    STYLE_ENTER,
    STYLE_HEADING,
    STYLE_QUOTE,
    STYLE_LINK,
    STYLE_CODE,
    STYLE_KEYWORD,
    STYLE_STRING,
    STYLE_COMMENT,
    STYLE_NUMBER,
    STYLE_THINKING,
    STYLE_SELECTED, /* the chosen item, the marked turn */
    STYLE_MATCH,
    STYLE_POPUP,
    STYLE_KEY,      /* a key in a popup */
    STYLES,
};

enum {
    STYLE_BOLD = 1 << 8,
    STYLE_UNDERLINE = 1 << 9,
    STYLE_ITALIC = 1 << 10,
    STYLE_REVERSE = 1 << 11,
    STYLE_STRIKE = 1 << 12, /* if the terminal can do it; otherwise such text stands between tildes */
};

typedef uint16_t style_t;

static inline enum style style_name(style_t style) { return (enum style)(style & 0xFF); }

/* Sets the user's own themes (ui/draw/theme_own.h), before the first frame; the program keeps them until the last one.
 * Each has two numbers from VIEW_THEME_OWN on, for a dark and for a light background. */
struct theme_own;
void theme_use(const struct theme_own *all, int n);
/* The theme of that name for that background: dark, light, mono or one of the user's; for another name dark or
 * light. */
enum view_theme theme_by_name(const char *name, bool light);
/* NULL: the theme is none of the user's own. */
const struct theme_own *theme_own_of(enum view_theme theme);
/* Whether the theme is for a light background. */
bool theme_is_light(enum view_theme theme);

struct theme_look {
    int16_t fg, bg;      /* number of the terminal's palette, -1: default */
    uint16_t attributes; /* STYLE_BOLD ... */
};

/* colours: 256, 8 or 0. Below 256 the lanes and tints use the eight basic colours; with none, attributes only. */
struct theme_look theme_look(enum view_theme theme, int colours, style_t style);
static inline bool theme_same_look(struct theme_look a, struct theme_look b)
{
    return a.fg == b.fg && a.bg == b.bg && a.attributes == b.attributes;
}

/* The lower-case name, for dumps. */
const char *theme_style_name(enum style style);

/* Red, green, blue of a colour of the xterm palette: the cube and the grey ramp (16..255) are fixed by convention, the
 * first sixteen are xterm's defaults. */
void theme_rgb(int colour, uint8_t rgb[3]);

/* WCAG 2.1's contrast ratio, 1 to 21, of two sRGB colours with components of 0 to 1. */
double theme_contrast(const double a[3], const double b[3]);

#endif
