/* The experts of a mixture: the packed gate, up and down matrices of each, all in memory or as many as a budget holds.
 *
 * All in memory, a lease costs nothing. With a budget they live in a cache of places, one expert each: a pass leases
 * the experts that its router chose, those that are missing are read from the source and packed by the pass's team into
 * the places of the least recently used, and a place is not given to another while a lease of it is out. A pass that
 * does not get all that it wants works in waves: it never waits while it holds a lease, so two units can't block each
 * other.
 *
 *     n = experts_lease(e, layer, leases, count)       at least one is held; experts_load for the parts of those to be
 * loaded experts_loaded(e, leases, count)                 waits for what another pass loads
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

/* What each expert of one layer looks like. */
struct expert_form {
    struct matrix part[EXPERT_PARTS]; /* without data */
    size_t offset[EXPERT_PARTS];      /* of each part's data in the expert's memory */
    size_t bytes;                     /* of one expert */
    uint32_t tiles;                   /* of MATRIX_TILE rows, of all parts */
};

struct expert_lease {
    uint32_t expert;
    bool held, load; /* load: it has to be loaded by who holds the lease */
    bool done;       /* the caller's: it was held and is no longer wanted */
    uint32_t place;
    unsigned char *data;
};

/* For tests of the cache. */
struct experts_stats {
    uint64_t leases, loads; /* experts leased; of them read from the source */
    uint64_t loaded_bytes;  /* as packed */
};

struct experts;

/* budget: bytes for packed experts; 0: all of them. The source must outlive the experts where there is a budget. Too
 * small a budget for a token's experts is TDM_E_NOMEM. Nothing is loaded yet. */
tdm_status experts_new(struct experts **out, const struct source *source, const struct kernels *kernels,
                       uint64_t budget, tdm_error *err);
void experts_free(struct experts *e); /* NULL is allowed */

const struct expert_form *experts_form(const struct experts *e, uint32_t layer);
bool experts_resident(const struct experts *e);      /* all in memory */
uint64_t experts_bytes(const struct experts *e);     /* of memory */
const unsigned char *experts_memory(const struct experts *e);
uint64_t experts_all_bytes(const struct experts *e); /* of all experts, packed */
uint32_t experts_held(const struct experts *e);      /* so many of each layer are loaded at first */
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

/* Holds as many of the leases that are neither held nor done as there is room for, waiting until there is for one.
 * Tells the system what will be read. Returns how many of those held have to be loaded. */
uint32_t experts_lease(struct experts *e, uint32_t layer, struct expert_lease *leases, uint32_t n);
/* Reads and packs tile `tile` (below form->tiles) of a lease that has to be loaded. */
void experts_load(const struct experts *e, uint32_t layer, const struct expert_lease *lease, uint32_t tile,
                  unsigned char *scratch);
/* All tiles of those leases are there; waits until those that others load are, too. */
void experts_loaded(struct experts *e, uint32_t layer, const struct expert_lease *leases, uint32_t n);
/* Ends the leases that are held; they are done. */
void experts_release(struct experts *e, struct expert_lease *leases, uint32_t n);

#endif
