/* Every function of Vulkan that can fail fails: at its first call and at its last, for want of memory and with the
 * device lost. What was asked for then fails with a line, nothing crashes or stays behind, and a lost device stays
 * lost. And the validation layer, with synchronisation checks on, finds nothing to say of all that goes well. */
#include "tests/check.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include "engine/gpu/device/vulkan.h"

#define FAULTS(X)                                                                                                      \
    X(EnumeratePhysicalDevices, (VkInstance a, uint32_t * b, VkPhysicalDevice * c), (a, b, c))                         \
    X(CreateDevice, (VkPhysicalDevice a, const VkDeviceCreateInfo *b, const VkAllocationCallbacks *c, VkDevice *d),    \
      (a, b, c, d))                                                                                                    \
    X(QueueSubmit, (VkQueue a, uint32_t b, const VkSubmitInfo *c, VkFence d), (a, b, c, d))                            \
    X(CreateFence, (VkDevice a, const VkFenceCreateInfo *b, const VkAllocationCallbacks *c, VkFence *d), (a, b, c, d)) \
    X(ResetFences, (VkDevice a, uint32_t b, const VkFence *c), (a, b, c))                                              \
    X(WaitForFences, (VkDevice a, uint32_t b, const VkFence *c, VkBool32 d, uint64_t e), (a, b, c, d, e))              \
    X(CreateCommandPool,                                                                                               \
      (VkDevice a, const VkCommandPoolCreateInfo *b, const VkAllocationCallbacks *c, VkCommandPool *d), (a, b, c, d))  \
    X(AllocateCommandBuffers, (VkDevice a, const VkCommandBufferAllocateInfo *b, VkCommandBuffer *c), (a, b, c))       \
    X(BeginCommandBuffer, (VkCommandBuffer a, const VkCommandBufferBeginInfo *b), (a, b))                              \
    X(EndCommandBuffer, (VkCommandBuffer a), (a))                                                                      \
    X(CreateBuffer, (VkDevice a, const VkBufferCreateInfo *b, const VkAllocationCallbacks *c, VkBuffer *d),            \
      (a, b, c, d))                                                                                                    \
    X(AllocateMemory, (VkDevice a, const VkMemoryAllocateInfo *b, const VkAllocationCallbacks *c, VkDeviceMemory *d),  \
      (a, b, c, d))                                                                                                    \
    X(BindBufferMemory, (VkDevice a, VkBuffer b, VkDeviceMemory c, VkDeviceSize d), (a, b, c, d))                      \
    X(MapMemory, (VkDevice a, VkDeviceMemory b, VkDeviceSize c, VkDeviceSize d, VkMemoryMapFlags e, void **f),         \
      (a, b, c, d, e, f))                                                                                              \
    X(CreateShaderModule,                                                                                              \
      (VkDevice a, const VkShaderModuleCreateInfo *b, const VkAllocationCallbacks *c, VkShaderModule *d),              \
      (a, b, c, d))                                                                                                    \
    X(CreatePipelineLayout,                                                                                            \
      (VkDevice a, const VkPipelineLayoutCreateInfo *b, const VkAllocationCallbacks *c, VkPipelineLayout *d),          \
      (a, b, c, d))                                                                                                    \
    X(CreateComputePipelines,                                                                                          \
      (VkDevice a, VkPipelineCache b, uint32_t c, const VkComputePipelineCreateInfo *d,                                \
       const VkAllocationCallbacks *e, VkPipeline *f),                                                                 \
      (a, b, c, d, e, f))

enum fault {
#define NAME(name, parameters, arguments) FAULT_##name,
    FAULTS(NAME) FAULT_COUNT
#undef NAME
};

static const char *const names[] = {
#define NAME(name, parameters, arguments) "vk" #name,
    FAULTS(NAME)
#undef NAME
};

static struct vulkan real;
static int calls[FAULT_COUNT], failing = -1, failing_call;
static bool every_later; /* not the one call alone */
static VkResult failure;

static bool fails(enum fault f)
{
    int call = ++calls[f];
    return (int)f == failing && (call == failing_call || (every_later && call > failing_call));
}

