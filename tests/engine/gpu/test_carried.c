/* States that cross to a GPU, from it, and from one to another, on each of the ways that devices have: where device and
 * host have one memory, through ports by the queue of the passes, and through ports by a queue of their own. Of the
 * latter two a driver that has neither is made to tell of them. */
#include "tests/check.h"

#include "tests/engine/chat/talk.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include "engine/gpu/device/vulkan.h"
#include "engine/tandem/measure.h"

static tdm_error err;
static struct vulkan real;
static bool has_queue; /* for copies alone: a family that there is not, behind those that there are */
static uint32_t families;
enum { LIMIT = 16 };
static VkCommandPool pools[LIMIT];
static VkCommandBuffer copying[LIMIT]; /* commands of that family */
static int n_pools, n_copying, shared_buffers, barriers, copies;

static VKAPI_ATTR void VKAPI_CALL tell_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *out)
{
    real.GetPhysicalDeviceMemoryProperties2(device, out);
    VkPhysicalDeviceMemoryProperties *m = &out->memoryProperties;
    const VkMemoryPropertyFlags hidden = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    for (uint32_t i = 0; i < m->memoryTypeCount; i++) m->memoryTypes[i].propertyFlags &= ~hidden;
}

static VKAPI_ATTR void VKAPI_CALL tell_families(VkPhysicalDevice device, uint32_t *n, VkQueueFamilyProperties *out)
{
    uint32_t room = *n;
    real.GetPhysicalDeviceQueueFamilyProperties(device, n, out);
    families = *n;
    if (has_queue && out && *n < room)
        out[(*n)++] = (VkQueueFamilyProperties){
            .queueFlags = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT, .queueCount = 2};
}

static VKAPI_ATTR VkResult VKAPI_CALL make_device(VkPhysicalDevice device, const VkDeviceCreateInfo *info,
                                                  const VkAllocationCallbacks *a, VkDevice *out)
{
    VkDeviceCreateInfo own = *info;
    CHECK_INT(has_queue ? 2 : 1, info->queueCreateInfoCount);
    CHECK(!has_queue || info->pQueueCreateInfos[1].queueFamilyIndex == families);
    own.queueCreateInfoCount = 1;
    return real.CreateDevice(device, &own, a, out);
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t i, VkQueue *out)
{
    real.GetDeviceQueue(device, family < families ? family : 0, i, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL make_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                const VkAllocationCallbacks *a, VkCommandPool *out)
{
    VkCommandPoolCreateInfo own = *info;
    if (own.queueFamilyIndex >= families) own.queueFamilyIndex = 0;
    VkResult result = real.CreateCommandPool(device, &own, a, out);
    if (info->queueFamilyIndex >= families && n_pools < LIMIT) pools[n_pools++] = *out;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL make_commands(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                                    VkCommandBuffer *out)
{
    VkResult result = real.AllocateCommandBuffers(device, info, out);
    for (int i = 0; i < n_pools; i++)
        if (pools[i] == info->commandPool && n_copying < LIMIT) copying[n_copying++] = *out;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL make_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                  const VkAllocationCallbacks *a, VkBuffer *out)
{
    VkBufferCreateInfo own = *info;
    shared_buffers += own.sharingMode == VK_SHARING_MODE_CONCURRENT;
    CHECK(own.sharingMode == VK_SHARING_MODE_EXCLUSIVE || own.queueFamilyIndexCount == 2);
    own.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    return real.CreateBuffer(device, &own, a, out);
}

static bool is_copying(VkCommandBuffer commands)
{
    for (int i = 0; i < n_copying; i++)
        if (copying[i] == commands) return true;
    return false;
}

/* A queue that only copies has no shaders to wait for. */
static VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                                          VkDependencyFlags flags, uint32_t a, const VkMemoryBarrier *all, uint32_t b,
                                          const VkBufferMemoryBarrier *buffers, uint32_t c,
                                          const VkImageMemoryBarrier *images)
{
    if (is_copying(commands)) {
        CHECK(!((from | to) & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT));
        barriers++;
    }
    real.CmdPipelineBarrier(commands, from, to, flags, a, all, b, buffers, c, images);
}

static VKAPI_ATTR void VKAPI_CALL copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t n,
                                       const VkBufferCopy *regions)
{
    copies += is_copying(commands);
    real.CmdCopyBuffer(commands, from, to, n, regions);
}

