/* What the fuzz targets of texts share. They run in the root of the tree. */
#ifndef TANDEM_TESTS_TEXT_FUZZ_H
#define TANDEM_TESTS_TEXT_FUZZ_H

#include <stdlib.h>

#include "engine/text/tokenizer.h"

#define must_hold(condition) ((condition) ? (void)0 : abort())

/* The small vocabulary of the goldens. */
static inline const struct tokenizer *fuzz_tokenizer(void)
{
    static struct tokenizer *t;
    tdm_error err;
    if (!t && tokenizer_load_json(&t, "tests/goldens/tiny-a/tokenizer.json", NULL, &err)) abort();
    return t;
}

#endif