#define FAULTY(name, parameters, arguments)                                                                            \
    static VKAPI_ATTR VkResult VKAPI_CALL faulty_##name parameters                                                     \
    {                                                                                                                  \
        return fails(FAULT_##name) ? failure : real.name arguments;                                                    \
    }
FAULTS(FAULTY)
#undef FAULTY

static void put_faults(struct vulkan *vk)
{
#define PUT(name, parameters, arguments)                                                                               \
    if (vk->name && vk->name != faulty_##name) {                                                                       \
        real.name = vk->name;                                                                                          \
        vk->name = faulty_##name;                                                                                      \
    }
    FAULTS(PUT)
#undef PUT
}

/* Drafts, and a run of which first all tokens, then some, turn out right. */
static tdm_status draft_and_accept(struct gpu_model *m, struct gpu_state *s, tdm_error *err)
{
    enum { RUN = 3 };
    static float all[RUN * 512];
    tdm_id ids[RUN] = {5, 6, 7};
    struct gpu_kept *kept = NULL;
    tdm_status status = gpu_draft(s, ids[0], RUN - 1, ids + 1, NULL, err);
    if (!status) status = gpu_kept_new(&kept, m, err);
    struct gpu_run run = {.state = s, .tokens = ids, .n = RUN, .logits = GPU_LOGITS_ALL, .all = all, .kept = kept};
    for (uint32_t rows = RUN; rows > 1 && !status; rows--) {
        status = gpu_forward(m, &run, 1, NULL, err);
        if (!status) status = gpu_accept(&run, rows, err);
    }
    gpu_kept_free(kept);
    return status;
}

/* Everything once: passes, states, copies; the first failure ends it. */
static tdm_status use(struct gpu *g, struct gpu_model *m, tdm_error *err)
{
    static const tdm_id ids[] = {5, 6, 7, 8, 9, 10, 11};
    struct gpu_state *s = NULL, *fork = NULL;
    struct gpu_image image = {0};
    struct gpu_run run = {.tokens = ids, .n = 7, .logits = GPU_LOGITS_LAST};
    tdm_status status = gpu_state_new(&s, m, err);
    run.state = s;
    if (!status) status = gpu_forward(m, &run, 1, NULL, err);
    if (!status) status = gpu_state_fork(&fork, s, err);
    run.n = 1;
    for (int i = 0; i < 2 && !status; i++) status = gpu_forward(m, &run, 1, NULL, err);
    run.logits = GPU_LOGITS_TOPK;
    if (!status) status = gpu_forward(m, &run, 1, NULL, err);
    if (!status) status = gpu_state_copy(fork, s, err);
    const float *all;
    if (!status) status = gpu_state_fetch_logits(fork, &all, err);
    if (!status) status = gpu_state_copy(s, fork, err);
    if (!status) {
        image.pages[0] = calloc(1, gpu_part_bytes(m, GPU_PAGES));
        image.recurrent = calloc(gpu_rig_floats(m, GPU_RECURRENT), sizeof(float));
        image.conv = calloc(gpu_rig_floats(m, GPU_CONV), sizeof(float));
        image.head_pages = calloc(1, gpu_part_bytes(m, GPU_HEAD_PAGES));
        image.waiting = calloc((size_t)GPU_WAITING, gpu_part_bytes(m, GPU_WAITING_ROWS));
        status = gpu_rig_save(s, &image, err);
    }
    if (!status) status = gpu_rig_load(fork, &image, err);
    if (!status) status = draft_and_accept(m, s, err);
    if (status == TDM_E_IO && s) { /* from now on nothing works */
        struct gpu_state *more;
        CHECK_INT(TDM_E_IO, gpu_state_new(&more, m, NULL));
        CHECK_INT(TDM_E_IO, gpu_state_copy(s, s, NULL));
        (void)g;
    }
    gpu_state_free(s);
    gpu_state_free(fork);
    gpu_rig_image_free(&image);
    return status;
}

static tdm_status scenario(const struct gpu_options *options, uint32_t *complaints, tdm_error *err)
{
    struct gpu *g;
    struct gpu_model *m = NULL;
    struct source *source;
    struct gpu_model_options wanted = {.lm_head = TYPE_COUNT, .kv = KV_F16, .context = 64, .tokens = 8, .runs = 2};
    memset(calls, 0, sizeof calls);
    tdm_status status = gpu_open(&g, gpu_rig_name(), options, err);
    if (status) return status;
    memset(calls, 0, sizeof calls); /* gpu_rig_name has opened an instance of its own */
    status = source_open(&source, "tests/goldens/gguf/tiny-d-q8_0.gguf", NULL, err);
    if (!status) status = gpu_model_new(&m, g, source, &wanted, err);
    source_close(source);
    if (!status) status = gpu_model_prepare(m, err);
    if (!status) status = use(g, m, err);
    gpu_model_free(m);
    CHECK(gpu_used(g) <= 2 * (16 << 20)); /* staging memory */
    if (complaints) {
        *complaints = gpu_validation_messages(g);
        if (*complaints) printf("# %s\n", gpu_first_validation_message(g));
    }
    gpu_close(g);
    return status;
}

static void fail_at(enum fault f, int call, VkResult with, bool later)
{
    tdm_error err = {0};
    failing = f, failing_call = call, failure = with, every_later = later;
    tdm_status status = scenario(NULL, NULL, &err);
    failing = -1;
    /* Memory of one kind may be had elsewhere; what is only enumerated for tests' sake need not be asked again. */
    bool may = with == VK_ERROR_OUT_OF_DEVICE_MEMORY && !later && f == FAULT_AllocateMemory;
    if (!status && !may) CHECK_FAIL("%s failed at call %d and nothing was said", names[f], call);
    if (status && (!err.text[0] || strchr(err.text, '\n'))) CHECK_FAIL("%s: no line", names[f]);
}

TEST(every_call_fails_once)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    int last[FAULT_COUNT];
    bool all = getenv("TANDEM_LONG");
    tdm_error err;
    vulkan_loaded = put_faults;
    REQUIRE(!scenario(NULL, NULL, &err));
    memcpy(last, calls, sizeof last);
    for (int f = FAULT_QueueSubmit; f < FAULT_COUNT; f++) {
        if (!last[f]) continue; /* while opening only: below */
        /* The short form has one of the two for each function, mostly the first call, until which less is done. */
        bool late = f % 4 == FAULT_QueueSubmit;
        if (all || !late) fail_at(f, 1, VK_ERROR_OUT_OF_DEVICE_MEMORY, true);
        if (all || late) fail_at(f, last[f], VK_ERROR_DEVICE_LOST, false);
    }
    vulkan_loaded = NULL;
}

