/* Private to engine/gpu: a device, its memory, its pipelines, and submissions.
 *
 * Shaders reach memory by addresses that they are given as push constants, so there are no descriptors. All work goes
 * to one queue; barriers order it, across submissions too: threads may submit while others wait. Functions that can
 * fail return a tdm_status; the first failure that is not for want of memory makes the device lost.
 */
#ifndef TANDEM_GPU_DEVICE_H
#define TANDEM_GPU_DEVICE_H

#include <pthread.h>

#include "engine/gpu/gpu.h"
#include "engine/gpu/pack.h"
#include "engine/gpu/vulkan.h"

enum block_use {
    BLOCK_DEVICE, /* the device's memory, or the host's where it has no more */
    BLOCK_TABLE,  /* written by the host, read by shaders */
    BLOCK_UPLOAD, /* written by the host, copied from */
    BLOCK_READ,   /* copied to, read by the host */
};

/* A buffer with memory of its own. */
struct block {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t bytes, address;
    void *mapped; /* NULL: the host doesn't see it */
};

enum shader {
    SHADER_EMBED,
    SHADER_ACT,
    SHADER_MATMUL,
    SHADER_MATRIX,
    SHADER_TILE,
    SHADER_HEADS,
    SHADER_ATTEND,
    SHADER_MERGE,
    SHADER_CONV,
    SHADER_DELTA,
    SHADER_DELTAS,
    SHADER_CHOOSE,
    SHADER_MIX,
    SHADER_READ,
    SHADER_TOKEN,
    SHADER_NORM,
    SHADER_BEST,
    SHADERS
};
extern const struct shader_code {
    const char *name;
    const uint32_t *words;
    size_t bytes;
} shader_codes[SHADERS];

enum { MOST_CONSTANTS = 12, PUSH_BYTES = 128 };

/* A shader with its specialisation constants. */
struct pipeline {
    enum shader shader;
    uint32_t constants[MOST_CONSTANTS];
    VkPipeline handle;
};

enum { MOST_PIPELINES = 512 };

/* Matrix units that multiply int8, M x K by K x N (wide.h). */
struct matrix_units {
    uint32_t m, n, k; /* 0: none that suit */
    uint32_t lanes;   /* of a subgroup, which does one such product */
    char line[120];   /* gpu_matrix_units */
};

/* How products with matrices of one shape are cut, for numbers of tokens up to each of wide.c's sizes. */
enum { CHOICE_SIZES = 5, MOST_CHOICES = 256 };
struct choice {
    enum weight_kind kind;
    uint32_t tiles, chunks;
    bool whole;                /* all was measured */
    uint8_t way[CHOICE_SIZES]; /* 1: the first of gpu_ways; 0: by matmul.comp */
};

struct gpu {
    struct vulkan vk;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkCommandPool pool;
    VkFence fence;
    VkPipelineLayout layout;
    VkPhysicalDeviceMemoryProperties memory;
    struct gpu_info info;
    uint64_t slice; /* bytes of a matrix in one piece */
    struct gpu_tuning tuning;
    bool statistics;       /* of pipelines are kept by the driver (gpu_measure_pipelines) */
    uint32_t shared_bytes; /* shared memory of a workgroup */
    struct matrix_units matrix;
    enum wide_proof { WIDE_UNTRIED, WIDE_TAKEN, WIDE_DIFFERS } wide[WEIGHT_KINDS];
    uint32_t wide_ways[WEIGHT_KINDS]; /* those of gpu_ways that gave the right bits, bit by bit */
    struct choice choices[MOST_CHOICES];
    uint32_t n_choices;
    uint32_t cores; /* that run workgroups beside each other; 0: not known */
    float tick_ns;  /* of timestamps */
    struct pipeline pipelines[MOST_PIPELINES];
    uint32_t n_pipelines;
    struct block upload; /* staging memory, made when first needed */
    struct block read;
    VkCommandBuffer once; /* of copies */
    _Atomic uint64_t used;
    pthread_mutex_t lock; /* of everything above and of what lies on the device; recursive */
    atomic_bool lost;
    char lost_line[300];  /* written once, before `lost` is */
    atomic_int in_flight; /* submissions that are waited for */
    _Atomic uint32_t complaints;
    char first_complaint[400];
};

void device_lock(const struct gpu *g);
void device_unlock(const struct gpu *g);

/* The status for a failed call, with a line; anything but want of memory makes the device lost. */
tdm_status device_failed(struct gpu *g, VkResult result, const char *call, tdm_error *err);
/* TDM_E_IO when the device is lost. */
tdm_status device_check(struct gpu *g, tdm_error *err);

tdm_status block_new(struct block *out, struct gpu *g, enum block_use use, uint64_t bytes, tdm_error *err);
void block_free(struct block *b, struct gpu *g); /* a zero block is allowed */

/* TDM_E_UNSUPPORTED: the driver fails to compile SHADER_MATRIX or SHADER_TILE, in whose place
 * SHADER_MATMUL may be taken. */
tdm_status device_pipeline(VkPipeline *out, struct gpu *g, enum shader shader, const uint32_t *constants, uint32_t n,
                           tdm_error *err);

tdm_status device_commands(VkCommandBuffer *out, struct gpu *g, tdm_error *err);
tdm_status device_begin(struct gpu *g, VkCommandBuffer commands, bool once, tdm_error *err);
tdm_status device_end(struct gpu *g, VkCommandBuffer commands, tdm_error *err);
/* All before is done, and seen, before what follows: shaders, copies, and the host's reading. */
void device_barrier(struct gpu *g, VkCommandBuffer commands);
tdm_status device_fence(VkFence *out, struct gpu *g, tdm_error *err);
/* Submits, with the lock; the fence tells when it is done, and all that was submitted before. */
tdm_status device_submit(struct gpu *g, VkFence fence, const VkCommandBuffer *commands, uint32_t n, tdm_error *err);
/* Waits for it, with or without the lock. likely: when it is done, by clock_ns(), if that is known, else 0. */
tdm_status device_wait(struct gpu *g, VkFence fence, int64_t likely, tdm_error *err);
/* Submits and waits. */
tdm_status device_run(struct gpu *g, const VkCommandBuffer *commands, uint32_t n, tdm_error *err);

/* Copies through staging memory, and waits. */
tdm_status device_write(struct gpu *g, const struct block *to, uint64_t at, const void *data, uint64_t bytes,
                        tdm_error *err);
tdm_status device_read(struct gpu *g, const struct block *from, uint64_t at, void *data, uint64_t bytes,
                       tdm_error *err);
tdm_status device_clear(struct gpu *g, const struct block *b, tdm_error *err);

/* Some copies in one submission. */
struct copy {
    const struct block *from, *to;
    uint64_t from_at, to_at, bytes;
};
tdm_status device_copy(struct gpu *g, const struct copy *copies, uint32_t n, tdm_error *err);

#endif
