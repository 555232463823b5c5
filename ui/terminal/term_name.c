#include "ui/terminal/term_name.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>
#include <term.h>

#include "engine/base/harmless.h"
#include "engine/os/starving.h"

enum fitness {
    UNKNOWN, /* there is no such entry, or one of no terminal in particular */
    BARE,    /* it can't place the cursor */
    DIRECT,  /* its colours are RGB values */
    FIT,
};

static bool is_direct(void)
{
    enum { OF_PALETTE = 100 }; /* beyond the first sixteen, which such entries keep */
    const char *setaf = tigetstr("setaf");
    if (tigetnum("colors") <= 256 || !setaf || setaf == (char *)-1) return false;
    const char *sequence = tiparm(setaf, OF_PALETTE);
    return sequence && (strstr(sequence, "38:2") || strstr(sequence, "38;2"));
}

static enum fitness fitness_in_terminfo(const char *name, int out)
{
    int found;
    if (setupterm(name, out, &found) != OK) return UNKNOWN;
    const char *place = tigetstr("cup");
    enum fitness fitness = !place || place == (char *)-1 ? BARE : is_direct() ? DIRECT : FIT;
    del_curterm(cur_term);
    return fitness;
}

static enum fitness fitness_of(const char *name, int out)
{
    if (!*name || strchr(name, '/')) return UNKNOWN;
    starving_watch(true);
    enum fitness fitness = fitness_in_terminfo(name, out);
    starving_watch(false);
    return fitness;
}

/* The first of these that fits. */
static bool take(struct term_name *chosen, int out, const char *const *names)
{
    for (; *names; names++) {
        snprintf(chosen->name, sizeof chosen->name, "%s", *names);
        if (fitness_of(chosen->name, out) == FIT) return true;
    }
    return false;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* The like of an unknown terminal: nearly all understand xterm's sequences. It gets 256 colours where something speaks
 * for them. */
static bool take_like(struct term_name *chosen, int out, const char *term, const char *colorterm)
{
    static const char *const multiplexers[] = {"screen-256color", "screen", "xterm-256color", "xterm", NULL},
                      *const many[] = {"xterm-256color", "xterm", "vt100", "ansi", NULL},
                      *const few[] = {"xterm", "linux", "vt100", "ansi", "xterm-256color", NULL};
    if (begins(term, "tmux") || begins(term, "screen")) return take(chosen, out, multiplexers);
    bool rich = begins(term, "xterm") || strstr(term, "256") || strstr(term, "direct") || (colorterm && *colorterm);
    return take(chosen, out, rich ? many : few);
}

/* "konsole-direct" is a konsole, which has an entry with a palette, too. */
static bool take_palette(struct term_name *chosen, int out, const char *term)
{
    char own[sizeof chosen->name];
    const char *at = strstr(term, "-direct");
    snprintf(own, sizeof own, "%.*s-256color", at ? (int)(at - term) : 0, term);
    const char *const names[] = {own, "xterm-256color", "xterm", NULL};
    return take(chosen, out, names);
}

bool term_name_choose(struct term_name *chosen, const char *term, const char *colorterm, int out)
{
    char shown[64];
    *chosen = (struct term_name){0};
    if (!term || !*term) {
        snprintf(chosen->note, sizeof chosen->note, "TERM is %s", term ? "empty" : "not set");
        return false;
    }
    if (!strcmp(term, "dumb")) return false;
    snprintf(shown, sizeof shown, "%s", term);
    harmless_line(shown);
    const enum fitness fitness = strlen(term) < sizeof chosen->name ? fitness_of(term, out) : UNKNOWN;
    if (fitness == FIT) {
        snprintf(chosen->name, sizeof chosen->name, "%s", term);
        return true;
    }
    if (fitness == BARE) {
        snprintf(chosen->note, sizeof chosen->note, "TERM=%s can't place the cursor", shown);
        return false;
    }
    const char *why = fitness == DIRECT ? "has RGB values for colours" : "is unknown here";
    bool found = fitness == DIRECT ? take_palette(chosen, out, term) : take_like(chosen, out, term, colorterm);
    if (found) snprintf(chosen->note, sizeof chosen->note, "TERM=%s %s: %s is used instead", shown, why, chosen->name);
    else snprintf(chosen->note, sizeof chosen->note, "TERM=%s %s, and so is xterm", shown, why);
    return found;
}
