#include "engine/gpu/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/pass/gemm.h"

enum { STAGING_BYTES = 16 << 20 };

void device_lock(const struct gpu *g)
{
    ticket_lock_take((struct ticket_lock *)&g->lock);
}

void device_unlock(const struct gpu *g)
{
    ticket_lock_give((struct ticket_lock *)&g->lock);
}

/* With its line; the first one stays. */
static void lose(struct gpu *g, VkResult result, const char *call)
{
    device_lock(g);
    if (!g->faults.lost)
        snprintf(g->faults.lost_line, sizeof g->faults.lost_line, "%s %s: %s says %s", g->info.name,
                 result == VK_ERROR_DEVICE_LOST ? "was lost" : "failed", call, vulkan_result(result));
    g->faults.lost = true;
    device_unlock(g);
}

tdm_status device_failed(struct gpu *g, VkResult result, const char *call, tdm_error *err)
{
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
        return error_set(err, TDM_E_NOMEM, "%s: no memory (%s says %s)", g->info.name, call, vulkan_result(result));
    lose(g, result, call);
    return error_set(err, TDM_E_IO, "%s", g->faults.lost_line);
}

bool gpu_is_lost(struct gpu *g)
{
    return g->faults.lost;
}

tdm_status device_check(struct gpu *g, tdm_error *err)
{
    return g->faults.lost ? error_set(err, TDM_E_IO, "%s", g->faults.lost_line) : TDM_OK;
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

/* One memory of device and host, which the cores read as fast as any other. */
static bool is_shared(VkMemoryPropertyFlags f)
{
    const VkMemoryPropertyFlags all = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    return (f & all) == all;
}

/* Whether a type of memory suits a use; round 0: what is best, later ones: what works. */
static bool type_suits(VkMemoryPropertyFlags f, enum block_use use, int round)
{
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (use == BLOCK_STATE && round == 0) return is_shared(f);
    if (use == BLOCK_STATE) return round == 1 ? (f & local) != 0 : !(f & local);
    if (use == BLOCK_DEVICE)
        return round == 0 ? f & local && !(f & seen) : round == 1 ? (f & local) != 0 : !(f & local);
    if (!(f & seen) || !(f & coherent)) return false;
    if (round == 2) return true;
    if (use == BLOCK_TABLE) return round == 1 || f & local;
    if (use == BLOCK_UPLOAD) return round == 1 || !(f & local);
    return round == 1 ? (f & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0
                      : f & VK_MEMORY_PROPERTY_HOST_CACHED_BIT && !(f & local);
}

/* Memory of the best type that has this many bytes; *mapped: the host is to see it. */
static VkResult allocate(struct gpu *g, struct block *b, enum block_use use, const VkMemoryRequirements *needs,
                         bool *mapped)
{
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    uint32_t tried = 0;
    for (int round = 0; round < 3; round++)
        for (uint32_t i = 0; i < g->memory.types.memoryTypeCount; i++) {
            if (!(needs->memoryTypeBits >> i & 1) || tried >> i & 1) continue;
            VkMemoryPropertyFlags flags = g->memory.types.memoryTypes[i].propertyFlags;
            if (flags & ~(VkMemoryPropertyFlags)15 || !type_suits(flags, use, round)) continue;
            tried |= 1u << i;
            *mapped = use == BLOCK_STATE ? is_shared(flags) : use != BLOCK_DEVICE;
            VkMemoryAllocateFlagsInfo address = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                                 .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
            VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &address,
                                         .allocationSize = needs->size,
                                         .memoryTypeIndex = i};
            result = g->vk.AllocateMemory(g->device, &info, NULL, &b->memory);
            if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY && result != VK_ERROR_OUT_OF_HOST_MEMORY) return result;
        }
    return result;
}

