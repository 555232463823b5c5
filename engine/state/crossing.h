/* Crossing: copies a state to another memory, or to a pool with other types or another order of value heads. The
 * contents are copied directly and converted on the way, without encoding or checksum. The bits are the same as by
 * statefile.h for the same two pools.
 *
 * Full pages never change, so they may cross before the rest: `kept` says how many `to` has. If a team is given, its
 * threads share the work.
 *
 * Threads: `to` belongs to the caller alone, and `from` must not change meanwhile.
 */
#ifndef TANDEM_STATE_CROSSING_H
#define TANDEM_STATE_CROSSING_H

#include "engine/state/state.h"
#include "engine/thread/team.h"

struct crossing {
    struct team *team; /* NULL: the caller alone */
    uint32_t kept;     /* the first full pages of `to`, which are those of `from` */
    bool sealed;       /* copy full pages alone: `to` is broken then, has their tokens, and may be crossed to again */
    uint64_t bytes;    /* out: bytes written to the other memory */
    /* for each kind of pages, filled in by state_cross: the first page that `to` has afterwards, and the first that is
     * copied; those before that stay */
    uint32_t first[STATE_PAGES], start[STATE_PAGES];
};

/* Makes `to` equal to `from`, which is not broken; the models' shapes are equal (state_shape_equal). TDM_E_CONTEXT:
 * more tokens than `to` holds; TDM_E_NOMEM, TDM_E_IO: a device is lost. After an error `to` is empty. */
tdm_status state_cross(struct state *to, const struct state *from, struct crossing *x, tdm_error *err);

/* Milliseconds of copying this many bytes between the host and the memory of s, without converting them; 0: the state
 * is in the host's memory, or the host can access the device's. After a copy to its device the contents of s are
 * undefined. */
tdm_status crossing_link_ms(struct state *s, uint64_t bytes, bool to_device, double *ms, tdm_error *err);

/* ---- For memories ------------------------------------------------------------------------------------------------
 * A state of the host's memory, page by page and head by head, in the plain order (kernel.h) that devices take. */

/* Makes room in the destination `host`, as x says. Then it is broken, and has the length of the copied part. */
tdm_status crossing_prepare(struct state *host, const struct state *from, uint32_t entries, const struct crossing *x,
                            tdm_error *err);
/* How many tokens are copied: all, or those of full pages. */
uint32_t crossing_length(const struct state *from, const struct crossing *x);

/* Reads and writes the block of one layer and head in a page of a kind, which has [layer][KV head] keys, then values,
 * of a type. */
void crossing_take_block(const struct state *host, uint32_t kind, uint32_t index, uint32_t block, enum kv_type type,
                         void *plain);
void crossing_give_block(struct state *host, uint32_t kind, uint32_t index, uint32_t block, enum kv_type type,
                         const void *plain);
/* The recurrent state [key dim][value dim] of a head of a layer, with the number that it has in a model of shape
 * `other`. */
void crossing_take_head(const struct state *host, uint32_t layer, const struct state_shape *other, uint32_t head,
                        float *plain);
void crossing_give_head(struct state *host, uint32_t layer, const struct state_shape *other, uint32_t head,
                        const float *plain);
/* The inputs [taps-1][channels] of a layer's convolution, likewise. */
void crossing_take_conv(const struct state *host, uint32_t layer, const struct state_shape *other, float *plain);
void crossing_give_conv(struct state *host, uint32_t layer, const struct state_shape *other, const float *plain);

/* state_host_memory's. */
tdm_status crossing_host_receive(struct state *to, const struct state *host, struct crossing *x, tdm_error *err);

#endif
