/* Products of many tokens: they have the bits of those of few, for every kind of weights and however they are tiling; a
 * driver that multiplies wrongly, or does not take the shader, goes without. Quants need a driver with matrix units:
 * Mesa's llvmpipe has them in version 26.2, not in 25.0. */
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include "engine/backend/known.h"
#include "engine/base/clock.h"
#include "engine/gpu/pass/gemm.h"

/* tokens, segments ... of a software device; the shaders for many tokens from 6 on, whether they are faster or not. */
static struct gpu_tuning tuning = {2, 1, 4, 32, 256, 4096, 4096, 32, 100, 0, 6, 2, 2, true, 0};

static struct gpu *open_device(void)
{
    return gpu_rig_open(&(struct gpu_options){.tuning = &tuning});
}

/* Whether it has what such products of these weights need. */
static bool is_there(const struct gpu *g, enum weight_kind kind)
{
    return pack_takes_floats(kind) || g->products.units.m;
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
    uint32_t *khr = gemm_khr(code->words, code->bytes, &bytes);
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
    CHECK(!gemm_khr(shader_codes[SHADER_ACT].words, shader_codes[SHADER_ACT].bytes, &bytes));
}

/* ---- Bits -------------------------------------------------------------------------------------------------------- */

TEST(products_have_the_same_bits_however_they_are_cut)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static const uint32_t cuts[][3] = {{2, 2, 4}, {1, 4, 1}, {5, 2, 8}}; /* parts, groups, segments */
    const struct gpu_tuning before = tuning;
    for (int i = 0; i < (getenv("TANDEM_LONG") ? 3 : 1); i++) { /* drivers on cores compile slowly */
        tuning.gemm_parts = cuts[i][0], tuning.gemm_groups = cuts[i][1], tuning.segments = cuts[i][2];
        struct gpu *g = open_device();
        tuning = before;
        REQUIRE(g != NULL);
        for (enum weight_kind kind = KIND_F32; kind <= KIND_Q6K; kind++) {
            tdm_error err;
            CHECK_INT(TDM_OK, gemm_try(g, kind, &err));
            CHECK_INT(is_there(g, kind) ? GEMM_TAKEN : GEMM_UNTRIED, g->products.proof[kind]);
        }
        CHECK(!strstr(gpu_matrix_units(g), "not"));
        CHECK(!g->products.units.m == !strcmp(gpu_matrix_units(g), "none that multiply int8"));
        gpu_close(g);
    }
}

/* Those that a device chooses from: with as many segments as a variant has teams, with more, with fewer; some segments
 * have a chunk more than others. */
TEST(every_way_to_cut_products_of_floats_has_the_same_bits)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    if (!getenv("TANDEM_LONG")) SKIP("only in the long form: drivers on cores compile for ten seconds");
    static const struct {
        enum weight_kind kind;
        uint32_t segments, subgroup;
    } trials[] = {{KIND_BF16, 8, 32}, {KIND_F32, 2, 1}, {KIND_F16, 16, 32}};
    const struct gpu_tuning before = tuning;
    for (int i = 0; i < 3; i++) {
        tuning.gemm_always = false, tuning.segments = trials[i].segments, tuning.subgroup = trials[i].subgroup;
        struct gpu *g = open_device();
        tuning = before;
        REQUIRE(g != NULL);
        tdm_error err;
        uint32_t n;
        gpu_variants(TYPE_BF16, &n);
        CHECK_INT(TDM_OK, gemm_try(g, trials[i].kind, &err));
        CHECK_INT((1 << n) - 1, g->products.variants[trials[i].kind]);
        gpu_close(g);
    }
}

/* In batches of some, and however many a batch has room for: those of two experts, in another order. */
TEST(rows_of_experts_have_the_same_bits)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu *g = open_device();
    REQUIRE(g != NULL);
    tdm_error err;
    struct gemm_tiling tiling;
    CHECK(!gemm_tile_experts(&tiling, g, KIND_BF16, 64, 3, 8)); /* not tried yet */
    for (enum weight_kind kind = KIND_BF16; kind < WEIGHT_KINDS; kind++) {
        CHECK_INT(TDM_OK, gemm_try(g, kind, &err));
        CHECK_INT(TDM_OK, gemm_try_experts(g, kind, &err));
        CHECK_INT(is_there(g, kind), g->products.expert_variants[kind]);
    }
    CHECK(!gemm_tile_experts(&tiling, g, KIND_BF16, tuning.gemm_tokens - 1, 3, 8));
    REQUIRE(gemm_tile_experts(&tiling, g, KIND_BF16, tuning.gemm_tokens, 3, 8));
    CHECK_INT(16, tiling.tokens);
    g->products.expert_variants[KIND_BF16] = 1 << 4 | 1; /* the next one has room for 32 */
    CHECK(gemm_tile_experts(&tiling, g, KIND_BF16, 31, 3, 8) && tiling.tokens == 16);
    CHECK(gemm_tile_experts(&tiling, g, KIND_BF16, 80, 3, 8) && tiling.tokens == 32);
    gpu_close(g);
}

