/* What differs between two texts, by words: for users who choose between two answers.
 *
 * A word is what stands between blanks. The longest common sequence of words is what both have; the rest is marked,
 * [-so-] where only the left text has it, {+so+} where only the right one does. Two texts that are too long for that
 * (COMPARE_CELLS) differ in all that lies between their common beginning and end. Pure functions.
 */
#ifndef TANDEM_UI_COMPARE_H
#define TANDEM_UI_COMPARE_H

#include <stddef.h>

enum { COMPARE_COLS = 38, COMPARE_CELLS = 1 << 24 };

/* Lines of text, malloc'ed; NULL without memory. Where `cols` columns have room for two of COMPARE_COLS the texts stand
 * beside each other under their names, each with its own marks; else as one text with both. */
char *compare_texts(const char *left_name, const char *left, const char *right_name, const char *right, int cols);

#endif
