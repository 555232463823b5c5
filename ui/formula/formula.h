/* Formulas of TeX as a line of readable Unicode: Greek letters, operators, sub- and superscripts if Unicode has all
 * their characters (else ^(...) and _(...)), a/b, roots, accents, letters of other alphabets, matrices as [a, b; c, d].
 * Unknown commands stay unchanged, with their backslash. */
#ifndef TANDEM_UI_FORMULA_H
#define TANDEM_UI_FORMULA_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buffer.h"

/* Appends the readable form of tex[0..n), without delimiters. The rows of a displayed formula (display) end with
 * newlines. False, with `out` as it was: its braces or environments are not in order, it is too long or nested too
 * deep, or there is no memory. Then the caller shows the source. */
bool formula_write(const char *tex, size_t n, bool display, struct buffer *out);

#endif