tdm_status block_new(struct block *out, struct gpu *g, enum block_use use, uint64_t bytes, tdm_error *err)
{
    *out = (struct block){.bytes = bytes};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    const uint32_t families[] = {g->family, g->carrying_family};
    if (g->carrying_family != g->family && (use == BLOCK_STATE || use == BLOCK_READ)) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = 2;
        info.pQueueFamilyIndices = families;
    }
    bool mapped = false;
    const char *call = "vkCreateBuffer";
    VkResult result = g->vk.CreateBuffer(g->device, &info, NULL, &out->buffer);
    VkMemoryRequirements needs;
    if (!result) {
        g->vk.GetBufferMemoryRequirements(g->device, out->buffer, &needs);
        call = "vkAllocateMemory";
        result = allocate(g, out, use, &needs, &mapped);
        if (result) out->memory = VK_NULL_HANDLE;
    }
    if (!result) {
        call = "vkBindBufferMemory";
        result = g->vk.BindBufferMemory(g->device, out->buffer, out->memory, 0);
    }
    if (!result && mapped) {
        call = "vkMapMemory";
        result = g->vk.MapMemory(g->device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->mapped);
    }
    if (result) {
        tdm_status status = device_failed(g, result, call, err);
        out->bytes = 0;
        block_free(out, g);
        return status;
    }
    VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = out->buffer};
    out->address = g->vk.GetBufferDeviceAddress(g->device, &address);
    g->memory.used += bytes;
    return TDM_OK;
}

void block_free(struct block *b, struct gpu *g)
{
    if (b->buffer) g->vk.DestroyBuffer(g->device, b->buffer, NULL);
    if (b->memory) g->vk.FreeMemory(g->device, b->memory, NULL);
    g->memory.used -= b->bytes;
    *b = (struct block){0};
}

uint64_t device_free_memory(const struct gpu *g)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                           .pNext = &budget};
    uint64_t bytes = 0;
    if (!g->memory.tells_budget) return UINT64_MAX;
    g->vk.GetPhysicalDeviceMemoryProperties2(g->physical, &p);
    for (uint32_t i = 0; i < p.memoryProperties.memoryHeapCount; i++) {
        bool local = p.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
        if (local && budget.heapBudget[i] > budget.heapUsage[i]) bytes += budget.heapBudget[i] - budget.heapUsage[i];
    }
    return bytes;
}

/* ---- Pipelines ------------------------------------------------------------------------------------------- */

static tdm_status make_pipeline(VkPipeline *out, struct gpu *g, const struct pipeline *p, uint32_t n, tdm_error *err)
{
    const struct shader_code *code = &shader_codes[p->shader];
    VkShaderModule module;
    VkShaderModuleCreateInfo source = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code->bytes, .pCode = code->words};
    bool units = p->shader == SHADER_MATRIX || p->shader == SHADER_VISION_PRODUCT_UNITS ||
                 p->shader == SHADER_VISION_ATTEND_UNITS;
    uint32_t *khr = units ? gemm_khr(code->words, code->bytes, &source.codeSize) : NULL;
    if (units && !khr)
        return error_set(err, TDM_E_UNSUPPORTED, "no form of the shader %s that drivers take", code->name);
    if (khr) source.pCode = khr;
    VkResult result = g->vk.CreateShaderModule(g->device, &source, NULL, &module);
    free(khr);
    if (result) return device_failed(g, result, "vkCreateShaderModule", err);
    VkSpecializationMapEntry entries[MAX_CONSTANTS];
    for (uint32_t i = 0; i < n; i++) entries[i] = (VkSpecializationMapEntry){i, 4 * i, 4};
    VkSpecializationInfo constants = {n, entries, 4 * n, p->constants};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = g->layout,
        .flags = g->statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0,
    };
    result = g->vk.CreateComputePipelines(g->device, VK_NULL_HANDLE, 1, &info, NULL, out);
    g->vk.DestroyShaderModule(g->device, module, NULL);
    bool is_taken_amiss = result && result != VK_ERROR_DEVICE_LOST && result != VK_ERROR_OUT_OF_DEVICE_MEMORY &&
                          result != VK_ERROR_OUT_OF_HOST_MEMORY;
    bool has_another = units || p->shader == SHADER_TILE; /* for what it does */
    if (is_taken_amiss && has_another)
        return error_set(err, TDM_E_UNSUPPORTED, "the driver does not take the shader %s (%s)", code->name,
                         vulkan_result(result));
    return result ? device_failed(g, result, "vkCreateComputePipelines", err) : TDM_OK;
}

