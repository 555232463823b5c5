/* Private to engine/gpu: a device, its memory, its pipelines, and submissions.
 *
 * Shaders reach memory by addresses that they are given as push constants, so there are no descriptors. All work goes
 * to one queue; barriers order it, across submissions too: threads may submit while others wait. Only ports
 * (pass/port.c) use another queue, if the device has one for copies alone. There the caller keeps the order: it waits
 * for all work that touched the memory before, and waits for the port before any other work touches it. Functions that
 * can fail return a tdm_status; the first failure other than a lack of memory makes the device lost.
 *
 * Threads: any, unless it says `with the lock`. The device's lock is held for one submission at most and goes to
 * threads in the order in which they ask (ticket_lock.h), so a reply's token and a thread that reads a state wait for
 * one submission of each other thread, even while a model is loaded. Longer work does not need the lock: compiling,
 * allocating a model's memory, recording a pass (into its scratch's own pool), waiting for a pass, packing and copying
 * weights (through a lane). A loader reports its progress while it holds no lock of this folder. Locks are taken in
 * this order: a scratch's `busy`, `trying`, `allocating`, the lock.
 */
#ifndef TANDEM_GPU_DEVICE_H
#define TANDEM_GPU_DEVICE_H

#include <pthread.h>

#include "engine/gpu/device/vulkan.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/pass/pack.h"
#include "engine/thread/ticket_lock.h"

enum block_use {
    BLOCK_DEVICE, /* the device's memory, or the host's when that is full */
    BLOCK_STATE,  /* the same; if host and device share one memory, the host can access it, cached */
    BLOCK_TABLE,  /* written by the host, read by shaders */
    BLOCK_UPLOAD, /* written by the host, copied from */
    BLOCK_READ,   /* copied to, read by the host */
};

/* A buffer with memory of its own. */
struct block {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t bytes, address;
    void *mapped; /* NULL: the host can't access it */
};

enum shader {
    SHADER_EMBED,
    SHADER_BIAS,
    SHADER_ADDED,
    SHADER_CAP,
    SHADER_BESIDE,
    SHADER_INPUTS,
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
    SHADER_GROUP,
    SHADER_MIX,
    SHADER_READ,
    SHADER_TOKEN,
    SHADER_NORM,
    SHADER_TOPK,
    SHADER_VISION_PATCHES,
    SHADER_VISION_POSITIONS,
    SHADER_VISION_NORM,
    SHADER_VISION_PRODUCT,
    SHADER_VISION_PRODUCT_UNITS,
    SHADER_VISION_ROPE,
    SHADER_VISION_ATTEND,
    SHADER_VISION_ATTEND_UNITS,
    SHADERS
};
extern const struct shader_code {
    const char *name;
    const uint32_t *words;
    size_t bytes;
} shader_codes[SHADERS];

enum { MAX_CONSTANTS = 16, PUSH_BYTES = 128 };

/* A shader with its specialisation constants. */
struct pipeline {
    enum shader shader;
    uint32_t constants[MAX_CONSTANTS];
    VkPipeline handle;
};

enum { MAX_PIPELINES = 512 };

/* Matrix units that multiply M x K by K x N (gemm.h). */
struct matrix_units {
    uint32_t m, n, k; /* 0: no suitable ones */
    uint32_t lanes;   /* lanes of a subgroup, which computes one such product */
};

/* How products with matrices of one shape are tiled, for numbers of tokens up to each of gemm.c's sizes. */
enum { CHOICE_SIZES = 5, MAX_CHOICES = 256 };
struct choice {
    enum weight_kind kind;
    uint32_t tiles, chunks;
    bool whole;                /* all sizes were measured */
    uint8_t variant[CHOICE_SIZES]; /* 1: the first of gpu_variants; 0: by matmul.comp */
};

/* Products of many tokens: their matrix units and their tilings (gemm.h). */
struct products {
    struct matrix_units units;  /* for int8 */
    struct matrix_units halves; /* for half floats with sums in floats: only pictures use them (vision/) */
    char line[120];             /* gpu_matrix_units */
    enum gemm_proof { GEMM_UNTRIED, GEMM_TAKEN, GEMM_DIFFERS } proof[WEIGHT_KINDS];
    uint32_t variants[WEIGHT_KINDS];        /* a bit for each of gpu_variants that gave the right bits */
    uint32_t expert_variants[WEIGHT_KINDS]; /* likewise with the rows of experts, if that was tried */
    bool experts_tried[WEIGHT_KINDS];
    struct choice choices[MAX_CHOICES];
    uint32_t n_choices;
    pthread_mutex_t trying; /* only one thread at a time tries and measures them; to change `proof` takes the device's
                               lock too */
};

/* Device memory, and how much of it is allocated. */
struct device_memory {
    VkPhysicalDeviceMemoryProperties types;
    bool tells_budget; /* VK_EXT_memory_budget */
    _Atomic uint64_t used;
    _Atomic uint64_t promised;  /* bytes reserved for states of models and not taken yet */
    pthread_mutex_t allocating; /* held while a model checks for free memory and allocates it */
};

/* The device's failures and the lines of its validation layer. */
struct faults {
    atomic_bool lost;
    char lost_line[300]; /* written once, before `lost` is */
    _Atomic uint32_t messages;
    char first_message[400];
};

