/* What a file is that is no text, by how it begins. Pure functions; any thread. */
#ifndef TANDEM_SRC_KIND_H
#define TANDEM_SRC_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Text has no zero byte, and nine tenths of it are characters (or all but a few are). */
bool kind_is_text(const char *bytes, size_t n);
/* "a picture (PNG)", "a PDF" ... NULL: a text, or nothing that is known. */
const char *kind_of(const char *bytes, size_t n);
/* Why these bytes are no text and no picture that can be read: "a GIF: ..." with what makes a picture of it, "a sound
 * (MP3), which can't be read yet; expected a text or a picture", "binary (zero bytes, or over a tenth no text); ...";
 * NULL: they are text. */
enum { KIND_ROOM = 160 };
const char *kind_refused(const char *bytes, size_t n, char room[KIND_ROOM]);

#endif
