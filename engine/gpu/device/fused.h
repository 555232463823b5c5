/* Private to engine/gpu: a pass of one token in one dispatch (shaders/token.comp). The steps of such a pass, which
 * record.c records otherwise, become a list of operations. A fixed number of workgroups executes it together, with
 * barriers between operations: such a barrier takes half the time of one between dispatches, and workgroups load
 * weights while they wait. Products of the same activations are one operation.
 *
 * Workgroups that wait for each other must all run at once, which Vulkan does not promise. So a fused pass is used only
 * after a successful trial on this device with the same shader and amount of shared memory, and workgroups stop waiting
 * after a bounded time. Otherwise, or if a step is not among the operations, a pass is dispatched step by step.
 */
#ifndef TANDEM_GPU_FUSED_H
#define TANDEM_GPU_FUSED_H

#include "engine/gpu/pass/pass.h"

enum fused_do { DO_EMBED, DO_PRODUCT, DO_HEADS, DO_ATTEND, DO_MERGE, DO_DELTA, DO_ACT, DO_BIAS, DO_ADDED, DO_CAP };
/* The mode of a product whose activations an earlier operation made; otherwise the mode is an act_mode. */
enum { MODE_MADE = ACT_MODES };

/* As token.comp reads it, in 64 words. */
struct fused_op {
    uint32_t what, barrier;
    uint32_t fresh;                  /* the product's activations differ from those of the product before it */
    uint32_t x, z;                   /* workgroups of the step's shader; of a product: x is 1 if it makes logits */
    uint32_t kind, mode;             /* kind of weights; mode of activations */
    uint32_t start, segments, tiles; /* of a product: its first tile's place in the round of teams; the exponent of a
                                        power of two */
    uint32_t push[32];               /* the push constants of the step's shader */
    uint32_t more[3][6];             /* a product's further matrices: weights, result (addresses), tiles, rows */
    uint32_t ahead[3];               /* weights that the next operation reads: address and number of sectors */
    uint32_t unused;
};

struct fused {
    struct fused_op *ops;
    uint32_t n, room;
    uint32_t layers;             /* operations before those for logits */
    uint32_t lists, list_at;     /* number of lists, one for each token of a submission; the list that is being made */
    uint32_t kinds, whats, modes; /* bits of the kinds of weights, operations and activations in use */
    uint32_t normed, capped;      /* queries and keys are normalised; their products are capped */
    uint32_t pool;               /* quads of shared memory */
    uint32_t tiles;              /* tiles of products since the last barrier */
    bool unfit;                  /* a step is not among the operations */
    struct block list, counters; /* the lists, one after the other; see token.comp */
    VkPipeline pipeline;
    uint64_t runs, trouble; /* addresses of the table, and of a word that is set when a barrier takes too long */
    uint32_t *troubled;     /* that word */
    uint32_t groups;        /* workgroups; 0: passes are dispatched step by step */
};

/* Makes s->fused for a model's passes with this scratch, and tries it. */
tdm_status fused_new(struct gpu_model *m, struct scratch *s, tdm_error *err);
void fused_free(struct fused *p, struct gpu *g); /* NULL is allowed */

/* record_step calls it for each step while a fused pass is made. */
void fused_add(struct recording *r, bool barrier, enum shader shader, const uint32_t *constants, const void *push,
               uint32_t push_bytes, uint32_t x, uint32_t z);

/* Address of the word by which a reply's token tells the following ones not to run. */
uint64_t fused_stopped(const struct fused *p);

/* fused_dispatch records the operations [first, end) of a list and a barrier. fused_record records a pass, or several
 * for the tokens of a reply, each with its rows for the MTP head. */
void fused_dispatch(struct gpu *g, VkCommandBuffer commands, const struct fused *p, uint32_t list, uint32_t first,
                    uint32_t end);
void fused_record(struct recording *r);
/* After a pass: TDM_E_IO, and the device is lost, when workgroups waited too long for each other. */
tdm_status fused_check(struct gpu_model *m, struct scratch *s, tdm_error *err);

#endif
