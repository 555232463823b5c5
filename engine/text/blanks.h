/* The text that pieces of SentencePiece stand for: blanks, where its vocabularies write U+2581.
 *
 * A tokenizer of pieces keeps them with blanks, so text need not be rewritten for them, but U+2581 in a text is a blank
 * to it, too, and a stretch of text may begin with one that it doesn't have. */
#ifndef TANDEM_TEXT_BLANKS_H
#define TANDEM_TEXT_BLANKS_H

#include "engine/base/span.h"
#include "engine/text/nfc.h"

/* Writes a piece with blanks; out has room for its length. Returns the length. */
size_t blanks_write(struct span piece, char *out);

/* The text with blanks, and with one more before it; freed with nfc_free. text must outlive it. */
tdm_status blanks_make(struct nfc *out, const char *text, size_t n, bool before, tdm_error *err);

#endif
