/* Bytes of a fuzz target as a file, for code that reads files. */
#ifndef TANDEM_TESTS_FUZZED_H
#define TANDEM_TESTS_FUZZED_H

#include <stddef.h>

/* The path of a file of this name in the program's temporary folder, which now holds these bytes and nothing else. The
 * string lives until the next call. */
const char *fuzzed_file(const char *name, const void *bytes, size_t n);

#endif