/* How many matrices are measured depends on the device's speed, but for the first number of tokens. In the short form
 * there are two ways to cut them, which are taken to be right. */
TEST(a_shape_is_measured_once_and_in_time)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    const struct gpu_tuning before = tuning;
    tuning.gemm_always = false, tuning.segments = 8;
    struct gpu *g = open_device();
    tuning = before;
    REQUIRE(g != NULL);
    tdm_error err;
    struct gemm_tiling tiling;
    if (getenv("TANDEM_LONG")) CHECK_INT(TDM_OK, gemm_try(g, KIND_BF16, &err));
    else g->products.proof[KIND_BF16] = GEMM_TAKEN, g->products.variants[KIND_BF16] = 3;
    REQUIRE(g->products.proof[KIND_BF16] == GEMM_TAKEN);
    CHECK_INT(TDM_OK, gemm_choose(g, KIND_BF16, 16, 8, clock_ns() - 1, &err));
    CHECK_INT(0, g->products.n_choices);
    CHECK(gemm_tile(&tiling, g, KIND_BF16, 45, 16, 16, 8)); /* by the rule */
    CHECK(!gemm_tile(&tiling, g, KIND_BF16, 45, 2, 2, 8));
    for (int i = 0; i < 2; i++) {
        int64_t start = clock_ns();
        CHECK_INT(TDM_OK, gemm_choose(g, KIND_BF16, 16, 8, start + 1000000, &err));
        REQUIRE(g->products.n_choices == 1);
    }
    /* All numbers of tokens have the choice of the first one, the others' time was over. */
    bool first = gemm_tile(&tiling, g, KIND_BF16, 16, 16, 16, 8);
    CHECK(gemm_tile(&tiling, g, KIND_BF16, 45, 16, 16, 8) == first &&
          gemm_tile(&tiling, g, KIND_BF16, 600, 16, 16, 8) == first);
    gpu_close(g);
}

/* What another process has measured is taken as it stands; whether bits are right is tried all the same. */
TEST(what_was_measured_is_kept_as_text)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    static const char good[] = "bf16 3584x1024 0/0/0/0/0 2/2/4/4/8 4/2/4/2/8 5/4/4/1/8 4/4/8/1/1\n"
                               "q8_0 64x128 1/4/0/0/0 2/2/0/0/0 4/2/0/0/0 2/4/0/0/0 8/8/0/0/0\n";
    static const char bad[] = "iq9 64x128 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0\n"
                              "bf16 65x128 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0\n"
                              "bf16 64x256 7/7/7/7/7 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0\n"
                              "bf16 64x384 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0\n\n"
                              "bf16 64x512 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0 0/0/0/0/0";
    static char text[GPU_CHOICES_BYTES];
    struct gpu *g = open_device();
    REQUIRE(g != NULL);
    gpu_take_choices(g, bad);
    CHECK_INT(0, g->products.n_choices);
    for (int i = 0; i < 2; i++) gpu_take_choices(g, good);
    CHECK_INT(strlen(good), gpu_choices(g, text, sizeof text));
    CHECK_STR(good, text);
    CHECK_INT(0, gpu_choices(g, text, 10));
    /* From one start to the next. */
    struct gpu_info info;
    char folder[600];
    gpu_about(g, &info);
    snprintf(folder, sizeof folder, "%s/known", check_tmp());
    known_keep_choices(g, folder);
    g->products.n_choices = 0;
    known_take_choices(g, folder, &info);
    CHECK_INT(2, g->products.n_choices);
    struct gemm_tiling tiling;
    g->tuning.gemm_tokens = 9;
    g->products.proof[KIND_BF16] = GEMM_TAKEN;
    g->products.variants[KIND_BF16] = ~0u;
    CHECK(!gemm_tile(&tiling, g, KIND_BF16, 16, 112, 112, 8)); /* by matmul.comp */
    REQUIRE(gemm_tile(&tiling, g, KIND_BF16, 80, 112, 112, 8));
    CHECK(tiling.constants[2] == 2 && tiling.constants[3] == 4);
    uint32_t x = tiling.x;
    g->products.variants[KIND_BF16] = 0; /* no longer right: by the rule */
    REQUIRE(gemm_tile(&tiling, g, KIND_BF16, 80, 112, 112, 8));
    CHECK(tiling.x != x || tiling.constants[3] != 4);
    struct choice c = {.kind = KIND_F16, .chunks = 1};
    for (c.tiles = 1; c.tiles <= MAX_CHOICES; c.tiles++) gemm_add_choice(g, &c);
    CHECK_INT(MAX_CHOICES, g->products.n_choices);
    CHECK_INT(0, gpu_choices(g, text, sizeof text)); /* the oldest are gone, and of these not all was measured */
    gpu_close(g);
}

