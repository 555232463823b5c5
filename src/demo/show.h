/* Two takes of the same script side by side. Enter is pressed at the same moment on both sides, so the side that has
 * answered earlier waits until the other one has answered too. A pure function from a time to the contents of the
 * screen. */
#ifndef TANDEM_SRC_DEMO_SHOW_H
#define TANDEM_SRC_DEMO_SHOW_H

#include "src/demo/take.h"
#include "ui/demo.h"

typedef struct {
    demo_take sides[DEMO_SIDES]; /* in the time of the show, which begins with 0 */
    int n;
    int64_t end_ns; /* some time after the end of the last reply */
    bool in_ms;     /* all waits are shorter than a second */
} demo_show;

/* rest_ns: from the end of a reply to the next key, and after the last one. Both takes have the same number of turns,
 * 1 to DEMO_TURNS. */
tdm_status demo_show_make(demo_show *out, const demo_take *after, const demo_take *ahead, int64_t rest_ns,
                          tdm_error *err);
void demo_show_free(demo_show *s);

/* The turn that is shown at this time, from 0; a turn begins with its first key. */
int demo_show_turn(const demo_show *s, int64_t ns);
/* When the next turn begins; the end if there is none. */
int64_t demo_show_next(const demo_show *s, int64_t ns);
/* The moment of another show of the same script that is as far from the same turn's Enter. */
int64_t demo_show_same(const demo_show *s, int64_t ns, const demo_show *other);
/* Fills what depends on the time. The view points into the show. */
void demo_show_at(const demo_show *s, int64_t ns, struct demo_view *view);

#endif
