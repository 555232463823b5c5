/* Characters as terminals show them: text is cut into glyphs of known width.
 *
 * A glyph is what one cell of a canvas holds: a base character with at most four combining marks (curses has room for
 * five code points). Characters that terminals draw in different widths are replaced by simpler forms of known width:
 * emoji joined by U+200D become their first emoji, flags two letters, keycaps their digit, variation selectors and skin
 * tones are dropped. Text is untrusted, so characters that control a terminal are replaced: control characters by the
 * pictures U+2400.., characters that change the direction or end a line by U+2426, bytes that are not UTF-8 by U+FFFD.
 * A tab is returned unchanged, since only the caller knows the column.
 */
#ifndef TANDEM_UI_WIDTH_H
#define TANDEM_UI_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIDTH_POINTS = 5, WIDTH_TAB = 8 };

struct width_glyph {
    uint32_t point[WIDTH_POINTS];
    uint8_t n;     /* code points; 0: nothing is shown (zero-width characters on their own) */
    uint8_t width; /* columns: 0, 1 or 2; a tab has n = 1, point[0] = '\t', width 0 */
};

/* Takes the next glyph of text[0..len), len > 0, and returns the bytes that it stands for (at least 1). A newline is
 * returned like a tab: n = 1, width 0. */
size_t width_next(const char *text, size_t len, struct width_glyph *glyph);

/* Replaces a glyph by similar ASCII of the same width ('e' for an accented e, '-' for a dash), or by '?'. */
void width_ascii(struct width_glyph *glyph);

/* Columns of a text without tabs or newlines. */
int width_text(const char *text, size_t len);

/* Bytes of the longest prefix of whole glyphs that fits into cols columns. */
size_t width_fit(const char *text, size_t len, int cols);

/* Closing marks of East Asian text, which do not begin a line. */
bool width_sticks(uint32_t point);

/* Writes one code point as UTF-8 and returns its bytes, 1 to 4; 0: it is no character. */
int width_put(uint32_t point, char out[4]);

#endif
