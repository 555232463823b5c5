/* Words as users type them: with white space around them, and with typing errors; and token ids as text. */
#ifndef TANDEM_SRC_WORDS_H
#define TANDEM_SRC_WORDS_H

#include <stddef.h>

#include "engine/tandem.h"

/* Removes white space at the text's end, and returns its first character that is not white space. */
char *trim(char *text);

/* The name that a mistyped one probably means. */
typedef struct {
    const char *name; /* the best so far, or NULL */
    size_t distance;
} nearest;

/* Offers a candidate for `wanted`; it is kept only if it is close enough to be a typing error, and closer than the best
 * so far. A candidate that begins with `wanted` counts as one change away. */
void nearest_offer(nearest *best, const char *wanted, const char *candidate);

/* Token ids as text: integers separated by commas, white space or brackets. Appends to *out; `name` stands in the
 * message with the byte offset. */
tdm_status ids_parse(const char *name, const char *text, size_t n, tdm_ids *out, tdm_error *err);

#endif
