/* The marks that a terminal puts around a paste, in all their forms: `Esc [ 200 ~` before and `Esc [ 201 ~` after it;
 * in 8-bit mode with the one control character 0x9b, or that character as UTF-8 (C2 9B), in place of Esc [. A byte 0x9b
 * that is part of a character is no control character. Pure; any thread. */
#ifndef TANDEM_UI_PASTE_MARK_H
#define TANDEM_UI_PASTE_MARK_H

#include <stddef.h>

enum paste_mark { PASTE_MARK_NONE, PASTE_MARK_BEGIN, PASTE_MARK_END };

enum { PASTE_MARK_MAX = 6 }; /* bytes of the longest form */

/* The first mark that ends after text + from: it begins at *at and has *length bytes. Characters that begin before
 * `from` are recognised. Linear in n - from. */
enum paste_mark paste_mark_find(const char *text, size_t n, size_t from, size_t *at, size_t *length);

/* How many bytes at the end of the text may be the beginning of a mark, or of a character that a later 0x9b belongs to:
 * they have to be examined together with the following bytes. */
size_t paste_mark_partial(const char *text, size_t n);

#endif
