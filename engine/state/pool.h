/* The memory of states: pages of keys and values, and buffers for everything else that a state holds.
 *
 * A pool serves the states of one model shape, key/value type and context. They lie in the host's memory, for one
 * kernel set, or in that of a device (memory.h); what follows describes the host's. Its blocks are recycled and were
 * touched when they joined the pool, so that a dispatch, a fork or a hand-over causes no page faults if pool_warm was
 * called in time; a pool without free blocks grows, which costs page faults but is not an error.
 *
 *   page    KV_PAGE positions of one kind of layers (shape.h): for every layer and KV head a block of keys and a
 *           block of values (struct kernels, kv_block_bytes). Reference-counted. A full page is *sealed*: while it is
 *           shared it is not written to, and every thread may read it without a lock. The partial page belongs to one
 *           state. Where the model has an MTP head, its keys and values are in pages of one kind more.
 *   buffer  the rest of a state at fixed offsets: struct state, token ids, page pointers, recurrent states,
 *           convolution states, logits, rows that wait for the MTP head.
 *
 * Threads: every function is safe from any thread, except pool_free, which must come last.
 */
#ifndef TANDEM_STATE_POOL_H
#define TANDEM_STATE_POOL_H

#include "engine/kernel/kernel.h"
#include "engine/state/shape.h"
#include "engine/tandem.h"

#include <stdatomic.h>

struct page {
    _Atomic uint32_t references;
    unsigned char data[] __attribute__((aligned(64)));
};

struct pool;

/* Opens an empty pool; context is the maximum number of tokens in a state. The kernels must outlive it. */
tdm_status pool_new(struct pool **out, const struct state_shape *shape, const struct kernels *kernels, enum kv_type kv,
                    uint32_t context, tdm_error *err);
/* Call it after freeing all states of the pool. NULL is allowed. */
void pool_free(struct pool *p);

/* The properties of the states of a pool in a device's memory. */
struct pool_form {
    const struct state_shape *shape; /* copied */
    enum kv_type kv;
    uint32_t context;
    size_t page_bytes[STATE_PAGES], buffer_bytes; /* of a page of each kind; of the rest of a state */
};
struct state_memory;
/* Opens a pool whose states are in `memory`. `device` (pool_device) is used by that memory alone, whose function
 * `close` frees it; on failure it stays the caller's. */
tdm_status pool_new_device(struct pool **out, const struct state_memory *memory, void *device,
                           const struct pool_form *form, tdm_error *err);
void *pool_device(const struct pool *p);

const struct state_shape *pool_shape(const struct pool *p);
const struct kernels *pool_kernels(const struct pool *p); /* NULL: its states are not in the host's memory */
enum kv_type pool_kv(const struct pool *p);
uint32_t pool_context(const struct pool *p);
uint32_t pool_kinds(const struct pool *p);    /* of pages: those of the shape and, where there is one, the MTP head's */
size_t pool_page_bytes(const struct pool *p); /* of a page of each kind together */
size_t pool_kind_bytes(const struct pool *p, uint32_t kind);
size_t pool_buffer_bytes(const struct pool *p);
/* Bytes of the pages of a state of this many tokens. */
uint64_t pool_held_bytes(const struct pool *p, uint32_t tokens);

/* Grows the pool until it has at least this many free pages of each kind, and buffers, already touched; call it while
 * no turn waits. */
tdm_status pool_warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err);

/* Gives the memory of free pages and buffers back to the system; the next caller that takes one waits for the system.
 * Returns the bytes; 0 if the states are in a device's memory. */
uint64_t pool_give_back(struct pool *p);

struct pool_stats {
    uint32_t pages, free_pages; /* of the kind of layers that has the fewest free ones; without any: UINT32_MAX */
    uint32_t buffers, free_buffers;
    uint64_t bytes; /* of memory taken from the system and not given back */
};
struct pool_stats pool_stats(struct pool *p);

/* ---- Of the host's memory only ----------------------------------------------------------------------------------- */

/* A page with one reference, contents undefined; NULL: no memory. */
struct page *pool_take_page(struct pool *p, uint32_t kind);
void page_hold(struct page *page); /* one reference more */
bool page_is_shared(const struct page *page);
/* Drops a reference; with the last one the page is free. */
void pool_drop_page(struct pool *p, uint32_t kind, struct page *page);
/* Copies a page's contents. */
void pool_copy_page(const struct pool *p, uint32_t kind, struct page *to, const struct page *from);

/* Where a page of a kind keeps the block of keys, and of values, of a head of the i-th layer of the kind. */
void *pool_keys(const struct pool *p, uint32_t kind, const struct page *page, uint32_t layer, uint32_t kv_head);
void *pool_values(const struct pool *p, uint32_t kind, const struct page *page, uint32_t layer, uint32_t kv_head);

#endif