static void pretend(struct vulkan *vk)
{
#define PUT(name, own)                                                                                                 \
    if (vk->name && vk->name != own) {                                                                                 \
        real.name = vk->name;                                                                                          \
        vk->name = own;                                                                                                \
    }
    PUT(GetPhysicalDeviceMemoryProperties2, tell_memory)
    PUT(GetPhysicalDeviceQueueFamilyProperties, tell_families)
    PUT(CreateDevice, make_device)
    PUT(GetDeviceQueue, get_queue)
    PUT(CreateCommandPool, make_pool)
    PUT(AllocateCommandBuffers, make_commands)
    PUT(CreateBuffer, make_buffer)
    PUT(CmdPipelineBarrier, barrier)
    PUT(CmdCopyBuffer, copy)
#undef PUT
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

static tdm_machine *open_machine(void)
{
    tdm_machine *m = NULL;
    tdm_machine_options o = {.prefill_unit = gpu_rig_name()};
    if (tdm_machine_open(&m, &o, &err)) CHECK_FAIL("%s", err.text);
    return m;
}

static tdm_sequence *open_on(tdm_machine *m, int unit, tdm_kv kv)
{
    tdm_sequence *s = NULL;
    tdm_sequence_options o = {.unit = unit, .kv = kv, .context = 600};
    if (tdm_sequence_open(&s, talk_model(NULL), m, &o, &err)) CHECK_FAIL("%s", err.text);
    return s;
}

static bool same(tdm_sequence *a, tdm_sequence *b)
{
    void *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    bool saved = !tdm_sequence_save(a, &x, &n, &err) && !tdm_sequence_save(b, &y, &m, &err);
    bool equal = saved && n == m && !memcmp(x, y, n);
    if (!saved) CHECK_FAIL("%s", err.text);
    free(x);
    free(y);
    return equal;
}

static void cross(tdm_sequence *to, tdm_sequence *from)
{
    size_t bytes = 0;
    tdm_sequence_clear(to);
    if (tdm_sequence_cross(to, from, &bytes, &err)) CHECK_FAIL("%s", err.text);
    CHECK(bytes > 0 && same(to, from));
}

static void cross_all_ways(tdm_kv kv)
{
    enum { MAX = 333 };
    const int n = getenv("TANDEM_LONG") ? MAX : 150; /* more than a block of keys and values */
    tdm_machine *m = open_machine(), *second = open_machine();
    REQUIRE(m && second);
    tdm_sequence *gpu = open_on(m, TDM_PREFILL_UNIT, kv), *other = open_on(second, TDM_PREFILL_UNIT, kv),
                 *here = open_on(m, TDM_DECODE_UNIT, kv), *there = open_on(m, TDM_DECODE_UNIT, kv);
    REQUIRE(gpu && other && here && there);
    tdm_id ids[MAX];
    for (int i = 0; i < n; i++) ids[i] = i * 7 % 500;
    CHECK_INT(TDM_OK, tdm_sequence_eval(gpu, ids, n, true, NULL, &err));
    cross(here, gpu); /* what a pass has just written */
    cross(other, gpu);
    CHECK_INT(TDM_OK, tdm_sequence_fill(here, n, 3, &err));
    cross(gpu, here);
    cross(other, gpu);
    cross(there, other);
    CHECK(same(there, here));
    /* A pass sees what crossed. */
    CHECK_INT(TDM_OK, tdm_sequence_eval(gpu, ids, 5, true, NULL, &err));
    CHECK_INT(TDM_OK, tdm_sequence_eval(other, ids, 5, true, NULL, &err));
    CHECK(same(gpu, other));
    double ms;
    CHECK_INT(TDM_OK, tdm_sequence_link_ms(gpu, 1 << 20, false, &ms, &err));
    CHECK((ms > 0) == (vulkan_loaded != NULL) && same(gpu, other));
    CHECK_INT(TDM_OK, tdm_sequence_link_ms(gpu, 1 << 20, true, &ms, &err));
    CHECK((ms > 0) == (vulkan_loaded != NULL) && tdm_sequence_length(gpu) == 0);
    CHECK_INT(TDM_OK, tdm_sequence_link_ms(here, 1 << 20, true, &ms, &err));
    CHECK(ms == 0);
    tdm_sequence_close(gpu);
    tdm_sequence_close(other);
    tdm_sequence_close(here);
    tdm_sequence_close(there);
    tdm_machine_close(second);
    tdm_machine_close(m);
}

static void cross_by(void (*loaded)(struct vulkan *), bool queue, tdm_kv kv)
{
    has_queue = queue;
    n_pools = n_copying = shared_buffers = barriers = copies = 0;
    vulkan_loaded = loaded;
    cross_all_ways(kv);
    vulkan_loaded = NULL;
}

TEST(where_device_and_host_have_one_memory)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    cross_by(NULL, false, TDM_KV_F16);
}

TEST(through_ports)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    cross_by(pretend, false, TDM_KV_Q8_0);
    CHECK_INT(0, n_pools);
    CHECK_INT(0, shared_buffers);
}

TEST(through_ports_by_a_queue_of_their_own)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    cross_by(pretend, true, TDM_KV_F16);
    printf("# %d copies in %d commands\n", copies, n_copying);
    CHECK(n_pools > 0 && n_copying > 0 && copies > 0 && barriers > 0 && shared_buffers > 0);
}
#else
TEST(where_device_and_host_have_one_memory)
{
    SKIP(gpu_absence());
}
TEST(through_ports)
{
    SKIP(gpu_absence());
}
TEST(through_ports_by_a_queue_of_their_own)
{
    SKIP(gpu_absence());
}
#endif

TEST_MAIN(T(where_device_and_host_have_one_memory), T(through_ports), T(through_ports_by_a_queue_of_their_own))