/* Few outputs are shared among as many workgroups as there are cores, many are multiplied in large tiles. */
TEST(what_was_not_measured_goes_by_the_cores)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu *g = open_device();
    REQUIRE(g != NULL);
    struct gemm_tiling few, many;
    g->tuning.gemm_always = false, g->tuning.segments = 16, g->cores = 132;
    g->products.proof[KIND_BF16] = GEMM_TAKEN, g->products.variants[KIND_BF16] = ~0u;
    REQUIRE(gemm_tile(&few, g, KIND_BF16, 74, 32, 32, 28) && gemm_tile(&many, g, KIND_BF16, 512, 192, 192, 8));
    CHECK(few.x * few.y >= 132 && few.constants[6] == 8); /* teams */
    CHECK(many.constants[2] == 4 && many.constants[3] >= 4);
    g->products.variants[KIND_BF16] = 1 << 5; /* the others give other bits */
    REQUIRE(gemm_tile(&few, g, KIND_BF16, 74, 32, 32, 28));
    CHECK(few.constants[2] == 4 && few.constants[3] == 4);
    gpu_close(g);
}

enum { TOKENS = 45 };

/* In the short form those of a whole tile and of a part of one. */
static uint32_t text_tokens(void)
{
    return getenv("TANDEM_LONG") ? TOKENS : 20;
}

/* The state after passes of so many tokens. */
static struct gpu_state *read_text(struct gpu_model *m, const tdm_id *ids, uint32_t each)
{
    struct gpu_state *s = gpu_rig_state(m);
    gpu_rig_eval(m, s, ids, text_tokens(), each);
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

static const struct {
    const char *name;
    enum weight_kind kind;
} models[] = {{"synthetic:small:bf16", KIND_BF16},
              {"synthetic:small:f16", KIND_F16},
              {"synthetic:small:q4_k", KIND_Q4K},
              {"synthetic:small:q6_k", KIND_Q6K},
              {"tests/goldens/gguf/tiny-a-q8_0.gguf", KIND_Q8}};
enum { MODELS = sizeof models / sizeof *models };

/* ---- Passes, and drivers that do it wrongly
 * ---------------------------------------------------------------------------------- */

static PFN_vkCreateShaderModule real_module;
static PFN_vkCreateComputePipelines real_pipelines;
static PFN_vkCmdBindPipeline real_bind;
static PFN_vkCmdDispatch real_dispatch;
static bool refuses, errs;
static VkShaderModule module;
static VkPipeline pipelines[64], bound;
static int n_pipelines, n_wide; /* dispatches */

static VKAPI_ATTR VkResult VKAPI_CALL watched_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkShaderModule *out)
{
    VkResult result = real_module(device, info, allocator, out);
    bool tile = info->pCode == shader_codes[SHADER_TILE].words;
    if (!result && (tile || count(info->pCode, info->codeSize / 4, 100000 + KHR))) module = *out;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL watched_pipelines(VkDevice device, VkPipelineCache cache, uint32_t n,
                                                        const VkComputePipelineCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator, VkPipeline *out)
{
    bool wide = info->stage.module == module;
    module = VK_NULL_HANDLE; /* its handle may become another one's */
    if (wide && refuses) return VK_ERROR_INITIALIZATION_FAILED;
    VkResult result = real_pipelines(device, cache, n, info, allocator, out);
    if (wide && !result) pipelines[n_pipelines++ % 64] = *out;
    return result;
}

static VKAPI_ATTR void VKAPI_CALL watched_bind(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline)
{
    bound = pipeline;
    real_bind(commands, point, pipeline);
}

/* Counts those of the shaders for many tokens; who errs leaves out a row of workgroups there. */
static VKAPI_ATTR void VKAPI_CALL watched_dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    for (int i = 0; i < n_pipelines && i < 64; i++)
        if (pipelines[i] == bound) {
            n_wide++;
            y -= errs;
        }
    if (y) real_dispatch(commands, x, y, z);
}

static void watch(struct vulkan *vk)
{
    if (!vk->CmdDispatch || vk->CmdDispatch == watched_dispatch) return;
    real_module = vk->CreateShaderModule, vk->CreateShaderModule = watched_module;
    real_pipelines = vk->CreateComputePipelines, vk->CreateComputePipelines = watched_pipelines;
    real_bind = vk->CmdBindPipeline, vk->CmdBindPipeline = watched_bind;
    real_dispatch = vk->CmdDispatch, vk->CmdDispatch = watched_dispatch;
}

