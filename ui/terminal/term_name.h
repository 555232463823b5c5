/* Which entry of terminfo stands for the terminal. TERM may name one that this machine doesn't have (a new terminal, or
 * one known only where ssh came from), or one whose colours are RGB values: the numbers of the palette, which themes
 * are made of, would be other colours there. */
#ifndef TANDEM_UI_TERM_NAME_H
#define TANDEM_UI_TERM_NAME_H

#include <stdbool.h>

struct term_name {
    char name[128];
    char note[256]; /* what is used instead of TERM, or why nothing can be; "": TERM is used as it is */
};

/* term and colorterm: $TERM and $COLORTERM, NULL where they aren't set; out: the terminal. False: no full screen can be
 * shown; note is empty for a TERM that says so itself ("dumb"). Loads entries through ncurses; before term_open(). */
bool term_name_choose(struct term_name *chosen, const char *term, const char *colorterm, int out);

#endif
