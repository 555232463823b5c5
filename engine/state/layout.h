/* The inside of a pool, and the layout of a state in a buffer of the host's memory, computed by pool.c and used by
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
    uint32_t kinds; /* of pages */
    size_t page_bytes[STATE_PAGES], buffer_bytes;

    /* of the host's memory */
    const struct kernels *kernels;
    size_t block_bytes[STATE_PAGES]; /* keys (or values) of one head in one page, rounded up to 64 */
    uint32_t places;                 /* pointers to pages of a kind in a state */
    size_t tokens, pages, recurrent, conv, logits, waiting; /* offsets in a buffer */
    struct blocks page_blocks[STATE_PAGES], buffer_blocks;
};

/* Prepares s to be filled: the pages that x names stay, the others are new. s is broken until it is filled. */
tdm_status state_host_prepare(struct state *s, const struct crossing *x, uint32_t length, uint32_t entries,
                              bool headless, tdm_error *err);
/* The pages of a kind. */
static inline struct page **state_pages(const struct state *s, uint32_t kind)
{
    return s->pages + (size_t)kind * s->pool->places;
}

/* Parts of state_host_memory. */
tdm_status pool_host_warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err);
struct pool_stats pool_host_stats(struct pool *p);
void pool_host_close(struct pool *p);
tdm_status statefile_host_save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err);
tdm_status statefile_host_load(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err);

#endif
