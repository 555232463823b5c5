/* Finding devices, opening and closing them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/gpu/pass/gemm.h"

enum { MAX_DEVICES = 16 };

const char *gpu_absence(void)
{
    static struct vulkan vk;
    return vulkan_load(&vk, NULL) ? "no GPU: libvulkan.so.1 is not installed" : NULL;
}

static VkBool32 complaint(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
                          const VkDebugUtilsMessengerCallbackDataEXT *data, void *ctx)
{
    struct gpu *g = ctx;
    (void)severity, (void)types;
    if (!g->faults.messages++) snprintf(g->faults.first_message, sizeof g->faults.first_message, "%s", data->pMessage);
    return VK_FALSE;
}

static tdm_status failed_open(VkResult result, const char *call, tdm_error *err)
{
    return error_set(err, result == VK_ERROR_OUT_OF_HOST_MEMORY ? TDM_E_NOMEM : TDM_E_NOT_FOUND, "no GPU: %s says %s",
                     call, vulkan_result(result));
}

/* An instance; validate: with the validation layer, which must be installed. */
static tdm_status make_instance(struct gpu *g, bool validate, tdm_error *err)
{
    static const char *const layers[] = {"VK_LAYER_KHRONOS_validation"};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    static const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    struct vulkan *vk = &g->vk;
    tdm_status status = vulkan_load(vk, err);
    if (status) return status;
    uint32_t version = 0;
    VkResult result = vk->EnumerateInstanceVersion(&version);
    if (result) return failed_open(result, "vkEnumerateInstanceVersion", err);
    if (version < VK_API_VERSION_1_3)
        return error_set(err, TDM_E_NOT_FOUND, "no GPU: libvulkan is of Vulkan 1.%u, 1.3 is needed",
                         VK_API_VERSION_MINOR(version));
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "tandem", .apiVersion = VK_API_VERSION_1_3};
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .enabledValidationFeatureCount = 1,
                                        .pEnabledValidationFeatures = enabled};
    VkDebugUtilsMessengerCreateInfoEXT messages = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                                   .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                                                                      VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
                                                   .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
                                                   .pfnUserCallback = complaint,
                                                   .pUserData = g};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    if (validate) {
        info.pNext = &features;
        info.enabledLayerCount = 1, info.ppEnabledLayerNames = layers;
        info.enabledExtensionCount = 1, info.ppEnabledExtensionNames = extensions;
    }
    result = vk->CreateInstance(&info, NULL, &g->instance);
    if (result) return failed_open(result, "vkCreateInstance", err);
    status = vulkan_load_instance(vk, g->instance, err);
    if (status || !validate) return status;
    result = vk->CreateDebugUtilsMessengerEXT(g->instance, &messages, NULL, &g->messenger);
    return result ? failed_open(result, "vkCreateDebugUtilsMessengerEXT", err) : TDM_OK;
}

static void put_text(char *out, size_t room, const char *format, const char *a, const char *b)
{
    int n = snprintf(out, room, format, a, b);
    if (n < 0) *out = 0;
    for (; *out; out++)
        if ((unsigned char)*out < ' ' || *out == 127) *out = '?';
}

/* Whether the shaders run there: what Vulkan 1.3 leaves to the device is asked for. */
static bool suits(const struct vulkan *vk, VkPhysicalDevice device, uint32_t *family)
{
    VkPhysicalDeviceVulkan13Features f13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .pNext = &f13};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f12};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    vk->GetPhysicalDeviceProperties2(device, &properties);
    if (properties.properties.apiVersion < VK_API_VERSION_1_3) return false;
    const VkPhysicalDeviceLimits *l = &properties.properties.limits;
    if (l->maxComputeWorkGroupInvocations < 256 || l->maxComputeSharedMemorySize < 32768) return false;
    vk->GetPhysicalDeviceFeatures2(device, &features);
    VkPhysicalDeviceVulkan11Properties p11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
    properties.pNext = &p11;
    vk->GetPhysicalDeviceProperties2(device, &properties);
    if (!(p11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) ||
        !(p11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT))
        return false;
    if (!f12.bufferDeviceAddress || !f12.scalarBlockLayout || !features.features.shaderInt64 ||
        !f13.shaderIntegerDotProduct)
        return false;
    VkQueueFamilyProperties families[16];
    uint32_t n = 16;
    vk->GetPhysicalDeviceQueueFamilyProperties(device, &n, families);
    for (uint32_t i = 0; i < n; i++)
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT && families[i].timestampValidBits) {
            *family = i;
            return true;
        }
    return false;
}

