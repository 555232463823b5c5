#include "engine/text/blanks.h"

#include <stdlib.h>
#include <string.h>

enum { MARK = 3 }; /* bytes of U+2581 */

static bool is_mark(const char *text, size_t n)
{
    return n >= MARK && !memcmp(text, "\xE2\x96\x81", MARK);
}

size_t blanks_write(struct span piece, char *out)
{
    size_t n = 0;
    for (size_t at = 0; at < piece.length; n++) {
        bool mark = is_mark(piece.bytes + at, piece.length - at);
        out[n] = mark ? ' ' : piece.bytes[at];
        at += mark ? MARK : 1;
    }
    return n;
}

tdm_status blanks_make(struct nfc *out, const char *text, size_t n, bool before, tdm_error *err)
{
    size_t marks = 0, at = 0;
    for (size_t i = 0; i < n; i++) marks += is_mark(text + i, n - i);
    *out = (struct nfc){.text = text, .length = n};
    if (!marks && !before) return TDM_OK;
    out->buffer = malloc(n + 1);
    out->changes = malloc((marks + 1) * sizeof *out->changes);
    if (!out->buffer || !out->changes) {
        nfc_free(out);
        return error_set(err, TDM_E_NOMEM, "no memory for a text of %zu bytes", n);
    }
    size_t length = 0;
    if (before) {
        out->changes[out->change_count++] = (struct nfc_change){0, 1, 0, 0};
        out->buffer[length++] = ' ';
    }
    while (at < n) {
        bool mark = is_mark(text + at, n - at);
        if (mark) out->changes[out->change_count++] = (struct nfc_change){length, length + 1, at, at + MARK};
        out->buffer[length++] = mark ? ' ' : text[at];
        at += mark ? MARK : 1;
    }
    out->text = out->buffer;
    out->length = length;
    return TDM_OK;
}
