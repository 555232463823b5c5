/* The experts of a mixture: the packed gate, up and down matrices of each, all in memory or as many as a budget allows.
 *
 * If all are in memory, a lease costs nothing. With a budget there is a cache of slots, one expert each. A pass leases
 * the experts that its router chose; its team reads the missing ones from the source and packs them into the least
 * recently used slots. A leased slot is not reused. A pass that does not get all its experts at once works in waves: it
 * never waits while it holds a lease, so two units cannot deadlock. An expert that could not be read has no slot
 * afterwards: a pass that needs it reads it anew.
 *
 *     n = experts_lease(e, layer, leases, count)       at least one is held; n of the held ones have to be loaded:
 *     experts_load(e, layer, lease, tile, scratch)     each of their tiles, by any member
 *     experts_loaded(e, leases, count)                 waits for those that other passes load
 *     ... products ...
 *     experts_release(e, leases, count)
 *
 * Threads: experts_lease, experts_loaded and experts_release may be called by several passes at once; one member each.
 */
#ifndef TANDEM_FORWARD_EXPERTS_H
#define TANDEM_FORWARD_EXPERTS_H

#include "engine/kernel/kernel.h"
#include "engine/model/source.h"

enum expert_part { EXPERT_GATE, EXPERT_UP, EXPERT_DOWN, EXPERT_PARTS };
extern const enum role experts_roles[EXPERT_PARTS];

/* The shapes and the memory layout of an expert of one layer. */
struct expert_form {
    struct matrix part[EXPERT_PARTS]; /* without data */
    size_t offset[EXPERT_PARTS];      /* of each part's data in the expert's memory */
    size_t bytes;                     /* of one expert */
    uint32_t tiles;                   /* of MATRIX_TILE rows, of all parts */
};

struct expert_lease {
    uint32_t expert;
    bool held, load; /* load: the holder of the lease has to load it */
    bool done;       /* for the caller: it was held and released */
    uint32_t place; /* the slot */
    unsigned char *data;
};

/* For tests of the cache. */
struct experts_stats {
    uint64_t leases, loads; /* experts leased; experts read from the source */
    uint64_t loaded_bytes;  /* as packed */
};

struct experts;

/* budget: bytes for packed experts; 0: all of them. With a budget the source must outlive the experts. A budget too
 * small for the experts of one token is TDM_E_NOMEM. Nothing is loaded yet. */
tdm_status experts_new(struct experts **out, const struct source *source, const struct kernels *kernels,
                       uint64_t budget, tdm_error *err);
void experts_free(struct experts *e); /* NULL is allowed */

const struct expert_form *experts_form(const struct experts *e, uint32_t layer);
bool experts_resident(const struct experts *e);      /* all in memory */
uint64_t experts_bytes(const struct experts *e);     /* of memory */
const unsigned char *experts_memory(const struct experts *e);
uint64_t experts_all_bytes(const struct experts *e); /* of all experts, packed */
uint32_t experts_held(const struct experts *e);      /* experts per layer that are loaded at first */
size_t experts_scratch(const struct experts *e);     /* bytes of scratch that experts_load takes */
struct experts_stats experts_stats(struct experts *e);

/* Part `part` of the expert whose data this is. */
static inline struct matrix experts_matrix(const struct expert_form *f, const unsigned char *data,
                                           enum expert_part part)
{
    struct matrix m = f->part[part];
    m.data = (void *)(uintptr_t)(data + f->offset[part]);
    return m;
}

/* Takes as many of the leases that are neither held nor done as there are slots for, and waits until there is one.
 * Tells the system which rows will be read. Returns how many of the held leases have to be loaded. */
uint32_t experts_lease(struct experts *e, uint32_t layer, struct expert_lease *leases, uint32_t n);
/* Reads and packs tile `tile` (below form->tiles) of a lease that has to be loaded. TDM_E_IO: the model's file has
 * become shorter, or can't be read. */
tdm_status experts_load(const struct experts *e, uint32_t layer, const struct expert_lease *lease, uint32_t tile,
                        unsigned char *scratch, tdm_error *err);
/* To be called when all tiles have been loaded; waits until the experts that other passes load are there too. failed:
 * the error of experts_load for one of the tiles, after which none of these experts counts as loaded; NULL: none.
 * Returns that error, or the one of another pass that loaded them. */
tdm_status experts_loaded(struct experts *e, const struct expert_lease *leases, uint32_t n, const tdm_error *failed,
                          tdm_error *err);
/* Ends the leases that are held; they are done. */
void experts_release(struct experts *e, struct expert_lease *leases, uint32_t n);

#endif
