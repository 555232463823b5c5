/* The differences between two texts, by words: for users who choose between two answers.
 *
 * A word is the text between blanks. Words outside the longest common subsequence are marked: [-so-] in the left text
 * alone, {+so+} in the right one alone. For texts that are too long for that (COMPARE_CELLS), everything between their
 * common beginning and end is marked. Pure functions.
 */
#ifndef TANDEM_UI_COMPARE_H
#define TANDEM_UI_COMPARE_H

#include <stddef.h>

enum { COMPARE_COLS = 38, COMPARE_CELLS = 1 << 24 };

/* Lines of text, malloc'ed; NULL without memory. If `cols` columns have room for two of COMPARE_COLS, the texts are
 * side by side under their names, each with its own marks; else they are one text with both kinds of marks. */
char *compare_texts(const char *left_name, const char *left, const char *right_name, const char *right, int cols);

#endif
