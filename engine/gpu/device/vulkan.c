#include "engine/gpu/device/vulkan.h"

#include <dlfcn.h>
#include <pthread.h>

#include "engine/base/error.h"

void (*vulkan_loaded)(struct vulkan *vk);

static PFN_vkGetInstanceProcAddr find;

static void open_library(void)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library) find = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
}

tdm_status vulkan_load(struct vulkan *vk, tdm_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    if (!find) return error_set(err, TDM_E_NOT_FOUND, "no GPU: libvulkan.so.1 is not installed");
    const char *missing = NULL;
#define FIND(name)                                                                                                     \
    vk->name = (PFN_vk##name)find(NULL, "vk" #name);                                                                   \
    if (!vk->name) missing = "vk" #name;
    VULKAN_GLOBAL(FIND)
#undef FIND
    return missing ? error_set(err, TDM_E_NOT_FOUND, "no GPU: libvulkan lacks %s", missing) : TDM_OK;
}

tdm_status vulkan_load_instance(struct vulkan *vk, VkInstance instance, tdm_error *err)
{
    const char *missing = NULL;
#define FIND(name) vk->name = (PFN_vk##name)find(instance, "vk" #name);
#define NEED(name) FIND(name) if (!vk->name) missing = "vk" #name;
    VULKAN_INSTANCE(NEED)
    VULKAN_MAY(FIND)
#undef NEED
#undef FIND
    if (missing) return error_set(err, TDM_E_IO, "no GPU: libvulkan lacks %s", missing);
    if (vulkan_loaded) vulkan_loaded(vk);
    return TDM_OK;
}

tdm_status vulkan_load_device(struct vulkan *vk, VkDevice device, tdm_error *err)
{
    const char *missing = NULL;
#define NEED(name)                                                                                                     \
    vk->name = (PFN_vk##name)vk->GetDeviceProcAddr(device, "vk" #name);                                                \
    if (!vk->name) missing = "vk" #name;
    VULKAN_DEVICE(NEED)
#undef NEED
    if (missing) return error_set(err, TDM_E_IO, "the GPU's driver lacks %s", missing);
    if (vulkan_loaded) vulkan_loaded(vk);
    return TDM_OK;
}

const char *vulkan_result(VkResult result)
{
    switch (result) {
#define NAME(name)                                                                                                     \
    case name:                                                                                                         \
        return #name;
        NAME(VK_NOT_READY)
        NAME(VK_TIMEOUT)
        NAME(VK_INCOMPLETE)
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        NAME(VK_ERROR_INITIALIZATION_FAILED)
        NAME(VK_ERROR_DEVICE_LOST)
        NAME(VK_ERROR_MEMORY_MAP_FAILED)
        NAME(VK_ERROR_LAYER_NOT_PRESENT)
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
        NAME(VK_ERROR_FEATURE_NOT_PRESENT)
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
        NAME(VK_ERROR_TOO_MANY_OBJECTS)
#undef NAME
    default:
        return "an error that has no name here";
    }
}
