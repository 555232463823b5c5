/* Incremental tokenisation of a text that is edited, mostly at its end: a draft, or a reply that is being written. What
 * an edit did not change is not tokenised again, so a key costs the same in a long text as in a short one.
 *
 * The text is kept with marks, about one per kilobyte. A mark is the end of a stable part (tokenizer_stable_prefix) as
 * determined by the bytes up to `seen` alone: while these bytes stay the same, so do the ids before the mark. An edit
 * drops the marks whose `seen` bytes it changed, and the text is tokenised from the last remaining mark on.
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

/* Replaces the text by text[0..n), which is copied; it may end at `limit`, as in tokenizer_stable_prefix. */
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
