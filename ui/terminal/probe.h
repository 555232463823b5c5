/* Does the terminal show UTF-8 although the environment's locale does not say so (LC_ALL=C, a locale that is not
 * installed)? Then the program's locale becomes C.UTF-8. */
#ifndef TANDEM_UI_PROBE_H
#define TANDEM_UI_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum { PROBE_TYPED = 1024 };

/* Only where the locale's characters are single bytes; call it after setlocale() and before term_open(). Writes a
 * character of two bytes and asks where the cursor is; a terminal that does not answer within a third of a second is
 * taken at the locale's word. leave: as for term_open(). What was typed meanwhile is in typed[PROBE_TYPED], *n bytes.
 * Whether the locale is one of UTF-8 now. */
bool probe_utf8(int in, int out, int leave, char *typed, size_t *n);

#endif
