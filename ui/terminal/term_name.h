/* Chooses the terminfo entry for the terminal. TERM may name an entry that this machine doesn't have (of a new
 * terminal, or from the other end of ssh), or one whose colours are RGB values, where the palette numbers of themes
 * would mean other colours. */
#ifndef TANDEM_UI_TERM_NAME_H
#define TANDEM_UI_TERM_NAME_H

#include <stdbool.h>

struct term_name {
    char name[128];
    char note[256]; /* which entry is used instead of TERM, or why none can be; "": TERM is used */
};

/* term and colorterm: $TERM and $COLORTERM, NULL where they aren't set; out: the terminal. False: no full screen can be
 * shown; note is empty if TERM is "dumb". Loads entries through ncurses; before term_open(). */
bool term_name_choose(struct term_name *chosen, const char *term, const char *colorterm, int out);

#endif