struct gpu {
    struct vulkan vk;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue, carrying; /* carrying: for ports; the same queue if the device has no other */
    uint32_t family, carrying_family;
    VkCommandPool pool;
    VkFence fence;
    VkPipelineLayout layout;
    struct gpu_info info;
    uint64_t slice; /* bytes of a matrix in one piece */
    struct gpu_tuning tuning;
    bool statistics;       /* the driver keeps statistics of pipelines (gpu_measure_pipelines) */
    uint32_t shared_bytes; /* shared memory of a workgroup */
    uint32_t cores;        /* processors that run workgroups in parallel; 0: unknown */
    float tick_ns;         /* of timestamps */
    struct products products;
    struct pipeline pipelines[MAX_PIPELINES];
    uint32_t n_pipelines;
    struct device_memory memory;
    struct block upload; /* staging memory, made when first needed */
    struct block read;
    VkCommandBuffer once; /* of copies */
    /* Guards the queue, all members above that change after opening, and models' free pages and buffers. */
    struct ticket_lock lock;
    atomic_int in_flight; /* submissions for which threads wait */
    struct faults faults;
};

void device_lock(const struct gpu *g);
void device_unlock(const struct gpu *g);

/* The status for a failed call, with a line; any failure but a lack of memory makes the device lost. */
tdm_status device_failed(struct gpu *g, VkResult result, const char *call, tdm_error *err);
/* TDM_E_IO when the device is lost. */
tdm_status device_check(struct gpu *g, tdm_error *err);

tdm_status block_new(struct block *out, struct gpu *g, enum block_use use, uint64_t bytes, tdm_error *err);
void block_free(struct block *b, struct gpu *g); /* a zero block is allowed */

/* Bytes of device memory that the driver would still give this program; UINT64_MAX: unknown. */
uint64_t device_free_memory(const struct gpu *g);

/* A pipeline, compiled without the lock at first use; if two threads need the same one at once, both compile it, and
 * one result is kept. TDM_E_UNSUPPORTED: the driver fails to compile a shader that another can replace: those for
 * matrix units, and SHADER_TILE. */
tdm_status device_pipeline(VkPipeline *out, struct gpu *g, enum shader shader, const uint32_t *constants, uint32_t n,
                           tdm_error *err);

/* One thread at a time uses a pool and the command buffers from it; for g->pool, the holder of the lock. */
tdm_status device_pool(VkCommandPool *out, struct gpu *g, uint32_t family, tdm_error *err);
tdm_status device_commands(VkCommandBuffer *out, struct gpu *g, VkCommandPool pool, tdm_error *err);
tdm_status device_begin(struct gpu *g, VkCommandBuffer commands, bool once, tdm_error *err);
tdm_status device_end(struct gpu *g, VkCommandBuffer commands, tdm_error *err);
/* Orders and makes visible all earlier work before all later work: shaders, copies, and the host's reading. */
void device_barrier(struct gpu *g, VkCommandBuffer commands);
/* Makes copies visible to the host; for any queue. */
void device_land(struct gpu *g, VkCommandBuffer commands);
tdm_status device_fence(VkFence *out, struct gpu *g, tdm_error *err);
/* Submits; the fence is signalled when this and all earlier submissions are done. */
struct start {
    int64_t at; /* by clock_ns(), when it was submitted */
    bool alone; /* nothing else was running except `own` submissions of the same pass */
};
tdm_status device_start(struct start *out, struct gpu *g, VkFence fence, const VkCommandBuffer *commands, uint32_t n,
                        uint32_t own, tdm_error *err);
/* Submits to `carrying`; device_finish waits for it. */
tdm_status device_carry(struct gpu *g, VkFence fence, VkCommandBuffer commands, tdm_error *err);
/* Waits for a submission. likely: its expected end by clock_ns(); 0: unknown. */
tdm_status device_finish(struct gpu *g, VkFence fence, int64_t likely, tdm_error *err);
/* Submits and waits, with g->fence, and with the lock. */
tdm_status device_run(struct gpu *g, const VkCommandBuffer *commands, uint32_t n, tdm_error *err);
/* With the lock: waits for all submissions of other threads, except those to `carrying`. While the lock is held, no
 * pass runs beside the next submissions. */
tdm_status device_settle(struct gpu *g, tdm_error *err);

/* Copies through staging memory, and waits; the lock is taken for each piece. */
tdm_status device_write(struct gpu *g, const struct block *to, uint64_t at, const void *data, uint64_t bytes,
                        tdm_error *err);
tdm_status device_read(struct gpu *g, const struct block *from, uint64_t at, void *data, uint64_t bytes,
                       tdm_error *err);
tdm_status device_clear(struct gpu *g, const struct block *b, tdm_error *err);
/* Makes earlier work visible to the host, in blocks that it can access. */
tdm_status device_show(struct gpu *g, tdm_error *err);

/* Some copies in one submission. */
struct copy {
    const struct block *from, *to;
    uint64_t from_at, to_at, bytes;
};
tdm_status device_copy(struct gpu *g, const struct copy *copies, uint32_t n, tdm_error *err);

/* One thread's own pool, fence and staging memory for a queue of this family: it fills, records and waits without the
 * lock.
 */
struct lane {
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    struct block upload; /* made when first needed */
};
tdm_status lane_open(struct lane *l, struct gpu *g, uint32_t family, tdm_error *err);
void lane_close(struct lane *l, struct gpu *g); /* one that is all zero, or that failed to open, may be closed */
/* As device_write. */
tdm_status lane_write(struct lane *l, struct gpu *g, const struct block *to, uint64_t at, const void *data,
                      uint64_t bytes, tdm_error *err);

/* Workgroups for n things, when one takes `by`. */
static inline uint32_t ceiling(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by;
}

#endif