/* While the device is opened. */
TEST(opening_fails)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static const enum fault opening[] = {
        FAULT_EnumeratePhysicalDevices, FAULT_CreateDevice,           FAULT_CreateFence,
        FAULT_CreateCommandPool,        FAULT_AllocateCommandBuffers, FAULT_CreatePipelineLayout};
    char name[32];
    snprintf(name, sizeof name, "%s", gpu_rig_name());
    vulkan_loaded = put_faults;
    for (size_t i = 0; i < sizeof opening / sizeof *opening; i++) {
        struct gpu *g;
        tdm_error err = {0};
        memset(calls, 0, sizeof calls);
        failing = opening[i], failing_call = 1, failure = VK_ERROR_OUT_OF_HOST_MEMORY, every_later = false;
        if (!gpu_open(&g, name, NULL, &err) || g || !err.text[0]) CHECK_FAIL("%s: opened", names[opening[i]]);
    }
    failing = -1;
    vulkan_loaded = NULL;
    struct gpu *g;
    tdm_error err;
    CHECK_INT(TDM_E_ARG, gpu_open(&g, "gpux", NULL, &err));
    CHECK_INT(TDM_E_ARG, gpu_open(&g, "gpu:", NULL, &err));
    CHECK_INT(TDM_E_NOT_FOUND, gpu_open(&g, "gpu:77", NULL, &err));
}

/* Several tokens in one submission: all or none of them are the state's, which is broken where some may be there. */
TEST(a_reply_fails)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static const enum fault faults[] = {FAULT_AllocateCommandBuffers, FAULT_BeginCommandBuffer,
                                        FAULT_EndCommandBuffer,       FAULT_ResetFences,
                                        FAULT_QueueSubmit,            FAULT_WaitForFences};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (i % 3 && !getenv("TANDEM_LONG")) continue;
        static const tdm_id ids[] = {5, 6, 7};
        tdm_id sampled[GPU_BURST];
        tdm_error err = {0};
        uint32_t appended = 0;
        vulkan_loaded = put_faults;
        struct gpu *g = gpu_rig_open(&(struct gpu_options){.tuning = &gpu_rig_fused});
        struct gpu_model *m = g ? gpu_rig_model(g, "tests/goldens/gguf/tiny-a-q8_0.gguf", KV_Q8_0) : NULL;
        REQUIRE(m && gpu_model_burst(m) > 1);
        struct gpu_state *s = gpu_rig_state(m);
        gpu_rig_eval(m, s, ids, 3, 3);
        memset(calls, 0, sizeof calls);
        failing = faults[i], failing_call = 1, failure = VK_ERROR_DEVICE_LOST, every_later = false;
        struct gpu_reply reply = {.state = s, .next = 9, .n = 4};
        CHECK_INT(TDM_E_IO, gpu_reply(&reply, sampled, &appended, &err));
        failing = -1;
        CHECK(calls[faults[i]] && err.text[0] && gpu_is_lost(g));
        CHECK_INT(3, gpu_state_length(s));
        CHECK(gpu_state_broken(s) == (i >= 3)); /* the commands were there */
        CHECK(!memcmp(gpu_state_tokens(s), ids, sizeof ids));
        gpu_state_free(s);
        gpu_model_free(m);
        gpu_close(g);
        vulkan_loaded = NULL;
    }
}

TEST(validation_is_silent)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    tdm_error err = {0};
    uint32_t complaints = 0;
    tdm_status status = scenario(&(struct gpu_options){.validate = true}, &complaints, &err);
    if (status && strstr(err.text, "LAYER_NOT_PRESENT")) SKIP("vulkan-validationlayers is not installed");
    if (status) CHECK_FAIL("%s", err.text);
    CHECK_INT(0, complaints);
}
#else
TEST(every_call_fails_once)
{
    SKIP(gpu_absence());
}
TEST(opening_fails)
{
    SKIP(gpu_absence());
}
TEST(a_reply_fails)
{
    SKIP(gpu_absence());
}
TEST(validation_is_silent)
{
    SKIP(gpu_absence());
}
#endif

TEST_MAIN(T(every_call_fails_once), T(opening_fails), T(a_reply_fails), T(validation_is_silent))
