/* Grapheme clusters (UAX #29): a character as readers see it, of one or several code points: an emoji with a skin tone,
 * joined emoji, a flag, a keycap, a letter with its marks. Each byte that is not UTF-8 is a cluster. */
#ifndef TANDEM_UI_CLUSTER_H
#define TANDEM_UI_CLUSTER_H

#include <stddef.h>

/* The end of the cluster that begins at byte `at` of text[0..n); n at the end. */
size_t cluster_end(const char *text, size_t n, size_t at);

/* The start of the cluster that ends at byte `at`, or that `at` lies within; 0 at the beginning. */
size_t cluster_before(const char *text, size_t n, size_t at);

/* The start of the cluster that byte `at` belongs to: `at` itself between two of them. */
size_t cluster_start(const char *text, size_t n, size_t at);

#endif
