/* Text from outside (a paste, an editor's file, a pipe, an attachment) made fit to be a message. Pure; any thread. */
#ifndef TANDEM_BASE_CLEAN_H
#define TANDEM_BASE_CLEAN_H

#include <stddef.h>

/* A new string (caller frees) with line ends as \n, without NUL, without a byte order mark at its beginning, and with
 * U+FFFD in place of each byte that isn't valid UTF-8. Other control characters stay: they are part of the text, and
 * the screen shows them as visible characters. *length (may be NULL) gets its length. NULL without memory. Linear in
 * n. */
char *clean_text(const char *data, size_t n, size_t *length);

#endif
