/* Amounts of bytes as files and memory are labelled: "2.7 GB", "812 MB", "4.1 kB" (powers of 1000). */
#ifndef TANDEM_SRC_BYTES_H
#define TANDEM_SRC_BYTES_H

#include <stdint.h>

enum { BYTES_ROOM = 24 };

/* Fills out and returns it. */
const char *bytes_words(char out[BYTES_ROOM], uint64_t bytes);

#endif
