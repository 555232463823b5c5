/* The ids of a text that is edited, at its end most of all: a draft, or a reply that is being written. What an edit
 * leaves as it was is not tokenised again, so that a key costs the same in a long text as in a short one.
 *
 * The text is kept with marks in it, one for every kilobyte or so. A mark is the end of a part that is stable
 * (tokenizer_stable_prefix) judging by the bytes up to `seen` alone; as long as those stay, so do the ids before the
 * mark. An edit drops the marks that have seen the changed bytes, and the text is tokenised from the last mark that is
 * left.
 *
 * Threads: one at a time.
 */
#ifndef TANDEM_TEXT_GROWING_H
#define TANDEM_TEXT_GROWING_H

#include "engine/text/tokenizer.h"

struct growing;

/* The tokenizer must outlive it. */
tdm_status growing_new(struct growing **out, const struct tokenizer *t, tdm_error *err);
void growing_free(struct growing *g); /* NULL is allowed */

/* From now on the text is text[0..n), which is copied; it may end at `limit`, as in tokenizer_stable_prefix. */
tdm_status growing_set(struct growing *g, const char *text, size_t n, size_t limit, tdm_error *err);

/* How many of the text's first bytes the last growing_set did not tokenise again. Tests ask, so that no test needs to
 * measure time. */
size_t growing_kept(const struct growing *g);

/* tokenizer_stable_prefix of the text and its limit. */
tdm_status growing_stable(const struct growing *g, size_t *length, tdm_error *err);

/* Appends the ids of the first `length` bytes, which are the stable part or all of it, as tokenizer_encode does without
 * added tokens; their ends are `base` plus bytes of the text. */
tdm_status growing_encode(const struct growing *g, size_t length, size_t base, struct ids *out, tdm_error *err);

#endif
