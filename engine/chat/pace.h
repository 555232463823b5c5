/* The pace: when the next token of a reply may be decoded, so that so many come a second.
 *
 * The times are a schedule, not rests: each is an interval after the one before, whenever that token really came. So a
 * token that is decoded, or a thread that wakes, late by less than PACE_BEHIND_MS is made up for, and the rate is kept.
 * What is lost beyond that stays lost: after a stall of seconds the text does not come in a burst.
 *
 * Threads: pure functions.
 */
#ifndef TANDEM_CHAT_PACE_H
#define TANDEM_CHAT_PACE_H

#include <stdint.h>

/* A burst that makes up for so much is still taken for writing. */
enum { PACE_BEHIND_MS = 250 };

/* When the next token is due. due_ns: when the one that came at now_ns was; 0: it was the first one, or there was no pace.
 * tps: above 0. The result is never 0. */
int64_t pace_next(int64_t due_ns, int64_t now_ns, double tps);

#endif
