/* Private to engine/gpu: a pass of one token in one dispatch (shaders/token.comp). The steps of such a pass, as
 * record.c has them, become a list of operations that a fixed number of workgroups goes through together, with barriers
 * between them: a barrier takes half the time of one between dispatches, and weights are loaded while it is waited for.
 * Products of the same activations are one operation.
 *
 * Workgroups that wait for each other must all run at once, which Vulkan does not promise. So a fused pass is used only
 * where that has been tried on this device, with the same shader and its shared memory, and workgroups stop waiting
 * after a bounded time. Everywhere else, and where a step is not among the operations, a pass is dispatched step by
 * step.
 */
#ifndef TANDEM_GPU_FUSED_H
#define TANDEM_GPU_FUSED_H

#include "engine/gpu/pass/pass.h"

enum fused_do { DO_EMBED, DO_PRODUCT, DO_HEADS, DO_ATTEND, DO_MERGE, DO_DELTA, DO_ACT, DO_BIAS, DO_ADDED, DO_CAP };
/* A product's mode where its activations were made by an operation before; else an act_mode. */
enum { MODE_MADE = ACT_MODES };

/* As token.comp reads it, in 64 words. */
struct fused_op {
    uint32_t what, barrier;
    uint32_t fresh;                  /* a product's activations are not those of the one before it */
    uint32_t x, z;                   /* workgroups of the step's shader; a product's: x is 1 where it makes logits */
    uint32_t kind, mode;             /* of weights; of activations */
    uint32_t start, segments, tiles; /* a product's: where its tiles begin in the round of workgroups; a power of two */
    uint32_t push[32];               /* the push constants of the step's shader */
    uint32_t more[3][6];             /* a product's further matrices: weights, result (addresses), tiles, rows */
    uint32_t ahead[3];               /* weights that the next operation reads: address, sectors of them */
    uint32_t unused;
};

struct fused {
    struct fused_op *ops;
    uint32_t n, room;
    uint32_t layers;             /* operations before those for logits */
    uint32_t lists, list_at;     /* lists that there are, one for each token of a submission; the one at work */
    uint32_t kinds, whats, modes; /* bits: of weights, of operations, of activations that there are */
    uint32_t normed, capped;      /* queries and keys are; their products are */
    uint32_t pool;               /* quads of shared memory */
    uint32_t tiles;              /* of products since the last barrier */
    bool unfit;                  /* a step is not among the operations */
    struct block list, counters; /* the lists one behind the other; see token.comp */
    VkPipeline pipeline;
    uint64_t runs, trouble; /* addresses: of the table, of the word that tells of a barrier waited for too long */
    uint32_t *troubled;     /* that word */
    uint32_t groups;        /* workgroups; 0: passes are dispatched step by step */
};

/* Makes the one of a model's passes with this scratch, and tries it. */
tdm_status fused_new(struct gpu_model *m, struct scratch *s, tdm_error *err);
void fused_free(struct fused *p, struct gpu *g); /* NULL is allowed */

/* Called by record_step for each step of a fused pass that is made. */
void fused_add(struct recording *r, bool barrier, enum shader shader, const uint32_t *constants, const void *push,
               uint32_t push_bytes, uint32_t x, uint32_t z);

/* Where a reply's token tells the next ones that nothing is to follow it. */
uint64_t fused_stopped(const struct fused *p);

/* The operations [first, end) of a list and a barrier; the commands of a pass, or of several for the tokens of a reply,
 * with what each leaves the MTP head. */
void fused_dispatch(struct gpu *g, VkCommandBuffer commands, const struct fused *p, uint32_t list, uint32_t first,
                    uint32_t end);
void fused_record(struct recording *r);
/* After a pass: TDM_E_IO, and the device is lost, when workgroups waited too long for each other. */
tdm_status fused_check(struct gpu_model *m, struct scratch *s, tdm_error *err);

#endif
