/* The automatic pause: how long the user must stop typing before the draft is treated as the complete message and its
 * prompt is evaluated to the end. If the user types on, at most one dispatch was wasted, which is cancelled at the next
 * layer; if Enter comes before the pause has passed, that dispatch delays the first token.
 *
 *   a sentence has ended           no pause: the message is likely to end here, and blanks behind it change nothing
 *   otherwise the least of         twice the duration of the suffix's dispatch; 150 ms;
 *                                  twice the time between two keys, but at least 20 ms
 *
 * Threads: none of its own; the chat's lock guards it.
 */
#ifndef TANDEM_CHAT_PAUSE_H
#define TANDEM_CHAT_PAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the user types. Zero: nothing is known yet. */
struct typing {
    int64_t last_ns;     /* of the last key; 0: none */
    int64_t interval_ns; /* between two keys, a decaying mean; 0: not known */
};

/* A key changed the draft. Intervals of more than a second are not counted as typing. */
void typing_key(struct typing *t, int64_t now_ns);

/* suffix_ns: the duration of the last dispatch of a suffix; 0: there was none. */
int64_t pause_auto(const struct typing *t, const char *draft, size_t n, int64_t suffix_ns);

#endif
