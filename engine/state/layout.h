/* The layout of a state in its buffer, computed by pool.c and used by state.c. Offsets in bytes, multiples
 * of 64. */
#ifndef TANDEM_STATE_LAYOUT_H
#define TANDEM_STATE_LAYOUT_H

#include "engine/state/blocks.h"
#include "engine/state/pool.h"

/* Room for the struct state at the beginning of a buffer. */
enum { LAYOUT_STATE_BYTES = 64 };

struct pool {
    struct state_shape shape;
    const struct kernels *kernels;
    enum kv_type kv;
    uint32_t context;
    size_t block_bytes;                            /* keys (or values) of one head in one page, rounded up to 64 */
    size_t tokens, pages, recurrent, conv, logits; /* offsets in a buffer */
    struct blocks page_blocks, buffer_blocks;
};

#endif
