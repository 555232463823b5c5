/* Incremental tokenization of a prompt that is edited, mostly at its end: by a draft, or a reply that is being written.
 * Unchanged text is not tokenized again, so a key costs the same in a long conversation as in a short one.
 *
 * The text has anchors, from which it can be tokenized again: one after each added token of the template, and about one
 * per kilobyte between these, at the end of a stable part (tokenizer_stable_prefix). The bytes up to `seen` alone
 * determine an anchor: while these bytes and their writers (written.h) stay the same, so do the ids before it. An edit
 * drops the anchors whose `seen` bytes it changed, and the text is tokenized from the last remaining anchor on.
 *
 * Threads: one at a time.
 */
#ifndef TANDEM_TEXT_INCREMENTAL_H
#define TANDEM_TEXT_INCREMENTAL_H

#include "engine/text/tokenizer.h"
#include "engine/text/written.h"

struct incremental;

/* The tokenizer must outlive it. */
tdm_status incremental_new(struct incremental **out, const struct tokenizer *t, tdm_error *err);
void incremental_free(struct incremental *g); /* NULL is allowed */

/* Replaces the text, which is copied. It may end at `limit`, as in tokenizer_stable_prefix. cut: a position where the
 * tokenizer splits whatever text follows, so that the text before it is stable; 0: none is known. */
tdm_status incremental_set(struct incremental *g, const struct written *text, size_t cut, size_t limit, tdm_error *err);

/* How many of the text's first bytes the last incremental_set did not tokenize again. Only tests call it, so that they
 * need not measure time. */
size_t incremental_kept(const struct incremental *g);

/* The length of the stable part: the longest prefix whose ids are certain to stay the same whatever the data
 * appends. */
tdm_status incremental_stable(const struct incremental *g, size_t *length, tdm_error *err);

/* The ids of the first `length` bytes, which are the stable part or all of it, as tokenizer_encode_written gives them.
 * Valid until the next call; the caller may append more ids to them until then. */
tdm_status incremental_encode(struct incremental *g, size_t length, struct ids **ids, tdm_error *err);

#endif
