/* Made-up data for the tests of kernels: reproducible numbers, and rows of every weight type with finite scales. */
#ifndef TANDEM_TESTS_KERNEL_SAMPLE_H
#define TANDEM_TESTS_KERNEL_SAMPLE_H

#include "engine/kernel/kernel.h"

uint64_t sample_bits(void);              /* the next of a fixed sequence */
void sample_seed(uint64_t seed);
float sample_normal(void);               /* about N(0, 1) */
void sample_floats(float *x, size_t n);
/* rows * type_row_bytes(type, cols) bytes, to be freed. Every field of a block takes all its values, scales are
 * about 1/64. */
void *sample_rows(enum type type, uint32_t rows, uint32_t cols);
/* n floats that start `shift` floats after a 64-byte boundary; free with sample_free. */
float *sample_unaligned(size_t n, unsigned shift);
void sample_free(float *p, unsigned shift);

#endif
