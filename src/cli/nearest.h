/* The name that a mistyped one was meant to be. */
#ifndef TANDEM_SRC_NEAREST_H
#define TANDEM_SRC_NEAREST_H

#include <stddef.h>

typedef struct {
    const char *name; /* the best so far, or NULL */
    size_t distance;
} nearest;

/* Offers a candidate for `wanted`; only one that is close enough to be a slip is kept. A candidate that begins with
 * `wanted` counts as one change away. */
void nearest_offer(nearest *best, const char *wanted, const char *candidate);

#endif
