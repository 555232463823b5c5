/* Reading the text goldens for tests. */
#ifndef TANDEM_TESTS_TEXT_GOLDEN_H
#define TANDEM_TESTS_TEXT_GOLDEN_H

#include <json-c/json.h>

#include "engine/text/tokenizer.h"

/* A whole JSON file, or NULL with the running test marked as failed. Freed with json_object_put. */
struct json_object *golden_open(const char *path);

/* The vocabulary of tests/goldens/tiny-a, loaded once for the program. */
const struct tokenizer *golden_small(void);

/* A tokenizer from shared/goldens/tokenizer-151k.json.xz, unpacked with xz; NULL with the test marked as skipped
 * where the file or xz is absent. Freed by the caller. */
struct tokenizer *golden_large(void);

/* Encodes every text of a golden file and compares ids; checks that decoding gives the text's NFC form back.
 * Returns the number of texts. */
int golden_compare(const struct tokenizer *t, const char *path);

#endif
