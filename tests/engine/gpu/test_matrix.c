/* Products by matrix units: the bits of products without them, for every kind of weights and however they are cut; a
 * driver that multiplies wrongly, or does not take the shader, goes without. Where the driver has no
 * matrix units (Mesa's llvmpipe has them in version 26.2, not in 25.0) all but the shader's translation is skipped. */
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include "engine/gpu/matrix.h"

/* tokens, segments ... of a software device; matrix units from 6 tokens on, whether they are faster or not. */
static struct gpu_tuning tuning = {4, 1, 8, 32, 32, 4096, 4096, 32, 100, 0, 6, 3, 8, true};

/* A device with units, in `g`; else the reason for a skip. */
static const char *open_units(struct gpu **g)
{
    *g = NULL;
    if (gpu_rig_absence()) return gpu_rig_absence();
    *g = gpu_rig_open(&(struct gpu_options){.tuning = &tuning});
    if (*g && (*g)->matrix.m) return NULL;
    gpu_close(*g);
    return "the driver has no matrix units for int8";
}

/* ---- The shader -------------------------------------------------------------------------------------------------- */

enum { CAPABILITY = 17, NV = 5357, NV_LAST = 5362, KHR = 6022, KHR_TYPE = 4456, KHR_LOAD, KHR_MUL_ADD = 4459 };

/* Instructions of a kind; a capability's is 100000 more than what it names. */
static int count(const uint32_t *words, size_t n, uint32_t what)
{
    int found = 0;
    for (size_t i = 5; i < n; i += words[i] >> 16) {
        if (!(words[i] >> 16)) return -1;
        uint32_t op = words[i] & 0xffff;
        found += (op == CAPABILITY ? 100000 + words[i + 1] : op) == what;
    }
    return found;
}

TEST(the_shader_is_one_of_the_khr_extension)
{
    const struct shader_code *code = &shader_codes[SHADER_MATRIX];
    size_t bytes, n;
    uint32_t *khr = matrix_khr(code->words, code->bytes, &bytes);
    REQUIRE(khr != NULL);
    n = bytes / sizeof *khr;
    CHECK_INT(1, count(code->words, code->bytes / sizeof *khr, 100000 + NV));
    CHECK_INT(0, count(khr, n, 100000 + NV));
    CHECK_INT(1, count(khr, n, 100000 + KHR));
    for (uint32_t op = NV; op <= NV_LAST; op++) CHECK_INT(0, count(khr, n, op));
    CHECK_INT(3, count(khr, n, KHR_TYPE));
    CHECK_INT(3, count(khr, n, KHR_LOAD));
    CHECK_INT(1, count(khr, n, KHR_MUL_ADD));
    free(khr);
    CHECK(!matrix_khr(shader_codes[SHADER_ACT].words, shader_codes[SHADER_ACT].bytes, &bytes));
}

/* ---- Bits -------------------------------------------------------------------------------------------------------- */

TEST(products_have_the_same_bits_however_they_are_cut)
{
    static const uint32_t cuts[][3] = {{1, 4, 1}, {2, 8, 4}, {5, 4, 8}, {3, 16, 2}}; /* parts, groups, segments */
    const struct gpu_tuning before = tuning;
    for (int i = 0; i < 4; i++) {
        struct gpu *g;
        tuning.matrix_parts = cuts[i][0], tuning.matrix_groups = cuts[i][1], tuning.segments = cuts[i][2];
        const char *absence = open_units(&g);
        tuning = before;
        if (absence) SKIP(absence);
        for (enum weight_kind kind = KIND_Q8; kind <= KIND_Q6K; kind++) {
            tdm_error err;
            CHECK_INT(TDM_OK, matrix_try(g, kind, &err));
            CHECK_INT(MATRIX_TAKEN, g->matrix.proof[kind]);
        }
        CHECK(!strstr(gpu_matrix_units(g), "not"));
        gpu_close(g);
    }
}

enum { TOKENS = 45 };

/* The state after passes of so many tokens. */
static struct gpu_state *read_text(struct gpu_model *m, const tdm_id *ids, uint32_t each)
{
    struct gpu_state *s = gpu_rig_state(m);
    gpu_rig_eval(m, s, ids, TOKENS, each);
    return s;
}

static struct gpu_model *open_model(struct gpu *g, const char *name)
{
    struct gpu_model *m = NULL;
    struct source *source = NULL;
    tdm_error err = {0};
    struct gpu_model_options o = {
        .lm_head = TYPE_COUNT, .kv = KV_F16, .context = GPU_RIG_CONTEXT, .tokens = TOKENS, .runs = 1};
    tdm_status status = source_open(&source, name, NULL, &err);
    if (!status) status = gpu_model_new(&m, g, source, &o, &err);
    source_close(source);
    if (status) CHECK_FAIL("%s", err.text);
    return m;
}

static uint32_t pipelines_of(const struct gpu *g, enum shader shader)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_pipelines; i++) n += g->pipelines[i].shader == shader;
    return n;
}

