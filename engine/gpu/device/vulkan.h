/* libvulkan, loaded when first needed: a table of the functions used here. Tests replace functions in it, so that each
 * call fails once (tests/engine/gpu). */
#ifndef TANDEM_GPU_VULKAN_H
#define TANDEM_GPU_VULKAN_H

#include "engine/tandem.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

/* Headers of Debian 12 are older than this extension. */
#ifndef VK_KHR_cooperative_matrix
#define VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME                          "VK_KHR_cooperative_matrix"
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR ((VkStructureType)1000506000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR               ((VkStructureType)1000506001)
typedef enum VkComponentTypeKHR {
    VK_COMPONENT_TYPE_FLOAT16_KHR = 0,
    VK_COMPONENT_TYPE_FLOAT32_KHR = 1,
    VK_COMPONENT_TYPE_SINT8_KHR = 3,
    VK_COMPONENT_TYPE_SINT32_KHR = 5
} VkComponentTypeKHR;
typedef enum VkScopeKHR { VK_SCOPE_SUBGROUP_KHR = 3 } VkScopeKHR;
typedef struct VkCooperativeMatrixPropertiesKHR {
    VkStructureType sType;
    void *pNext;
    uint32_t MSize, NSize, KSize;
    VkComponentTypeKHR AType, BType, CType, ResultType;
    VkBool32 saturatingAccumulation;
    VkScopeKHR scope;
} VkCooperativeMatrixPropertiesKHR;
typedef struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;
typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(VkPhysicalDevice, uint32_t *,
                                                                                   VkCooperativeMatrixPropertiesKHR *);
#endif

/* Without an instance; of an instance; of a device. VULKAN_MAY: absent without its extension. */
#define VULKAN_GLOBAL(X) X(CreateInstance) X(EnumerateInstanceVersion) X(EnumerateInstanceLayerProperties)
#define VULKAN_INSTANCE(X)                                                                                             \
    X(DestroyInstance)                                                                                                 \
    X(EnumeratePhysicalDevices)                                                                                        \
    X(GetPhysicalDeviceProperties2)                                                                                    \
    X(GetPhysicalDeviceFeatures2)                                                                                      \
    X(GetPhysicalDeviceMemoryProperties2)                                                                              \
    X(GetPhysicalDeviceQueueFamilyProperties) X(EnumerateDeviceExtensionProperties) X(CreateDevice) X(GetDeviceProcAddr)
#define VULKAN_MAY(X)                                                                                                  \
    X(CreateDebugUtilsMessengerEXT)                                                                                    \
    X(DestroyDebugUtilsMessengerEXT)                                                                                   \
    X(GetPhysicalDeviceCooperativeMatrixPropertiesKHR) X(GetPipelineExecutableStatisticsKHR)
#define VULKAN_DEVICE(X)                                                                                               \
    X(DestroyDevice)                                                                                                   \
    X(GetDeviceQueue)                                                                                                  \
    X(DeviceWaitIdle)                                                                                                  \
    X(QueueSubmit)                                                                                                     \
    X(CreateFence)                                                                                                     \
    X(DestroyFence)                                                                                                    \
    X(ResetFences)                                                                                                     \
    X(WaitForFences) X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(FreeCommandBuffers)        \
        X(BeginCommandBuffer) X(EndCommandBuffer) X(CreateBuffer) X(DestroyBuffer) X(GetBufferMemoryRequirements)      \
            X(GetBufferDeviceAddress) X(AllocateMemory) X(FreeMemory) X(BindBufferMemory) X(MapMemory)                 \
                X(CreateShaderModule) X(DestroyShaderModule) X(CreatePipelineLayout) X(DestroyPipelineLayout)          \
                    X(CreateComputePipelines) X(DestroyPipeline) X(CreateQueryPool) X(DestroyQueryPool)                \
                        X(GetQueryPoolResults) X(CmdBindPipeline) X(CmdPushConstants) X(CmdDispatch)                   \
                            X(CmdPipelineBarrier) X(CmdCopyBuffer) X(CmdFillBuffer) X(CmdResetQueryPool)               \
                                X(CmdWriteTimestamp)

struct vulkan {
#define VULKAN_MEMBER(name) PFN_vk##name name;
    VULKAN_GLOBAL(VULKAN_MEMBER) VULKAN_INSTANCE(VULKAN_MEMBER) VULKAN_MAY(VULKAN_MEMBER) VULKAN_DEVICE(VULKAN_MEMBER)
#undef VULKAN_MEMBER
};

/* Fills in the functions that need no instance. TDM_E_NOT_FOUND: no libvulkan. It stays loaded. */
tdm_status vulkan_load(struct vulkan *vk, tdm_error *err);
/* Those of an instance, and of one of its devices. TDM_E_IO: the driver lacks one. */
tdm_status vulkan_load_instance(struct vulkan *vk, VkInstance instance, tdm_error *err);
tdm_status vulkan_load_device(struct vulkan *vk, VkDevice device, tdm_error *err);

/* If set, called on every table that was filled for an instance or a device, so that tests can replace functions. */
extern void (*vulkan_loaded)(struct vulkan *vk);

/* A result's name, "VK_ERROR_DEVICE_LOST". */
const char *vulkan_result(VkResult result);

#endif
