/* Normalisation form C with a way back: which byte of the original a byte of the result stands for.
 *
 * Text that is in NFC already, nearly all there is, is found so by a scan and not copied. Otherwise only the
 * stretches that can change are rewritten; each runs from a character that NFC leaves alone to the next such
 * character, and is remembered as a change when the rewriting altered it. Invalid bytes are kept. */
#ifndef TANDEM_TEXT_NFC_H
#define TANDEM_TEXT_NFC_H

#include "engine/base/error.h"

struct nfc_change {
    size_t begin, end;               /* in the result */
    size_t source_begin, source_end; /* in the original */
};

struct nfc {
    const char *text; /* the result: the caller's own text, or buffer */
    size_t length;
    struct nfc_change *changes; /* ascending */
    size_t change_count;
    char *buffer;
};

/* Fills *out. Frees nothing of the caller's; *text must outlive *out. */
tdm_status nfc_make(struct nfc *out, const char *text, size_t n, tdm_error *err);
void nfc_free(struct nfc *nfc);

/* The byte of the original that the first `position` bytes of the result reach. Within a change it is the start
 * of the change, since no part of it can be told apart. *cursor walks the changes: 0 at first, then for ascending
 * positions. *exact (may be NULL) tells whether the position is a boundary in the original as well. */
size_t nfc_source(const struct nfc *nfc, size_t position, size_t *cursor, bool *exact);

/* Where the last stretch of the original begins that more text could still alter: the last character that NFC
 * leaves alone, or n without one. */
size_t nfc_open_tail(const char *text, size_t n);

#endif
