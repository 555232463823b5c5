/* The screen of the demo: the same conversation on two sides, once read after Enter and once read ahead, or read ahead
 * on two pairs of units, with a stopwatch above each answer and the lanes below; and, before the runs are ready, their
 * progress.
 *
 * Drawing fits any size: the least important parts are left out first. The view alone determines what is drawn. */
#ifndef TANDEM_UI_DEMO_H
#define TANDEM_UI_DEMO_H

#include "ui/draw/canvas.h"

enum { DEMO_TURNS = 20, DEMO_AFTER = 0, DEMO_AHEAD = 1, DEMO_SIDES = 2 };

struct demo_text {
    const char *text; /* not ended by a zero */
    size_t len;
    bool user, draft;
    size_t read_bytes; /* of a draft: bytes that are read */
};

enum demo_state { DEMO_TYPING, DEMO_READING, DEMO_ANSWERED };

struct demo_side {
    struct demo_text texts[2 * DEMO_TURNS]; /* oldest first */
    int n_texts;
    enum demo_state state;
    double watch_s; /* from Enter to the first characters, or to now */
    int done, total; /* DEMO_READING: tokens */
    struct view_unit prefill, decode;
};

struct demo_view {
    struct view_options options;
    bool scaled;       /* the times are scaled, not as measured */
    bool can_switch;   /* there are both scaled and measured times */
    bool alone;        /* no chat to go back to */
    bool paused, over;
    bool measuring;     /* the other turns are being measured (progress: `share`) while the first one is shown */
    const char *origin; /* "measured with the built-in model, shown as a 4B": follows the word SCALED or MEASURED */
    const char *heads[DEMO_SIDES]; /* the pairs of units, "cores + gpu:0"; NULL: the sides differ in when they read */
    const char *before; /* a line about the earlier conversation that both sides have; NULL: there is none */
    int turn, turns;    /* from 1 */
    bool in_ms;         /* all waits are short: in milliseconds */
    double waits[DEMO_TURNS][DEMO_SIDES]; /* seconds from Enter to the first characters; negative: not yet */
    struct demo_side sides[DEMO_SIDES];
    int64_t from_ns, to_ns, enter_ns, now_ns; /* of the lanes: begin and end of the turn, its Enter, and the present */
    /* While the runs are made, instead of the sides: */
    bool preparing;
    const char *failure; /* why the demo can't be shown; NULL: no failure */
    const char *doing;   /* "measuring the machine" */
    int run;             /* the run that is being made, 1 or 2; 0: none yet */
    double share[DEMO_SIDES]; /* progress of each run, 0 to 1; also while the first turn is shown */
};

/* Draws on a blank canvas. */
void demo_draw(const struct demo_view *view, struct canvas *canvas);

#endif
