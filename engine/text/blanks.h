/* SentencePiece's vocabularies write a blank as U+2581. Here pieces and text have blanks instead.
 *
 * A tokenizer of pieces keeps its pieces with blanks, so most text need not be rewritten. But U+2581 in a text becomes
 * a blank too, and the tokenizer may want a blank before a stretch of text that begins with none. */
#ifndef TANDEM_TEXT_BLANKS_H
#define TANDEM_TEXT_BLANKS_H

#include "engine/base/span.h"
#include "engine/text/nfc.h"

/* Writes a piece with blanks for U+2581; out has room for its length. Returns the length. */
size_t blanks_write(struct span piece, char *out);

/* The text with blanks for U+2581 and, with `before`, one more at its beginning; freed with nfc_free. text must outlive
 * it. */
tdm_status blanks_make(struct nfc *out, const char *text, size_t n, bool before, tdm_error *err);

#endif
