/* Where states live, behind one table of functions: the host's memory (state_host_memory), or a device's, whose table
 * stands with the device's own code. state.h, pool.h and statefile.h are what everybody calls; they come here.
 *
 * Of a state the host always has: struct state itself with its tokens, length and flags. The functions below keep
 * length, logits_valid and broken as state.h says; all else belongs to the memory. A pool's states are of one memory.
 *
 * Exactness: a copy has the bits of what was copied, and so has what was saved and loaded again in the same kind of
 * memory with the same key/value type.
 */
#ifndef TANDEM_STATE_MEMORY_H
#define TANDEM_STATE_MEMORY_H

#include "engine/state/state.h"
#include "engine/state/statefile.h"

struct state_memory {
    /* ---- States. TDM_E_NOMEM: no memory; TDM_E_IO: the device is lost. */

    /* A state without tokens, its contents undefined: it is cleared or copied over next. */
    tdm_status (*make)(struct state **out, struct pool *pool, tdm_error *err);
    void (*drop)(struct state *s);
    /* To an empty state; what fails here shows in the next pass. */
    void (*clear)(struct state *s);
    /* Another state of the same pool, not broken. On failure dst is unchanged, or broken where the device is lost. */
    tdm_status (*copy)(struct state *dst, const struct state *src, tdm_error *err);
    /* n tokens fit into the context. */
    tdm_status (*make_room)(struct state *s, uint32_t n, tdm_error *err);
    uint32_t (*shared_pages)(const struct state *a, const struct state *b);
    tdm_status (*fill)(struct state *s, uint32_t length, uint64_t seed, tdm_error *err);
    /* The logits of the last token, which are valid, on the host: *out [vocab] until s changes. */
    tdm_status (*logits)(struct state *s, const float **out, tdm_error *err);
    /* To and from the bytes of statefile.h, with its errors. s is empty when load is called, and after its error. */
    tdm_status (*save)(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err);
    tdm_status (*load)(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err);

    /* ---- Pools. */

    tdm_status (*warm)(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err);
    struct pool_stats (*stats)(struct pool *p);
    void (*close)(struct pool *p); /* all but the struct itself */
};

extern const struct state_memory state_host_memory;

#endif
