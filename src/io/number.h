/* Numbers from text, strictly: all of it must be one number within [low, high]; no blanks, no trailing characters, no
 * NaN. Every function returns false and leaves *out alone otherwise. And amounts as text. */
#ifndef TANDEM_SRC_NUMBER_H
#define TANDEM_SRC_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

bool number_int(const char *text, int64_t low, int64_t high, int64_t *out);
bool number_whole(const char *text, uint64_t *out); /* 0 .. 2^64-1 */
bool number_real(const char *text, double low, double high, double *out);
/* Bytes with an optional K, M, G or T (powers of 1024). */
bool number_size(const char *text, uint64_t *out);

/* Amounts of bytes as files and memory are labelled: "2.7 GB", "812 MB", "4.1 kB" (powers of 1000). */
enum { BYTES_ROOM = 24 };

/* Fills out and returns it. */
const char *bytes_words(char out[BYTES_ROOM], uint64_t bytes);

#endif
