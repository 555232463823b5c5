/* The kind of a file that is not text, by its first bytes. Pure functions; any thread. */
#ifndef TANDEM_SRC_KIND_H
#define TANDEM_SRC_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes are text: without zero bytes, and at least nine tenths (or all but a few) valid characters. */
bool kind_is_text(const char *bytes, size_t n);
/* "a picture (PNG)", "a PDF" ... NULL: a text, or an unknown kind. */
const char *kind_of(const char *bytes, size_t n);
/* Why these bytes are neither text nor a picture that can be read: "a GIF: ..." with a way to convert it, "a sound
 * (MP3), which can't be read yet; expected a text or a picture", "binary (zero bytes, or over a tenth no text); ...";
 * NULL: they are text. */
enum { KIND_ROOM = 160 };
const char *kind_refused(const char *bytes, size_t n, char room[KIND_ROOM]);

#endif
