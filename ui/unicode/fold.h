/* Texts and names compared as their readers do, for all of Unicode (utf8proc): a letter and its mark are the same in
 * one code point or in two, and, with FOLD_CASE, in either case (the full folding: "STRASSE" finds "Strasse" written
 * with a sharp s). A match holds whole characters: an e is not found within an accented one, however that is written. A
 * byte that is not UTF-8 matches only itself. */
#ifndef TANDEM_UI_FOLD_H
#define TANDEM_UI_FOLD_H

#include <stdbool.h>
#include <stddef.h>

enum fold_how { FOLD_FORM, FOLD_CASE };

/* A match may have up to this many times the bytes of the words. */
enum { FOLD_GROWTH = 4 };

/* Bytes of text[0..n) from `at` on that match words[0..m); 0: no match there, or m is 0. */
size_t fold_match(const char *text, size_t n, size_t at, const char *words, size_t m, enum fold_how how);

/* The first match at or after `at`, case folded: its length, and in *found (may be NULL) where it begins; 0 for none.
 */
size_t fold_find(const char *text, size_t n, size_t at, const char *words, size_t m, size_t *found);

/* Does the text contain the words, case folded? True for empty words. */
bool fold_holds(const char *text, const char *words);
bool fold_begins(const char *text, const char *words, enum fold_how how);

/* As strcmp(), case folded; 0 is the same to a reader. */
int fold_compare(const char *a, const char *b);

#endif
