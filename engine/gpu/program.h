/* Private to engine/gpu: a pass of one token in one dispatch (shaders/token.comp). The steps of such a pass, as
 * record.c has them, become a list of operations that a fixed number of workgroups goes through together, with barriers
 * between them: a barrier takes half the time of one between dispatches, and weights are loaded while it is waited for.
 * Products of the same activations are one operation.
 *
 * Workgroups that wait for each other must all run at once, which Vulkan promises nobody. So a program is used only
 * where that has been tried on this device, with the very shader and its shared memory, and where it is given up after
 * a bounded time; everywhere else, and where a step is not among the operations, a pass is dispatched step by step.
 */
#ifndef TANDEM_GPU_PROGRAM_H
#define TANDEM_GPU_PROGRAM_H

#include "engine/gpu/pass.h"

enum program_do { DO_EMBED, DO_PRODUCT, DO_HEADS, DO_ATTEND, DO_MERGE, DO_DELTA, DO_ACT };
/* A product's mode where its activations were made by an operation before; else an act_mode. */
enum { MODE_MADE = ACT_GATED_NORM + 1 };

/* As token.comp reads it, in 64 words. */
struct program_op {
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

struct program {
    struct program_op *ops;
    uint32_t n, room;
    uint32_t layers;             /* operations before those for logits */
    uint32_t lists, list_at;     /* lists that there are, one for each token of a submission; the one at work */
    uint32_t kinds, whats;       /* bits: of weights and of operations that there are */
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
tdm_status program_new(struct gpu_model *m, struct scratch *s, tdm_error *err);
void program_free(struct program *p, struct gpu *g); /* NULL is allowed */

/* Called by record_step for each step of a program that is made. */
void program_add(struct recording *r, bool barrier, enum shader shader, const uint32_t *constants, const void *push,
                 uint32_t push_bytes, uint32_t x, uint32_t z);

/* Where a reply's token tells the next ones that nothing is to follow it. */
uint64_t program_stopped(const struct program *p);

/* The operations [first, end) of a list and a barrier; the commands of a pass, or of several for the tokens of a reply,
 * with what each leaves the MTP head. */
void program_dispatch(struct gpu *g, VkCommandBuffer commands, const struct program *p, uint32_t list, uint32_t first,
                      uint32_t end);
void program_record(struct recording *r);
/* After a pass: TDM_E_IO, and the device is lost, when workgroups waited too long for each other. */
tdm_status program_check(struct gpu_model *m, struct scratch *s, tdm_error *err);

#endif
