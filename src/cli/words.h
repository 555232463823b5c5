/* Words as users type them: white space around them, and slips within. */
#ifndef TANDEM_SRC_WORDS_H
#define TANDEM_SRC_WORDS_H

#include <stddef.h>

/* Cuts off what is white behind the text, and returns where the text begins. */
char *trim(char *text);

/* The name that a mistyped one was meant to be. */
typedef struct {
    const char *name; /* the best so far, or NULL */
    size_t distance;
} nearest;

/* Offers a candidate for `wanted`; only one that is close enough to be a slip is kept. A candidate that begins with
 * `wanted` counts as one change away. */
void nearest_offer(nearest *best, const char *wanted, const char *candidate);

#endif
