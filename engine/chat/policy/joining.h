/* How often the replies of the dialogue in the back join the passes of those in front.
 *
 * A pass of more runs takes longer. They join every pass where that slows the replies in front by at most a fifth, else
 * every n-th, so that the mean stays within a fifth: n = (s - 1) / 0.2 for passes that take s times as long. s is
 * measured: decaying means of the times of passes with and without them. Until there are some they join every second
 * pass; later one in JOINING_PROBE passes is without them, to see whether that has changed.
 *
 * Pure functions of their arguments; the caller's lock guards the struct.
 */
#ifndef TANDEM_CHAT_JOINING_H
#define TANDEM_CHAT_JOINING_H

#include <stdbool.h>
#include <stdint.h>

enum { JOINING_PROBE = 64, JOINING_LEAST = 3 };

struct joining {
    double alone_s, joined_s;          /* a pass without them, and with them */
    uint32_t alone, joined;            /* passes of each sort that were measured */
    uint32_t since, in_a_row;          /* passes since the last one that they joined; passes that they joined in a
                                          row */
};

/* The time of a pass with them relative to one without: at least 1; 0: not known yet. */
double joining_cost(const struct joining *j);
/* They join one in this many passes. room: one pass holds all of them; else they have a pass of their own instead. */
uint32_t joining_every(const struct joining *j, bool room);
/* Do they join the next pass? */
bool joining_due(const struct joining *j, bool room);
/* A pass begins, with them or not. */
void joining_passed(struct joining *j, bool joined);
/* A pass took this many seconds; of a pass that verified drafts, the equivalent time of a pass of one token. */
void joining_count(struct joining *j, bool joined, double seconds);

#endif
