/* Themes of the user's own: colours for some of the roles (the names of the styles, theme_style_name). A role that is
 * left open looks as in the dark or the light theme, by the terminal's background.
 *
 * Pure data; theme_use (ui/draw/theme.h) puts them to use. */
#ifndef TANDEM_UI_THEME_OWN_H
#define TANDEM_UI_THEME_OWN_H

#include "engine/tandem.h"
#include "ui/draw/theme.h"

enum { THEME_OWN_MAX = 16, THEME_OWN_NAME = 32, THEME_OWN_TEXT = 16, THEME_OWN_OPEN = -2 };

struct theme_own {
    char name[THEME_OWN_NAME];
    int16_t colour[STYLES];            /* of the palette of 256; -1: the terminal's own; THEME_OWN_OPEN */
    char text[STYLES][THEME_OWN_TEXT]; /* the setting's text; "": open */
};

/* setting: "NAME.ROLE"; the first one of a name appends the theme to the malloc'ed *all of *n. colour: 0 to 255,
 * #rrggbb (the nearest of the palette's fixed colours is taken), a name (black, red, green, yellow, blue, magenta,
 * cyan, white, each with bright- before it, grey) or default. On failure one line with what was expected and found. */
tdm_status theme_own_set(struct theme_own **all, int *n, const char *setting, const char *colour, tdm_error *err);

/* NULL: there is none of that name. */
const struct theme_own *theme_own_find(const struct theme_own *all, int n, const char *name);

/* The contrast of a palette colour with a black or a white background; 0: unknown, for the first 16 colours and the
 * default, which the terminal defines. */
double theme_own_contrast(int colour, bool light);

/* The role with the least contrast on that background, or -1 if all have 4.5 (WCAG's AA) or unknown contrast; *below:
 * how many have less. */
int theme_own_poorest(const struct theme_own *t, bool light, double *contrast, int *below);

#endif