TEST(passes_of_any_size_have_the_same_bits)
{
    static const char *const models[] = {"synthetic:small:q4_k", "synthetic:small:q6_k",
                                         "tests/goldens/gguf/tiny-a-q8_0.gguf"};
    for (int i = 0; i < 3; i++) {
        struct gpu *g;
        const char *absence = open_units(&g);
        if (absence) SKIP(absence);
        tdm_id ids[TOKENS];
        rig_ids(ids, TOKENS, 500, (uint64_t)i + 1);
        struct gpu_model *m = open_model(g, models[i]);
        REQUIRE(m != NULL);
        struct gpu_state *one = read_text(m, ids, 1), *five = read_text(m, ids, 5);
        uint32_t before = pipelines_of(g, SHADER_MATRIX);
        struct gpu_state *nine = read_text(m, ids, 9), *all = read_text(m, ids, TOKENS);
        CHECK(pipelines_of(g, SHADER_MATRIX) > before);
        CHECK(gpu_rig_equal(one, five) && gpu_rig_equal(one, nine) && gpu_rig_equal(one, all));
        if (check_failures) printf("# with %s\n", models[i]);
        gpu_state_free(one);
        gpu_state_free(five);
        gpu_state_free(nine);
        gpu_state_free(all);
        gpu_model_free(m);
        gpu_close(g);
    }
}

/* ---- Drivers that do it wrongly ---------------------------------------------------------------------------------- */

static PFN_vkCreateShaderModule real_module;
static PFN_vkCreateComputePipelines real_pipelines;
static PFN_vkCmdBindPipeline real_bind;
static PFN_vkCmdDispatch real_dispatch;
static bool refuses;
static VkShaderModule module;
static VkPipeline pipelines[64], bound;
static int n_pipelines;

static VKAPI_ATTR VkResult VKAPI_CALL watched_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkShaderModule *out)
{
    VkResult result = real_module(device, info, allocator, out);
    if (!result && count(info->pCode, info->codeSize / 4, 100000 + KHR)) module = *out;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL watched_pipelines(VkDevice device, VkPipelineCache cache, uint32_t n,
                                                        const VkComputePipelineCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator, VkPipeline *out)
{
    bool units = info->stage.module == module;
    module = VK_NULL_HANDLE; /* its handle may become another one's */
    if (units && refuses) return VK_ERROR_INITIALIZATION_FAILED;
    VkResult result = real_pipelines(device, cache, n, info, allocator, out);
    if (units && !result) pipelines[n_pipelines++ % 64] = *out;
    return result;
}

static VKAPI_ATTR void VKAPI_CALL watched_bind(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline)
{
    bound = pipeline;
    real_bind(commands, point, pipeline);
}

/* A workgroup less than asked for, where matrix units are to be used. */
static VKAPI_ATTR void VKAPI_CALL wrong_dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    for (int i = 0; i < n_pipelines && i < 64; i++)
        if (pipelines[i] == bound) y--;
    if (y) real_dispatch(commands, x, y, z);
}

static void put_wrong(struct vulkan *vk)
{
    if (!vk->CmdDispatch || vk->CmdDispatch == wrong_dispatch) return;
    real_module = vk->CreateShaderModule, vk->CreateShaderModule = watched_module;
    real_pipelines = vk->CreateComputePipelines, vk->CreateComputePipelines = watched_pipelines;
    real_bind = vk->CmdBindPipeline, vk->CmdBindPipeline = watched_bind;
    real_dispatch = vk->CmdDispatch, vk->CmdDispatch = wrong_dispatch;
}

TEST(a_driver_that_multiplies_wrongly_goes_without)
{
    for (int i = 0; i < 2; i++) {
        struct gpu *g;
        refuses = i == 1;
        n_pipelines = 0;
        vulkan_loaded = put_wrong;
        const char *absence = open_units(&g);
        vulkan_loaded = NULL;
        if (absence) SKIP(absence);
        tdm_id ids[TOKENS];
        rig_ids(ids, TOKENS, 500, 1);
        struct gpu_model *m = open_model(g, "tests/goldens/gguf/tiny-a-q8_0.gguf");
        REQUIRE(m != NULL);
        CHECK(strstr(gpu_matrix_units(g), "not for Q8_0: other bits"));
        CHECK_INT(refuses ? 0 : 3, n_pipelines);
        struct gpu_state *one = read_text(m, ids, 1), *all = read_text(m, ids, TOKENS);
        CHECK(gpu_rig_equal(one, all));
        CHECK_INT(refuses ? 0 : 3, n_pipelines);
        gpu_state_free(one);
        gpu_state_free(all);
        gpu_model_free(m);
        gpu_close(g);
    }
}
#else
TEST(the_shader_is_one_of_the_khr_extension)
{
    SKIP(gpu_absence());
}
TEST(products_have_the_same_bits_however_they_are_cut)
{
    SKIP(gpu_absence());
}
TEST(passes_of_any_size_have_the_same_bits)
{
    SKIP(gpu_absence());
}
TEST(a_driver_that_multiplies_wrongly_goes_without)
{
    SKIP(gpu_absence());
}
#endif

TEST_MAIN(T(the_shader_is_one_of_the_khr_extension), T(products_have_the_same_bits_however_they_are_cut),
          T(passes_of_any_size_have_the_same_bits), T(a_driver_that_multiplies_wrongly_goes_without))
