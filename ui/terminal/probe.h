/* Does the terminal show UTF-8 although the environment's locale does not say so (LC_ALL=C, a locale that is not
 * installed)? Then the program's locale becomes C.UTF-8. */
#ifndef TANDEM_UI_PROBE_H
#define TANDEM_UI_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum { PROBE_TYPED = 1024 };

/* Does nothing unless the locale's characters are single bytes; call it after setlocale() and before term_open().
 * Writes a character of two bytes and asks for the cursor's position; without an answer within a third of a second the
 * locale stays. leave: as for term_open(). Bytes typed meanwhile are in typed[PROBE_TYPED], *n of them. Returns whether
 * the locale is UTF-8 now. */
bool probe_utf8(int in, int out, int leave, char *typed, size_t *n);

#endif