/* The one that there is; add: one that is there now, if there was none. NULL: none. With the lock. */
static VkPipeline known_pipeline(struct gpu *g, const struct pipeline *wanted, bool add)
{
    for (uint32_t i = 0; i < g->n_pipelines; i++) {
        const struct pipeline *p = &g->pipelines[i];
        if (p->shader == wanted->shader && !memcmp(p->constants, wanted->constants, sizeof p->constants))
            return p->handle;
    }
    if (!add) return VK_NULL_HANDLE;
    assert_always(g->n_pipelines < MAX_PIPELINES);
    g->pipelines[g->n_pipelines++] = *wanted;
    return wanted->handle;
}

tdm_status device_pipeline(VkPipeline *out, struct gpu *g, enum shader shader, const uint32_t *constants, uint32_t n,
                           tdm_error *err)
{
    struct pipeline wanted = {.shader = shader};
    assert_always(n <= MAX_CONSTANTS);
    if (n) memcpy(wanted.constants, constants, n * sizeof *constants);
    device_lock(g);
    *out = known_pipeline(g, &wanted, false);
    device_unlock(g);
    if (*out) return TDM_OK;
    tdm_status status = make_pipeline(&wanted.handle, g, &wanted, n, err);
    if (status) return status;
    device_lock(g);
    *out = known_pipeline(g, &wanted, true);
    device_unlock(g);
    if (*out != wanted.handle) g->vk.DestroyPipeline(g->device, wanted.handle, NULL);
    return TDM_OK;
}

/* ---- Commands -------------------------------------------------------------------------------------------- */

tdm_status device_pool(VkCommandPool *out, struct gpu *g, uint32_t family, tdm_error *err)
{
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = family};
    VkResult result = g->vk.CreateCommandPool(g->device, &info, NULL, out);
    if (result) *out = VK_NULL_HANDLE;
    return result ? device_failed(g, result, "vkCreateCommandPool", err) : TDM_OK;
}

tdm_status device_commands(VkCommandBuffer *out, struct gpu *g, VkCommandPool pool, tdm_error *err)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    VkResult result = g->vk.AllocateCommandBuffers(g->device, &info, out);
    if (result) *out = NULL;
    return result ? device_failed(g, result, "vkAllocateCommandBuffers", err) : TDM_OK;
}

tdm_status device_begin(struct gpu *g, VkCommandBuffer commands, bool once, tdm_error *err)
{
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : 0};
    VkResult result = g->vk.BeginCommandBuffer(commands, &info);
    return result ? device_failed(g, result, "vkBeginCommandBuffer", err) : TDM_OK;
}

tdm_status device_end(struct gpu *g, VkCommandBuffer commands, tdm_error *err)
{
    VkResult result = g->vk.EndCommandBuffer(commands);
    return result ? device_failed(g, result, "vkEndCommandBuffer", err) : TDM_OK;
}

void device_barrier(struct gpu *g, VkCommandBuffer commands)
{
    const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                                            VK_ACCESS_HOST_READ_BIT};
    g->vk.CmdPipelineBarrier(commands, work, work | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0, NULL, 0, NULL);
}

void device_land(struct gpu *g, VkCommandBuffer commands)
{
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    g->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0, NULL,
                             0, NULL);
}

tdm_status device_fence(VkFence *out, struct gpu *g, tdm_error *err)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = g->vk.CreateFence(g->device, &info, NULL, out);
    if (result) *out = VK_NULL_HANDLE;
    return result ? device_failed(g, result, "vkCreateFence", err) : TDM_OK;
}

static tdm_status submit(struct gpu *g, VkQueue queue, VkFence fence, const VkCommandBuffer *commands, uint32_t n,
                         tdm_error *err)
{
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = n, .pCommandBuffers = commands};
    tdm_status status = device_check(g, err);
    if (status) return status;
    VkResult result = g->vk.ResetFences(g->device, 1, &fence);
    if (result) return device_failed(g, result, "vkResetFences", err);
    result = g->vk.QueueSubmit(queue, 1, &info, fence);
    if (!result) return TDM_OK;
    g->vk.DeviceWaitIdle(g->device);
    return device_failed(g, result, "vkQueueSubmit", err);
}

