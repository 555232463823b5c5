/* The automatic pause: how long the user must rest before the draft is taken for the whole message and its prompt is read
 * to the end. A wrong guess costs one dispatch at most, dropped at the next layer when a key comes; a late one costs that
 * dispatch between Enter and the first token.
 *
 *   a sentence has ended           no pause: the message is likely to end here, and blanks behind it change nothing
 *   otherwise the least of         twice the time that the suffix's dispatch takes; 150 ms;
 *                                  twice the time between two keys (20 ms at least), for those who type fast
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

/* A key changed the draft. A rest of more than a second is none between two keys. */
void typing_key(struct typing *t, int64_t now_ns);

/* suffix_ns: what the last dispatch of a suffix took; 0: there was none. */
int64_t pause_auto(const struct typing *t, const char *draft, size_t n, int64_t suffix_ns);

#endif
