/* Text from outside (a paste, an editor's file) made fit for a draft. Pure; any thread. */
#ifndef TANDEM_UI_PASTE_H
#define TANDEM_UI_PASTE_H

#include <stddef.h>

/* A new string (caller frees) with line ends as \n, without NUL, and U+FFFD in place of each byte that isn't valid
 * UTF-8. Other control characters stay: they are part of what was pasted, and the screen shows them harmlessly. *length
 * (may be NULL) gets its length. NULL without memory. Linear in n. */
char *paste_clean(const char *data, size_t n, size_t *length);

#endif
