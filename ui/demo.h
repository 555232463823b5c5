/* The screen of the demo: the same conversation on two sides, once read after Enter and once read ahead, or read ahead
 * on two pairs of units, with a stopwatch above each answer and the lanes below; and, before there is anything to show,
 * what is being done for it.
 *
 * Drawing fits any size: of what has no room the least needed goes first. What is shown is in the view alone. */
#ifndef TANDEM_UI_DEMO_H
#define TANDEM_UI_DEMO_H

#include "ui/draw/canvas.h"

enum { DEMO_TURNS = 20, DEMO_AFTER = 0, DEMO_AHEAD = 1, DEMO_SIDES = 2 };

struct demo_text {
    const char *text; /* not ended by a zero */
    size_t len;
    bool user, draft;
    size_t read_bytes; /* of a draft: what is read */
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
    bool scaled;       /* the times are not those that were measured */
    bool can_switch;   /* there are both */
    bool alone;        /* no chat to go back to */
    bool paused, over;
    bool measuring;     /* the other turns, so far as `share` says, while the first one is shown */
    const char *origin; /* "measured with the built-in model, shown as a 4B": behind the word SCALED or MEASURED */
    const char *heads[DEMO_SIDES]; /* the pairs of units, "cores + gpu:0"; NULL: the sides differ in when they read */
    const char *before; /* about the conversation before it, which both sides have; NULL: there is none */
    int turn, turns;    /* from 1 */
    bool in_ms;         /* all waits are short: in milliseconds */
    double waits[DEMO_TURNS][DEMO_SIDES]; /* seconds from Enter to the first characters; negative: not yet */
    struct demo_side sides[DEMO_SIDES];
    int64_t from_ns, to_ns, enter_ns, now_ns; /* of the lanes: all of the turn, its Enter, and how far it has come */
    /* While the runs are made, instead of the sides: */
    bool preparing;
    const char *failure; /* why nothing comes; NULL: all goes well */
    const char *doing;   /* "measuring the machine" */
    int run;             /* 0: none yet; 1, 2: which is being made */
    double share[DEMO_SIDES]; /* of each, 0 to 1; also while a first turn is shown */
};

/* On a blank canvas. */
void demo_draw(const struct demo_view *view, struct canvas *canvas);

#endif
