/* Strict numbers: the whole text must be one number within [low, high]; no blanks, no trailing characters, no NaN.
 * Every function returns false and leaves *out alone otherwise. */
#ifndef TANDEM_SRC_NUMBER_H
#define TANDEM_SRC_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

bool number_int(const char *text, int64_t low, int64_t high, int64_t *out);
bool number_whole(const char *text, uint64_t *out); /* 0 .. 2^64-1 */
bool number_real(const char *text, double low, double high, double *out);
/* Bytes with an optional K, M, G or T (powers of 1024). */
bool number_size(const char *text, uint64_t *out);

#endif
