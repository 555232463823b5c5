/* What a pool is inside, and the layout of a state of the host's memory in its buffer, computed by pool.c and used by
 * state.c. Offsets in bytes, multiples of 64. */
#ifndef TANDEM_STATE_LAYOUT_H
#define TANDEM_STATE_LAYOUT_H

#include "engine/state/blocks.h"
#include "engine/state/memory.h"

/* Room for the struct state at the beginning of a buffer. */
enum { LAYOUT_STATE_BYTES = 128 };

struct pool {
    const struct state_memory *memory;
    void *device; /* the memory's own */
    struct state_shape shape;
    enum kv_type kv;
    uint32_t context;
    size_t page_bytes, buffer_bytes;

    /* of the host's memory */
    const struct kernels *kernels;
    size_t block_bytes;                            /* keys (or values) of one head in one page, rounded up to 64 */
    size_t tokens, pages, recurrent, conv, logits; /* offsets in a buffer */
    size_t head_pages, waiting;
    struct blocks page_blocks, head_blocks, buffer_blocks; /* head_blocks: pages of the MTP head */
};

/* Parts of state_host_memory. */
tdm_status pool_host_warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err);
struct pool_stats pool_host_stats(struct pool *p);
void pool_host_close(struct pool *p);
tdm_status statefile_host_save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err);
tdm_status statefile_host_load(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err);

#endif
