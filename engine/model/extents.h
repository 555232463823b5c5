/* The bytes of a file that its header gives to tensors. */
#ifndef TANDEM_MODEL_EXTENTS_H
#define TANDEM_MODEL_EXTENTS_H

#include "engine/base/span.h"
#include "engine/tandem.h"

struct extent {
    uint64_t begin, end; /* as many bytes as the tensor has */
    struct span name;
};

/* Sorts the extents, and refuses two that share bytes: one of the tensors would have another one's values. */
tdm_status extents_check(struct extent *list, size_t n, const char *file, tdm_error *err);

#endif
