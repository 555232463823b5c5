/* Unicode normalisation form C with offsets: the result's positions map back to the original.
 *
 * Nearly all text is in NFC already; a scan detects that, and such text is not copied. Otherwise only the segments that
 * can change are rewritten, each from one character that NFC leaves alone to the next such character; a segment that
 * did change is recorded. Invalid bytes are kept. */
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

/* Fills *out; text must outlive it. */
tdm_status nfc_make(struct nfc *out, const char *text, size_t n, tdm_error *err);
void nfc_free(struct nfc *nfc);

/* The offset in the original that corresponds to offset `position` of the result. Within a change it is the start of
 * the change, whose parts do not correspond one to one. *cursor is an index into the changes for calls with ascending
 * positions; it begins at 0. *exact (may be NULL): true unless the position is inside a change. */
size_t nfc_source(const struct nfc *nfc, size_t position, size_t *cursor, bool *exact);

/* Where the part of the text begins that NFC could still change if more text follows: at the last character that NFC
 * leaves alone; 0 if there is none. */
size_t nfc_open_tail(const char *text, size_t n);

#endif