/* A queue that copies and does nothing else is a way of its own beside the passes; none: theirs. */
static uint32_t carrying_family(const struct gpu *g)
{
    const VkQueueFlags copies = VK_QUEUE_TRANSFER_BIT, besides = VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT;
    VkQueueFamilyProperties families[16];
    uint32_t n = 16;
    g->vk.GetPhysicalDeviceQueueFamilyProperties(g->physical, &n, families);
    for (uint32_t i = 0; i < n; i++)
        if ((families[i].queueFlags & ~besides) == copies) return i;
    return g->family;
}

static bool has_extension(const struct vulkan *vk, VkPhysicalDevice device, const char *name)
{
    VkExtensionProperties all[512];
    uint32_t n = sizeof all / sizeof *all;
    VkResult result = vk->EnumerateDeviceExtensionProperties(device, NULL, &n, all);
    for (uint32_t i = 0; i < n && (!result || result == VK_INCOMPLETE); i++)
        if (!strcmp(all[i].extensionName, name)) return true;
    return false;
}

static void find_place(const struct vulkan *vk, VkPhysicalDevice device, struct gpu_info *out)
{
    VkPhysicalDevicePCIBusInfoPropertiesEXT at = {.sType =
                                                      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &at};
    if (!has_extension(vk, device, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) return;
    vk->GetPhysicalDeviceProperties2(device, &p);
    snprintf(out->pci, sizeof out->pci, "%04x:%02x:%02x.%x", at.pciDomain & 0xffff, at.pciBus & 0xff,
             at.pciDevice & 0xff, at.pciFunction & 0xf);
}

static void describe(const struct vulkan *vk, VkPhysicalDevice device, struct gpu_info *out)
{
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    *out = (struct gpu_info){0};
    vk->GetPhysicalDeviceProperties2(device, &p);
    vk->GetPhysicalDeviceMemoryProperties2(device, &memory);
    put_text(out->name, sizeof out->name, "%s%s", p.properties.deviceName, "");
    put_text(out->driver, sizeof out->driver, "%s %s", driver.driverName, driver.driverInfo);
    find_place(vk, device, out);
    out->vendor = p.properties.vendorID;
    out->device = p.properties.deviceID;
    switch (p.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        out->kind = GPU_DISCRETE;
        break;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        out->kind = GPU_INTEGRATED;
        break;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        out->kind = GPU_SOFTWARE;
        break;
    default:
        out->kind = GPU_VIRTUAL;
        break;
    }
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; i++)
        if (memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            out->memory += memory.memoryProperties.memoryHeaps[i].size;
}

/* The devices that suit, in order of kind; returns their number, negative: a status. */
static int find(struct gpu *g, VkPhysicalDevice *out, struct gpu_info *infos, tdm_error *err)
{
    VkPhysicalDevice all[MAX_DEVICES];
    uint32_t n = MAX_DEVICES, family;
    VkResult result = g->vk.EnumeratePhysicalDevices(g->instance, &n, all);
    if (result && result != VK_INCOMPLETE) return failed_open(result, "vkEnumeratePhysicalDevices", err);
    int found = 0;
    for (enum gpu_kind kind = GPU_DISCRETE; kind <= GPU_SOFTWARE; kind++)
        for (uint32_t i = 0; i < n; i++) {
            struct gpu_info info;
            describe(&g->vk, all[i], &info);
            if (info.kind != kind || !suits(&g->vk, all[i], &family)) continue;
            infos[found] = info;
            out[found++] = all[i];
        }
    return found;
}

int gpu_list(struct gpu_info *out, int room)
{
    struct gpu g = {0};
    VkPhysicalDevice devices[MAX_DEVICES];
    struct gpu_info infos[MAX_DEVICES];
    int n = make_instance(&g, false, NULL) ? 0 : find(&g, devices, infos, NULL);
    for (int i = 0; i < n && i < room; i++) out[i] = infos[i];
    if (g.instance && g.vk.DestroyInstance) g.vk.DestroyInstance(g.instance, NULL);
    return n < 0 ? 0 : n;
}

/* "gpu" or "gpu:N" to N; -1: another name. */
static int place_of(const char *name)
{
    if (!strcmp(name, "gpu")) return 0;
    if (strncmp(name, "gpu:", 4) || !name[4] || strspn(name + 4, "0123456789") != strlen(name + 4)) return -1;
    return strlen(name) > 7 ? 999 : atoi(name + 4);
}

static tdm_status make_device(struct gpu *g, tdm_error *err)
{
    struct vulkan *vk = &g->vk;
    const float priority = 1;
    VkDeviceQueueCreateInfo queues[2] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = g->family,
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority}};
    queues[1] = queues[0];
    queues[1].queueFamilyIndex = g->carrying_family;
    VkPhysicalDeviceVulkan13Features f13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                            .shaderIntegerDotProduct = VK_TRUE,
                                            .maintenance4 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .pNext = &f13,
                                            .bufferDeviceAddress = VK_TRUE,
                                            .scalarBlockLayout = VK_TRUE};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, .cooperativeMatrix = VK_TRUE};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pipelineExecutableInfo = VK_TRUE};
    const char *extensions[2];
    uint32_t n = 0;
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &f12,
                               .queueCreateInfoCount = g->carrying_family == g->family ? 1 : 2,
                               .pQueueCreateInfos = queues,
                               .ppEnabledExtensionNames = extensions,
                               .pEnabledFeatures = &(VkPhysicalDeviceFeatures){.shaderInt64 = VK_TRUE}};
    if (g->products.units.m || g->products.halves.m) {
        f13.pNext = &matrix;
        f12.shaderInt8 = g->products.units.m != 0;
        f12.shaderFloat16 = g->products.halves.m != 0;
        f12.vulkanMemoryModel = VK_TRUE;
        extensions[n++] = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    }
    if (g->statistics) {
        executables.pNext = f13.pNext;
        f13.pNext = &executables;
        extensions[n++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    }
    info.enabledExtensionCount = n;
    VkResult result = vk->CreateDevice(g->physical, &info, NULL, &g->device);
    if (result) return failed_open(result, "vkCreateDevice", err);
    tdm_status status = vulkan_load_device(vk, g->device, err);
    if (status) return status;
    vk->GetDeviceQueue(g->device, g->family, 0, &g->queue);
    vk->GetDeviceQueue(g->device, g->carrying_family, 0, &g->carrying);
    status = device_pool(&g->pool, g, g->family, err);
    if (!status) status = device_fence(&g->fence, g, err);
    if (status) return status;
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = PUSH_BYTES};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &push};
    result = vk->CreatePipelineLayout(g->device, &layout, NULL, &g->layout);
    if (result) return device_failed(g, result, "vkCreatePipelineLayout", err);
    return device_commands(&g->once, g, g->pool, err);
}

