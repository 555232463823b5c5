/* Where states live, behind one table of functions: the host's memory (state_host_memory), or a device's, whose table
 * is in the device's own code. Other code calls state.h, pool.h, statefile.h and crossing.h, which call these
 * functions.
 *
 * The host always has struct state itself with its tokens, length, flags and first pages. The functions below keep
 * length, first, logits_valid and broken as state.h says; all else belongs to the memory. A pool's states are of one
 * memory.
 *
 * Exactness: a copy has the same bits, and so has a state that is saved and loaded again in the same kind of memory
 * with the same key/value type.
 */
#ifndef TANDEM_STATE_MEMORY_H
#define TANDEM_STATE_MEMORY_H

#include "engine/state/crossing.h"
#include "engine/state/statefile.h"

struct state_memory {
    /* ---- States. TDM_E_NOMEM: no memory; TDM_E_IO: the device is lost. */

    /* A state without tokens, its contents undefined: it is cleared or copied over next. */
    tdm_status (*make)(struct state **out, struct pool *pool, tdm_error *err);
    void (*drop)(struct state *s);
    /* Makes s an empty state; a failure shows in the next pass. */
    void (*clear)(struct state *s);
    /* Another state of the same pool, not broken. On failure dst is unchanged, or broken where the device is lost. */
    tdm_status (*copy)(struct state *dst, const struct state *src, tdm_error *err);
    /* As state_begin_with, which copies the tokens itself. */
    void (*share)(struct state *dst, const struct state *src, uint32_t pages);
    /* n tokens fit into the context. */
    tdm_status (*make_room)(struct state *s, uint32_t n, tdm_error *err);
    /* As state_cut, to fewer tokens; NULL: states of this memory can't be cut. */
    tdm_status (*cut)(struct state *s, uint32_t length, tdm_error *err);
    uint32_t (*shared_pages)(const struct state *a, const struct state *b);
    tdm_status (*fill)(struct state *s, uint32_t length, uint64_t seed, tdm_error *err);
    /* The logits of the last token, which are valid, on the host: *out [vocab] until s changes. */
    tdm_status (*logits)(struct state *s, const float **out, tdm_error *err);
    /* To and from the bytes of statefile.h, with its errors. s is empty when load is called, and after its error. */
    tdm_status (*save)(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err);
    tdm_status (*load)(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err);
    /* As state_cross: from a state of the host's memory, and to one, whose tokens, logits and `broken` state_cross sets
     * itself. They fill in x->bytes; x->team, x->first and x->start are set. After an error the destination is
     * cleared. */
    tdm_status (*receive)(struct state *to, const struct state *host, struct crossing *x, tdm_error *err);
    tdm_status (*send)(const struct state *from, struct state *host, struct crossing *x, tdm_error *err);
    /* As state_cross between two pools of this memory whose states have one form (key/value types, order of value
     * heads). NULL: through the host. */
    tdm_status (*across)(struct state *to, const struct state *from, struct crossing *x, tdm_error *err);

    /* As crossing_link_ms. NULL: there is no link. */
    tdm_status (*link_ms)(struct state *s, uint64_t bytes, bool to_device, double *ms, tdm_error *err);

    /* ---- Pools. */

    /* A pool of the host's memory with the same shape. */
    struct pool *(*beside)(struct pool *p);

    tdm_status (*warm)(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err);
    struct pool_stats (*stats)(struct pool *p);
    void (*close)(struct pool *p); /* frees all but the struct itself */
};

extern const struct state_memory state_host_memory;

#endif
