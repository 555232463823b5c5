/* Token ids back to text, one at a time.
 *
 * A character may be spread over several tokens: its bytes are held back until it is complete. Bytes that cannot become
 * a character are replaced by U+FFFD, one per maximal subpart (as Unicode recommends and Python's errors='replace'
 * does). The output is always valid UTF-8. One detokenizer serves one text. */
#ifndef TANDEM_TEXT_DETOKENIZER_H
#define TANDEM_TEXT_DETOKENIZER_H

#include "engine/text/tokenizer.h"

struct detokenizer {
    const struct tokenizer *tokenizer;
    bool skip_special; /* special tokens yield no text */
    bool begun;        /* the blank that the tokenizer adds at a text's beginning has been left out */
    char held[4];      /* an incomplete character */
    size_t held_count;
    char *buffer; /* the last result */
    size_t room;
};

/* The tokenizer must outlive the detokenizer. */
void detokenizer_init(struct detokenizer *d, const struct tokenizer *t, bool skip_special);
void detokenizer_free(struct detokenizer *d);
/* The text that is complete with this id, perhaps empty; valid until the next call. */
tdm_status detokenizer_push(struct detokenizer *d, tdm_id id, struct span *text, tdm_error *err);
/* At the end of a text: U+FFFD for the bytes that are still held back. */
struct span detokenizer_finish(struct detokenizer *d);

#endif