static tdm_status wait_for(struct gpu *g, VkFence fence, int64_t likely, tdm_error *err)
{
    int64_t around = likely ? (int64_t)g->tuning.poll_us * 1000 : 0, early = likely - around - clock_ns();
    VkResult result = VK_TIMEOUT;
    if (around && early > 0) result = g->vk.WaitForFences(g->device, 1, &fence, VK_TRUE, (uint64_t)early);
    while (around && result == VK_TIMEOUT && clock_ns() < likely + around)
        result = g->vk.WaitForFences(g->device, 1, &fence, VK_TRUE, 0);
    if (result == VK_TIMEOUT) result = g->vk.WaitForFences(g->device, 1, &fence, VK_TRUE, UINT64_MAX);
    if (!result) return TDM_OK;
    device_lock(g);
    g->vk.DeviceWaitIdle(g->device); /* so that nothing is freed that the device may still write to */
    device_unlock(g);
    lose(g, result, "vkWaitForFences"); /* for lack of memory too: the host doesn't know whether the work was done */
    return device_failed(g, result, "vkWaitForFences", err);
}

tdm_status device_start(struct start *out, struct gpu *g, VkFence fence, const VkCommandBuffer *commands, uint32_t n,
                        uint32_t own, tdm_error *err)
{
    device_lock(g);
    out->alone = atomic_fetch_add(&g->in_flight, 1) == (int)own;
    out->at = clock_ns();
    tdm_status status = submit(g, g->queue, fence, commands, n, err);
    device_unlock(g);
    if (status) atomic_fetch_sub(&g->in_flight, 1);
    return status;
}

tdm_status device_carry(struct gpu *g, VkFence fence, VkCommandBuffer commands, tdm_error *err)
{
    device_lock(g);
    atomic_fetch_add(&g->in_flight, 1);
    tdm_status status = submit(g, g->carrying, fence, &commands, 1, err);
    device_unlock(g);
    if (status) atomic_fetch_sub(&g->in_flight, 1);
    return status;
}

tdm_status device_finish(struct gpu *g, VkFence fence, int64_t likely, tdm_error *err)
{
    tdm_status status = wait_for(g, fence, likely, err);
    atomic_fetch_sub(&g->in_flight, 1);
    return status;
}

static tdm_status run(struct gpu *g, VkFence fence, const VkCommandBuffer *commands, uint32_t n, tdm_error *err)
{
    struct start start;
    tdm_status status = device_start(&start, g, fence, commands, n, 0, err);
    return status ? status : device_finish(g, fence, 0, err);
}

tdm_status device_run(struct gpu *g, const VkCommandBuffer *commands, uint32_t n, tdm_error *err)
{
    return run(g, g->fence, commands, n, err);
}

tdm_status device_settle(struct gpu *g, tdm_error *err)
{
    return g->in_flight ? device_run(g, NULL, 0, err) : TDM_OK; /* nothing, after all of theirs */
}

/* ---- Copies ---------------------------------------------------------------------------------------------- */

static tdm_status copy_by(struct gpu *g, VkCommandBuffer commands, VkFence fence, const struct copy *copies, uint32_t n,
                          tdm_error *err)
{
    tdm_status status = device_check(g, err);
    if (!status) status = device_begin(g, commands, true, err);
    if (status) return status;
    for (uint32_t i = 0; i < n; i++) {
        const struct copy *c = &copies[i];
        VkBufferCopy region = {c->from_at, c->to_at, c->bytes};
        g->vk.CmdCopyBuffer(commands, c->from->buffer, c->to->buffer, 1, &region);
    }
    device_barrier(g, commands);
    status = device_end(g, commands, err);
    return status ? status : run(g, fence, &commands, 1, err);
}