/* Workgroups that run beside each other, where the driver reports that. */
static uint32_t count_cores(struct gpu *g)
{
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &nvidia};
    if (!has_extension(&g->vk, g->physical, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) return 0;
    g->vk.GetPhysicalDeviceProperties2(g->physical, &p);
    return nvidia.shaderSMCount;
}

/* Lanes of a subgroup, where they are always as many. */
static uint32_t lanes_of_subgroups(struct gpu *g)
{
    VkPhysicalDeviceVulkan13Properties p13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &p13};
    g->vk.GetPhysicalDeviceProperties2(g->physical, &p);
    if (p13.minSubgroupSize != p13.maxSubgroupSize) return 1;
    return p13.minSubgroupSize < 32 ? p13.minSubgroupSize : 32;
}

/* The largest piece of a matrix. */
static void set_limits(struct gpu *g, const struct gpu_options *options)
{
    VkPhysicalDeviceMaintenance3Properties memory = {.sType =
                                                         VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &memory};
    VkPhysicalDeviceMemoryProperties2 m = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    g->vk.GetPhysicalDeviceProperties2(g->physical, &p);
    g->vk.GetPhysicalDeviceMemoryProperties2(g->physical, &m);
    g->memory.types = m.memoryProperties;
    g->shared_bytes = p.properties.limits.maxComputeSharedMemorySize;
    g->tick_ns = p.properties.limits.timestampPeriod;
    g->slice = p.properties.limits.maxStorageBufferRange;
    if (g->slice > memory.maxMemoryAllocationSize) g->slice = memory.maxMemoryAllocationSize;
    if (g->slice > (uint64_t)1 << 30) g->slice = (uint64_t)1 << 30;
    if (options && options->slice && options->slice < g->slice) g->slice = options->slice;
    /* Where shaders run on cores, lanes cost time one after the other, and so does every barrier between them. The
     * delta rule has many all the same: the driver compiles lanes with whole columns of a state for half a minute. */
    bool software = g->info.kind == GPU_SOFTWARE;
    g->tuning = software ? (struct gpu_tuning){2, 1, 4, 32, 256, 4096, 4096, 0, 8192, 0, 0, 0, 0, false, 0}
                         : (struct gpu_tuning){8, 16, 8, 512, 256, 8192, 1056, 0, 8192, 0, 9, 5, 4, false, 50};
    g->tuning.subgroup = lanes_of_subgroups(g);
    g->cores = count_cores(g);
    g->memory.tells_budget = has_extension(&g->vk, g->physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    bool units = has_extension(&g->vk, g->physical, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    if (units && !(options && options->no_gemm)) gemm_find_units(g);
    if (!software) g->tuning.fused_workgroups = g->cores;
    if (!software && p.properties.limits.maxComputeWorkGroupInvocations < 512)
        g->tuning.segments = 8, g->tuning.lanes = 256; /* with a lane for each row of each segment */
    uint32_t subgroup = g->tuning.subgroup;
    g->statistics = options && options->statistics && g->vk.GetPipelineExecutableStatisticsKHR &&
                    has_extension(&g->vk, g->physical, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    if (options && options->tuning) g->tuning = *options->tuning;
    if (options && options->no_gemm) g->tuning.gemm_tokens = 0;
    if (g->tuning.subgroup > subgroup) g->tuning.subgroup = subgroup;
}

tdm_status gpu_open(struct gpu **out, const char *name, const struct gpu_options *options, tdm_error *err)
{
    *out = NULL;
    int place = place_of(name);
    if (place < 0) return error_set(err, TDM_E_ARG, "%s: expected gpu, or gpu:N with the number of a device", name);
    struct gpu *g = calloc(1, sizeof *g);
    if (!g) return error_set(err, TDM_E_NOMEM, "no memory for a device");
    ticket_lock_init(&g->lock);
    pthread_mutex_init(&g->products.trying, NULL);
    pthread_mutex_init(&g->memory.allocating, NULL);

    VkPhysicalDevice devices[MAX_DEVICES];
    struct gpu_info infos[MAX_DEVICES];
    tdm_status status = make_instance(g, options && options->validate, err);
    int n = status ? 0 : find(g, devices, infos, err);
    if (!status && n < 0) status = (tdm_status)n;
    if (!status && place >= n)
        status = error_set(err, TDM_E_NOT_FOUND, "%s: %d %s Vulkan 1.3 and what the shaders need", name, n,
                           n == 1 ? "device has" : "devices have");
    if (!status) {
        g->physical = devices[place];
        g->info = infos[place];
        suits(&g->vk, g->physical, &g->family);
        g->carrying_family = carrying_family(g);
        g->info.copies_apart = g->carrying_family != g->family;
        set_limits(g, options);
        status = make_device(g, err);
    }
    if (status) {
        gpu_close(g);
        return status;
    }
    *out = g;
    return TDM_OK;
}

void gpu_close(struct gpu *g)
{
    if (!g) return;
    struct vulkan *vk = &g->vk;
    if (g->device) {
        if (vk->DeviceWaitIdle) vk->DeviceWaitIdle(g->device);
        block_free(&g->upload, g);
        block_free(&g->read, g);
        for (uint32_t i = 0; i < g->n_pipelines; i++) vk->DestroyPipeline(g->device, g->pipelines[i].handle, NULL);
        if (g->layout) vk->DestroyPipelineLayout(g->device, g->layout, NULL);
        if (g->fence) vk->DestroyFence(g->device, g->fence, NULL);
        if (g->pool) vk->DestroyCommandPool(g->device, g->pool, NULL);
        if (vk->DestroyDevice) vk->DestroyDevice(g->device, NULL);
    }
    if (g->messenger) vk->DestroyDebugUtilsMessengerEXT(g->instance, g->messenger, NULL);
    if (g->instance && vk->DestroyInstance) vk->DestroyInstance(g->instance, NULL);
    ticket_lock_destroy(&g->lock);
    pthread_mutex_destroy(&g->products.trying);
    pthread_mutex_destroy(&g->memory.allocating);
    free(g);
}

void gpu_about(struct gpu *g, struct gpu_info *out)
{
    *out = g->info;
}

uint64_t gpu_used(struct gpu *g)
{
    return g->memory.used;
}

uint32_t gpu_validation_messages(struct gpu *g)
{
    return g->faults.messages;
}

const char *gpu_first_validation_message(struct gpu *g)
{
    return g->faults.messages ? g->faults.first_message : NULL;
}
