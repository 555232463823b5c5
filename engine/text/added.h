/* Added tokens: strings that map to one id wherever they occur in a text, found before the text is split. Most of them
 * are special tokens, which yield no text in a reply (control tokens in GGUF files); the others are text like any.
 *
 * At each position the longest match wins. A token may be restricted to whole words (single_word) or include the white
 * space beside it (lstrip, rstrip). Tokens marked `normalized` are searched in the normalised text, the others in the
 * text as given; the tokenizer has a set for each. */
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

/* Takes ownership of a malloc'ed list and sorts it. */
void added_init(struct added *set, struct added_token *tokens, size_t count);
void added_free(struct added *set);

/* The id of the token with this text, or -1. */
tdm_id added_find(const struct added *set, const char *text, size_t n);

/* The length of the longest token at the beginning of text[0..n), whatever its flags demand around it; 0: none. */
size_t added_begins(const struct added *set, const char *text, size_t n);

/* The bytes of the longest token; 0: there is none. */
size_t added_longest(const struct added *set);

/* The first occurrence at or after `from`: its id and its extent with the white space that it includes. False: none. */
bool added_next(const struct added *set, const char *text, size_t n, size_t from, tdm_id *id, size_t *begin,
                size_t *end);

#endif