static struct gpu *open_watched(bool refusing, bool wrongly)
{
    refuses = refusing, errs = wrongly;
    n_pipelines = n_wide = 0;
    vulkan_loaded = watch;
    struct gpu *g = open_device();
    vulkan_loaded = NULL;
    return g;
}

TEST(passes_of_any_size_have_the_same_bits)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    const struct gpu_tuning before = tuning;
    for (int i = 0; i < MODELS; i++) {
        tdm_id ids[TOKENS];
        /* In the long form, of floats and of quants once a token in one dispatch, where heads of 128 and 256 elements
         * become activations as they are made. */
        uint32_t together = getenv("TANDEM_LONG") && (models[i].kind == KIND_BF16 || models[i].kind == KIND_Q4K);
        tuning = before;
        if (together) tuning.fused_workgroups = 1, tuning.lanes = 256, tuning.segments = 8, tuning.delta_lanes = 128;
        struct gpu *g = open_watched(false, false);
        REQUIRE(g != NULL);
        const char *name = models[i].kind == KIND_BF16 && !getenv("TANDEM_LONG")
                               ? "tests/goldens/gguf/tiny-a-bf16.gguf"
                               : models[i].name;
        if (!is_there(g, models[i].kind) || (models[i].kind == KIND_F16 && !getenv("TANDEM_LONG"))) {
            gpu_close(g);
            continue;
        }
        rig_ids(ids, TOKENS, 500, (uint64_t)i + 1);
        struct gpu_model *m = open_model(g, name);
        REQUIRE(m != NULL);
        CHECK_INT(together, gpu_model_fused_workgroups(m));
        struct gpu_state *one = read_text(m, ids, 1), *five = read_text(m, ids, 5);
        int wide = n_wide;
        struct gpu_state *nine = read_text(m, ids, 9), *all = read_text(m, ids, TOKENS);
        CHECK(n_wide > wide);
        CHECK(gpu_rig_equal(one, five) && gpu_rig_equal(one, nine) && gpu_rig_equal(one, all));
        if (check_failures) printf("# with %s\n", name);
        gpu_state_free(one);
        gpu_state_free(five);
        gpu_state_free(nine);
        gpu_state_free(all);
        gpu_model_free(m);
        gpu_close(g);
    }
    tuning = before;
}

TEST(a_driver_that_multiplies_wrongly_goes_without)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (int i = 0; i < 4; i++) {
        int which = i < 2 ? 0 : MODELS - 1; /* of floats, and by matrix units */
        enum weight_kind kind = models[which].kind;
        struct gpu *g = open_watched(i % 2, true);
        REQUIRE(g != NULL);
        const char *name = which ? models[which].name : "tests/goldens/gguf/tiny-a-bf16.gguf";
        struct gpu_model *m = is_there(g, kind) ? open_model(g, name) : NULL;
        if (m) {
            tdm_id ids[TOKENS];
            rig_ids(ids, TOKENS, 500, 1);
            CHECK_INT(GEMM_DIFFERS, g->products.proof[kind]);
            CHECK(pack_takes_floats(kind) || strstr(gpu_matrix_units(g), ": other bits"));
            int tried = n_wide;
            struct gpu_state *one = read_text(m, ids, 1), *all = read_text(m, ids, TOKENS);
            CHECK(gpu_rig_equal(one, all));
            CHECK_INT(tried, n_wide);
            gpu_state_free(one);
            gpu_state_free(all);
        }
        gpu_model_free(m);
        gpu_close(g);
    }
}
#else
TEST(what_was_measured_is_kept_as_text)
{
    SKIP(gpu_absence());
}
TEST(the_shader_is_one_of_the_khr_extension)
{
    SKIP(gpu_absence());
}
TEST(products_have_the_same_bits_however_they_are_cut)
{
    SKIP(gpu_absence());
}
TEST(every_way_to_cut_products_of_floats_has_the_same_bits)
{
    SKIP(gpu_absence());
}
TEST(a_shape_is_measured_once_and_in_time)
{
    SKIP(gpu_absence());
}
TEST(what_was_not_measured_goes_by_the_cores)
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
          T(every_way_to_cut_products_of_floats_has_the_same_bits), T(rows_of_experts_have_the_same_bits),
          T(a_shape_is_measured_once_and_in_time), T(what_was_measured_is_kept_as_text),
          T(what_was_not_measured_goes_by_the_cores), T(passes_of_any_size_have_the_same_bits),
          T(a_driver_that_multiplies_wrongly_goes_without))