tdm_status device_copy(struct gpu *g, const struct copy *copies, uint32_t n, tdm_error *err)
{
    device_lock(g);
    tdm_status status = copy_by(g, g->once, g->fence, copies, n, err);
    device_unlock(g);
    return status;
}

static tdm_status staging(struct gpu *g, struct block *b, enum block_use use, tdm_error *err)
{
    return b->buffer ? TDM_OK : block_new(b, g, use, STAGING_BYTES, err);
}

/* At most STAGING_BYTES of them. */
static tdm_status write_by(struct gpu *g, VkCommandBuffer commands, VkFence fence, struct block *upload,
                           const struct block *to, uint64_t at, const void *data, uint64_t bytes, tdm_error *err)
{
    tdm_status status = staging(g, upload, BLOCK_UPLOAD, err);
    if (status) return status;
    memcpy(upload->mapped, data, bytes);
    return copy_by(g, commands, fence, &(struct copy){upload, to, 0, at, bytes}, 1, err);
}

tdm_status device_write(struct gpu *g, const struct block *to, uint64_t at, const void *data, uint64_t bytes,
                        tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (uint64_t i = 0; i < bytes && !status; i += STAGING_BYTES) {
        uint64_t n = bytes - i < STAGING_BYTES ? bytes - i : STAGING_BYTES;
        device_lock(g);
        status = write_by(g, g->once, g->fence, &g->upload, to, at + i, (const char *)data + i, n, err);
        device_unlock(g);
    }
    return status;
}

tdm_status device_read(struct gpu *g, const struct block *from, uint64_t at, void *data, uint64_t bytes, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (uint64_t i = 0; i < bytes && !status; i += STAGING_BYTES) {
        uint64_t n = bytes - i < STAGING_BYTES ? bytes - i : STAGING_BYTES;
        device_lock(g);
        status = staging(g, &g->read, BLOCK_READ, err);
        if (!status) status = device_copy(g, &(struct copy){from, &g->read, at + i, 0, n}, 1, err);
        if (!status) memcpy((char *)data + i, g->read.mapped, n);
        device_unlock(g);
    }
    return status;
}

/* A barrier, after b was cleared; NULL: nothing is. */
static tdm_status run_barrier(struct gpu *g, const struct block *b, tdm_error *err)
{
    tdm_status status = device_check(g, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (status) return status;
    if (b) g->vk.CmdFillBuffer(g->once, b->buffer, 0, VK_WHOLE_SIZE, 0);
    device_barrier(g, g->once);
    status = device_end(g, g->once, err);
    return status ? status : device_run(g, &g->once, 1, err);
}

tdm_status device_clear(struct gpu *g, const struct block *b, tdm_error *err)
{
    device_lock(g);
    tdm_status status = run_barrier(g, b, err);
    device_unlock(g);
    return status;
}

tdm_status device_show(struct gpu *g, tdm_error *err)
{
    return device_clear(g, NULL, err);
}

/* ---- Lanes ------------------------------------------------------------------------------------------------ */

tdm_status lane_open(struct lane *l, struct gpu *g, uint32_t family, tdm_error *err)
{
    *l = (struct lane){0};
    tdm_status status = device_pool(&l->pool, g, family, err);
    if (!status) status = device_commands(&l->commands, g, l->pool, err);
    return status ? status : device_fence(&l->fence, g, err);
}

void lane_close(struct lane *l, struct gpu *g)
{
    block_free(&l->upload, g);
    if (l->fence) g->vk.DestroyFence(g->device, l->fence, NULL);
    if (l->pool) g->vk.DestroyCommandPool(g->device, l->pool, NULL);
    *l = (struct lane){0};
}

tdm_status lane_write(struct lane *l, struct gpu *g, const struct block *to, uint64_t at, const void *data,
                      uint64_t bytes, tdm_error *err)
{
    tdm_status status = TDM_OK;
    for (uint64_t i = 0; i < bytes && !status; i += STAGING_BYTES) {
        uint64_t n = bytes - i < STAGING_BYTES ? bytes - i : STAGING_BYTES;
        status = write_by(g, l->commands, l->fence, &l->upload, to, at + i, (const char *)data + i, n, err);
    }
    return status;
}
