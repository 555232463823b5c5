/* Added tokens: strings that stand for one id wherever they occur in a text, found before anything is split.
 *
 * At each place the longest one counts. A token may also ask to stand alone (single_word) or to take the white
 * space beside it (lstrip, rstrip). Those marked `normalized` are looked for in the normalised text, the others in
 * the text as given; the tokenizer keeps a set for each. */
#ifndef TANDEM_TEXT_ADDED_H
#define TANDEM_TEXT_ADDED_H

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/base/span.h"

enum {
    ADDED_LSTRIP = 1,
    ADDED_RSTRIP = 2,
    ADDED_SINGLE_WORD = 4,
    ADDED_NORMALIZED = 8,
};

struct added_token {
    struct span text; /* not empty; kept by the caller */
    tdm_id id;
    unsigned flags;
};

struct added {
    struct added_token *tokens; /* by first byte, then longest first, then lowest id */
    size_t count;
    size_t first[257]; /* tokens that begin with byte b: [first[b], first[b+1]) */
};

/* Takes a malloc'ed list over and puts it in order. */
void added_init(struct added *set, struct added_token *tokens, size_t count);
void added_free(struct added *set);

/* The id whose text this is, or -1. */
tdm_id added_find(const struct added *set, const char *text, size_t n);

/* The first occurrence at or after `from`: its id and its extent, white space that it takes included. False: none. */
bool added_next(const struct added *set, const char *text, size_t n, size_t from, tdm_id *id, size_t *begin,
                size_t *end);

#endif
