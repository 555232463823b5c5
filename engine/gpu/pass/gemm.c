#include "engine/gpu/pass/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/pass/pass.h"
#include "engine/gpu/tune/measure.h"
#include "engine/model/half.h"

/* ---- The matrix units of a device -------------------------------------------------------------------------------- */

/* Whether matrix.comp takes such products. */
static bool suits(const VkCooperativeMatrixPropertiesKHR *p, uint32_t lanes)
{
    const VkComponentTypeKHR bytes = VK_COMPONENT_TYPE_SINT8_KHR, sums = VK_COMPONENT_TYPE_SINT32_KHR;
    if (p->AType != bytes || p->BType != bytes || p->CType != sums || p->ResultType != sums) return false;
    if (p->saturatingAccumulation || p->scope != VK_SCOPE_SUBGROUP_KHR) return false;
    bool rows = p->MSize == 8 || p->MSize == 16 || p->MSize == 32;
    bool depth = p->KSize == 8 || p->KSize == 16 || p->KSize == 32;
    return rows && depth && p->NSize >= 8 && p->NSize <= 32 && p->NSize % 8 == 0 && p->MSize * p->NSize % lanes == 0;
}

static bool is_8_or_16(uint32_t n)
{
    return n == 8 || n == 16;
}

/* Whether the shaders of pictures take such products. */
static bool suits_pictures(const VkCooperativeMatrixPropertiesKHR *p, uint32_t lanes)
{
    const VkComponentTypeKHR halves = VK_COMPONENT_TYPE_FLOAT16_KHR, sums = VK_COMPONENT_TYPE_FLOAT32_KHR;
    if (p->AType != halves || p->BType != halves || p->CType != sums || p->ResultType != sums) return false;
    return p->scope == VK_SCOPE_SUBGROUP_KHR && is_8_or_16(p->MSize) && is_8_or_16(p->NSize) && is_8_or_16(p->KSize) &&
           p->MSize * p->NSize % lanes == 0;
}

/* The larger ones. */
static void take_units(struct matrix_units *best, const VkCooperativeMatrixPropertiesKHR *p, uint32_t lanes)
{
    if (p->MSize * p->NSize * p->KSize > best->m * best->n * best->k)
        *best = (struct matrix_units){.m = p->MSize, .n = p->NSize, .k = p->KSize, .lanes = lanes};
}

/* Lanes of a subgroup, where they are always as many; 0: not. */
static uint32_t lanes_of(const struct gpu *g)
{
    VkPhysicalDeviceVulkan13Properties p13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &p13};
    g->vk.GetPhysicalDeviceProperties2(g->physical, &p);
    return p13.minSubgroupSize == p13.maxSubgroupSize ? p13.minSubgroupSize : 0;
}

/* Which of the two kinds of units its other features let shaders use. */
static void has_features(const struct gpu *g, bool *bytes, bool *halves)
{
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .pNext = &matrix};
    VkPhysicalDeviceFeatures2 f = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f12};
    VkPhysicalDeviceVulkan11Properties p11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &p11};
    g->vk.GetPhysicalDeviceFeatures2(g->physical, &f);
    g->vk.GetPhysicalDeviceProperties2(g->physical, &p);
    bool any = matrix.cooperativeMatrix && f12.vulkanMemoryModel;
    *bytes = any && f12.shaderInt8;
    *halves = any && f12.shaderFloat16 && p11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_VOTE_BIT;
}

void gemm_find_units(struct gpu *g)
{
    enum { LIMIT = 256 };
    uint32_t n = LIMIT, lanes = lanes_of(g);
    bool bytes, halves;
    if (!lanes || !g->vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR) return;
    has_features(g, &bytes, &halves);
    VkCooperativeMatrixPropertiesKHR *all = calloc(LIMIT, sizeof *all);
    for (uint32_t i = 0; i < LIMIT && all; i++) all[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    VkResult result =
        all ? g->vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(g->physical, &n, all) : VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < n && (!result || result == VK_INCOMPLETE); i++) {
        if (bytes && suits(&all[i], lanes)) take_units(&g->products.units, &all[i], lanes);
        if (halves && suits_pictures(&all[i], lanes)) take_units(&g->products.halves, &all[i], lanes);
    }
    free(all);
}

/* Of tile.comp: rows and tokens of a group and a part; how many groups it takes, and how many of both and of teams
 * multiplied: more need more registers, or more shared memory, than there are. */
enum { TILE_SIDE = 16, TILE_GROUPS = 4, TILE_MAX = 20 };

/* ---- How a product is tiled -------------------------------------------------------------------------------------- */

/* What gemm_parts and gemm_groups count. */
static uint32_t part_tokens(const struct gpu *g, enum weight_kind kind)
{
    return pack_takes_floats(kind) ? TILE_SIDE : g->products.units.n;
}

static uint32_t group_rows(const struct gpu *g, enum weight_kind kind)
{
    return pack_takes_floats(kind) ? TILE_SIDE : g->products.units.m;
}

/* Whether matrix.comp's shared memory is there. */
static bool fits(const struct gpu *g, enum weight_kind kind, uint32_t parts, uint32_t groups, uint32_t teams)
{
    const struct matrix_units *u = &g->products.units;
    if (pack_takes_floats(kind)) return groups <= TILE_GROUPS && parts * groups * teams <= TILE_MAX;
    uint32_t block = kind == KIND_Q6K ? 16 : 32, place = u->k > block ? u->k : block;
    uint32_t row = PACK_COLS / block * place + 16 + (kind == KIND_Q8 || kind == KIND_MXFP4 ? 4 : 9) * 4;
    uint32_t token = PACK_COLS + 16 + (kind == KIND_Q4K ? 5 : 1) * 4;
    return groups * u->m * row + parts * u->n * token <= g->shared_bytes;
}

/* Whether the device has what products of these weights would take. */
static bool exists(const struct gpu *g, enum weight_kind kind)
{
    return pack_takes_floats(kind) || g->products.units.m;
}

/* experts: the constant of the shaders. */
static bool tile_as(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                    uint32_t tiles, uint32_t segments, struct gpu_variant variant, uint32_t experts)
{
    const struct matrix_units *u = &g->products.units;
    uint32_t parts = variant.parts, groups = variant.groups,
             teams = variant.teams < segments ? variant.teams : segments;
    if (!exists(g, kind) || groups * group_rows(g, kind) % PACK_ROWS || !fits(g, kind, parts, groups, teams))
        return false;
    *out = (struct gemm_tiling){.x = ceiling(tokens, parts * part_tokens(g, kind)),
                                .y = ceiling(tiles * PACK_ROWS, groups * group_rows(g, kind)),
                                .tokens = parts * part_tokens(g, kind)};
    if (pack_takes_floats(kind)) {
        const uint32_t constants[] = {kind,          segments, groups,        parts,  g->tuning.subgroup,
                                      variant.quads, teams,    variant.apart, experts};
        out->shader = SHADER_TILE, out->n = sizeof constants / sizeof *constants;
        memcpy(out->constants, constants, sizeof constants);
    } else {
        const uint32_t constants[GEMM_CONSTANTS] = {
            kind, segments, u->m, u->n, u->k, u->m * u->n / u->lanes, parts, groups, groups * u->lanes, experts};
        out->shader = SHADER_MATRIX, out->n = GEMM_CONSTANTS;
        memcpy(out->constants, constants, sizeof constants);
    }
    return true;
}

bool gemm_tile_as(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
                  uint32_t segments, struct gpu_variant variant)
{
    return tile_as(out, g, kind, tokens, tiles, segments, variant, 0);
}

enum { FEW_TILES = 4 };

/* By a rule, with what the tuning has at most. */
static void tile_by_rule(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                         uint32_t tiles, uint32_t segments)
{
    const struct gpu_tuning *t = &g->tuning;
    uint32_t rows = group_rows(g, kind), units = ceiling(tokens, part_tokens(g, kind));
    uint32_t parts = 1, groups = PACK_ROWS / rows;
    /* As few places as possible that have no token. */
    for (uint32_t i = 2; i <= t->gemm_parts && i <= units; i++)
        if (ceiling(units, i) * i <= ceiling(units, parts) * parts && fits(g, kind, i, groups, 1)) parts = i;
    /* More rows share what is read of the activations, as long as every core has a workgroup or two. */
    while (2 * groups <= t->gemm_groups && fits(g, kind, parts, 2 * groups, 1) &&
           ceiling(units, parts) * ceiling(tiles * PACK_ROWS, 2 * groups * rows) >= 2 * g->cores)
        groups *= 2;
    struct gpu_variant variant = {(uint8_t)parts, (uint8_t)groups, 8, 1, 1};
    assert_always(gemm_tile_as(out, g, kind, tokens, tiles, segments, variant));
}

/* Each is best for some product on some device, or may be. Of float types those with teams are for products with few
 * outputs for this many cores: a lane has 64 or 80 sums all the same, as in a large tile. Large tiles have 4 quads, for
 * two workgroups a core, or 8, for long stretches without a barrier. The last one is for subgroups of fewer than 32
 * lanes, where totals of lanes that are 8 apart go through shared memory. */
enum { QUANT_VARIANTS = 8, FLOAT_VARIANTS = 10, MAX_VARIANTS = FLOAT_VARIANTS };
static const struct gpu_variant quant_variants[QUANT_VARIANTS] = {{1, 4, 0, 0, 0}, {2, 2, 0, 0, 0}, {4, 2, 0, 0, 0},
                                                                  {2, 4, 0, 0, 0}, {4, 4, 0, 0, 0}, {5, 4, 0, 0, 0},
                                                                  {5, 8, 0, 0, 0}, {8, 8, 0, 0, 0}};
static const struct gpu_variant float_variants[FLOAT_VARIANTS] = {
    {1, 2, 4, 8, 8}, {2, 2, 4, 4, 8}, {4, 2, 4, 2, 8}, {5, 2, 4, 2, 8}, {2, 4, 4, 2, 8},
    {4, 4, 4, 1, 8}, {5, 4, 4, 1, 8}, {4, 4, 8, 1, 8}, {5, 4, 8, 1, 8}, {4, 4, 8, 1, 1}};

const struct gpu_variant *gpu_variants(enum type type, uint32_t *n)
{
    bool floats = pack_takes_floats(pack_kind(type));
    *n = floats ? FLOAT_VARIANTS : QUANT_VARIANTS;
    return floats ? float_variants : quant_variants;
}

const enum type gemm_types[WEIGHT_KINDS] = {
    [KIND_F32] = TYPE_F32,  [KIND_F16] = TYPE_F16,  [KIND_BF16] = TYPE_BF16,  [KIND_Q8] = TYPE_Q8_0,
    [KIND_Q4K] = TYPE_Q4_K, [KIND_Q6K] = TYPE_Q6_K, [KIND_MXFP4] = TYPE_MXFP4};

const uint32_t gemm_sizes[CHOICE_SIZES] = {16, 48, 80, 128, 512};

static const struct choice *choice_of(const struct gpu *g, enum weight_kind kind, uint32_t tiles, uint32_t chunks)
{
    for (uint32_t i = 0; i < g->products.n_choices; i++)
        if (g->products.choices[i].kind == kind && g->products.choices[i].tiles == tiles &&
            g->products.choices[i].chunks == chunks)
            return &g->products.choices[i];
    return NULL;
}

/* The variant that is likely to be best, of float types on a device whose cores are known; false: none is. A
 * workgroup's time is that of its multiplications, and of what it reads for them; a core takes two workgroups at once.
 */
static bool likely_tiling(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                          uint32_t tiles, uint32_t segments)
{
    uint32_t n, least = UINT32_MAX;
    const struct gpu_variant *variants = gpu_variants(gemm_types[kind], &n);
    if (!pack_takes_floats(kind) || !g->cores || g->tuning.gemm_always) return false;
    for (uint32_t i = 0; i < n; i++) {
        struct gpu_variant w = variants[i];
        struct gemm_tiling tiling;
        if (!(g->products.variants[kind] >> i & 1) || !gemm_tile_as(&tiling, g, kind, tokens, tiles, segments, w))
            continue;
        uint32_t time = ceiling(tiling.x * tiling.y, 2 * g->cores) * (w.parts * w.groups + w.parts + w.groups);
        if (time < least) least = time, *out = tiling;
    }
    return least < UINT32_MAX;
}

static bool tile_as_known(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                          uint32_t tiles, uint32_t all, uint32_t chunks)
{
    uint32_t at = 0, segments = record_segments(&g->tuning, chunks);
    if (g->products.proof[kind] != GEMM_TAKEN || !g->tuning.gemm_tokens || tokens < g->tuning.gemm_tokens) return false;
    if (all <= FEW_TILES && !g->tuning.gemm_always) return false; /* it would have a workgroup or two */
    const struct choice *choice = choice_of(g, kind, all, chunks);
    while (at + 1 < CHOICE_SIZES && gemm_sizes[at] < tokens) at++;
    uint32_t n, variant = choice ? choice->variant[at] : 0;
    /* Another process may have measured it, while in this one it gives other bits. */
    if (!choice || (variant && !(g->products.variants[kind] >> (variant - 1) & 1))) {
        if (!likely_tiling(out, g, kind, tokens, tiles, segments)) tile_by_rule(out, g, kind, tokens, tiles, segments);
        return true;
    }
    return variant &&
           gemm_tile_as(out, g, kind, tokens, tiles, segments, gpu_variants(gemm_types[kind], &n)[variant - 1]);
}

bool gemm_tile(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
               uint32_t all, uint32_t chunks)
{
    device_lock(g);
    bool tiled = tile_as_known(out, g, kind, tokens, tiles, all, chunks);
    device_unlock(g);
    return tiled;
}

/* Of gpu_variants those for experts, of quants and of float types, by how many tokens they take. */
enum { EXPERT_VARIANTS = 4, ROWS_OF_EXPERTS = 2 };
static const uint8_t expert_variants[2][EXPERT_VARIANTS] = {{0, 3, 4, 5}, {0, 4, 5, 6}};

bool gemm_tile_experts(struct gemm_tiling *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                       uint32_t tiles, uint32_t chunks)
{
    uint32_t n, segments = record_segments(&g->tuning, chunks);
    const struct gpu_variant *variants = gpu_variants(gemm_types[kind], &n);
    const uint8_t *list = expert_variants[pack_takes_floats(kind)];
    /* matrix.comp leaves out parts that no token of a batch is in, so that a batch may have room for more than the
     * average and few experts need a second one; tile.comp multiplies what is not there. */
    uint32_t room = pack_takes_floats(kind) ? tokens / 2 + 1 : tokens + tokens / 4;
    device_lock(g);
    uint32_t right = g->products.expert_variants[kind];
    device_unlock(g);
    bool found = false;
    for (uint32_t i = 0; i < EXPERT_VARIANTS && tokens >= g->tuning.gemm_tokens; i++) {
        struct gpu_variant variant = variants[list[i]];
        if (found && out->tokens >= room) break;
        if (right >> list[i] & 1) found |= tile_as(out, g, kind, tokens, tiles, segments, variant, ROWS_OF_EXPERTS);
    }
    return found;
}

/* ---- The proof --------------------------------------------------------------------------------------------------- */

/* A matrix with a last tile of a few rows, for more tokens than one workgroup takes; `more`: added to what is there. */
enum { ROWS = 2 * PACK_ROWS + 21, TILES = 3, OUTSIDE = 64 };

struct trial {
    uint32_t tokens, chunks;
    struct block weights, x, result[2]; /* by matmul.comp, by the other shader */
    /* Two experts with the same weights (batches.glsl): first the addresses of these, then the tokens of both, the last
     * one first, and their batches. No bytes: there are no experts. */
    struct block experts;
};

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* A number that is neither tiny nor large: 2^-10 to 2^-3. */
static float some_float(uint64_t *seed)
{
    return ldexpf(1 + (float)next_random(seed) / 2147483648.0f, -(int)(3 + next_random(seed) % 7)) *
           (next_random(seed) % 2 ? -1 : 1);
}

static void fill_floats(uint8_t *out, enum weight_kind kind, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        float value = some_float(seed);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        uint16_t narrow = kind == KIND_F16 ? f16_narrow(value) : (uint16_t)(bits >> 16);
        if (kind == KIND_F32)
            memcpy(out + 4 * i, &value, 4);
        else
            memcpy(out + 2 * i, &narrow, 2);
    }
}

/* Any bytes, and scales like that. */
static void fill_quants(uint8_t *out, enum weight_kind kind, uint32_t n_chunks, uint64_t *seed)
{
    size_t chunk = pack_chunk_bytes(kind), first = kind == KIND_Q8 ? chunk - 256 : chunk - 128;
    for (uint32_t c = 0; c < n_chunks; c++, out += chunk) {
        for (size_t i = 0; i < chunk; i++) out[i] = (uint8_t)(next_random(seed) >> 8);
        for (size_t i = first; i < chunk && kind == KIND_MXFP4; i++) out[i] = (uint8_t)(118 + out[i] % 8);
        for (size_t i = first; i < chunk && kind != KIND_MXFP4; i += 2) {
            uint16_t half = f16_narrow(some_float(seed));
            memcpy(out + i, &half, 2);
        }
    }
}

/* As act.comp leaves them. */
static void fill_records(uint8_t *out, uint32_t n, uint64_t *seed)
{
    for (uint32_t r = 0; r < n; r++, out += RECORD_BYTES) {
        int32_t sums[8] = {0};
        float scale = (float)(1 + next_random(seed) % 4096) / 65536;
        memset(out, 0, RECORD_BYTES);
        for (int i = 0; i < PACK_COLS; i++) {
            int8_t q = (int8_t)((int)(next_random(seed) % 255) - 127);
            out[i] = (uint8_t)q;
            sums[i / 16] += q;
        }
        memcpy(out + PACK_COLS, sums, sizeof sums);
        memcpy(out + PACK_COLS + sizeof sums, &scale, sizeof scale);
    }
}

static tdm_status fill(struct trial *t, struct gpu *g, enum weight_kind kind, tdm_error *err)
{
    size_t inputs = (size_t)t->tokens * t->chunks, weights = TILES * t->chunks * pack_chunk_bytes(kind);
    size_t x = inputs * (pack_takes_floats(kind) ? PACK_COLS * sizeof(float) : RECORD_BYTES);
    size_t result = ((size_t)t->tokens * ROWS + OUTSIDE) * sizeof(float);
    uint64_t seed = kind + 1;
    uint8_t *bytes = calloc(1, weights + x + result);
    if (!bytes) return error_set(err, TDM_E_NOMEM, "no memory for a trial of products");
    if (pack_takes_floats(kind)) {
        fill_floats(bytes, kind, (size_t)TILES * t->chunks * PACK_ROWS * PACK_COLS, &seed);
        fill_floats(bytes + weights, KIND_F32, inputs * PACK_COLS, &seed);
    } else {
        fill_quants(bytes, kind, TILES * t->chunks, &seed);
        fill_records(bytes + weights, (uint32_t)inputs, &seed);
    }
    float *before = (float *)(void *)(bytes + weights + x);
    for (size_t i = 0; i < result / sizeof(float); i++) before[i] = (float)(next_random(&seed) % 1000) - 500;
    tdm_status status = block_new(&t->weights, g, BLOCK_DEVICE, weights, err);
    if (!status) status = device_write(g, &t->weights, 0, bytes, weights, err);
    if (!status) status = block_new(&t->x, g, BLOCK_DEVICE, x, err);
    if (!status) status = device_write(g, &t->x, 0, bytes + weights, x, err);
    for (int i = 0; i < 2 && !status; i++) {
        status = block_new(&t->result[i], g, BLOCK_DEVICE, result, err);
        if (!status) status = device_write(g, &t->result[i], 0, before, result, err);
    }
    free(bytes);
    return status;
}

/* The tokens in batches of `most`; *batches: how many. */
static tdm_status fill_experts(struct trial *t, struct gpu *g, uint32_t most, uint32_t *batches, tdm_error *err)
{
    enum { EXPERTS = 2, QUAD = 4 };
    const uint32_t list = EXPERTS * 2 + ceiling(t->tokens, QUAD) * QUAD, ends[EXPERTS] = {t->tokens / 3, t->tokens};
    uint32_t words = list + QUAD * (t->tokens + EXPERTS), *all = calloc(words, sizeof *all), at = 0;
    const uint64_t addresses[EXPERTS] = {t->weights.address, t->weights.address};
    if (!all) return error_set(err, TDM_E_NOMEM, "no memory for a trial of products");
    memcpy(all, addresses, sizeof addresses);
    for (uint32_t i = 0; i < t->tokens; i++) all[EXPERTS * 2 + i] = t->tokens - 1 - i;
    *batches = 0;
    for (uint32_t e = 0; e < EXPERTS; e++)
        for (uint32_t n; at < ends[e]; at += n) {
            n = ends[e] - at < most ? ends[e] - at : most;
            memcpy(all + list + QUAD * (*batches)++, (uint32_t[QUAD]){e, at, n, 0}, QUAD * sizeof *all);
        }
    tdm_status status = block_new(&t->experts, g, BLOCK_DEVICE, words * sizeof *all, err);
    if (!status) status = device_write(g, &t->experts, 0, all, words * sizeof *all, err);
    free(all);
    return status;
}

static tdm_status multiply_by(struct trial *t, struct gpu *g, const VkPipeline pipeline[2], const uint32_t size[2][2],
                              tdm_error *err)
{
    tdm_status status = device_begin(g, g->once, true, err);
    if (status) return status;
    for (int i = 0; i < 2; i++) {
        bool experts = i && t->experts.bytes;
        struct matmul push = {.weights = experts ? t->experts.address : t->weights.address,
                              .x = t->x.address,
                              .result = t->result[i].address,
                              .chosen = experts ? t->experts.address + 2 * sizeof(uint64_t) : 0,
                              .tiles = TILES,
                              .chunks = t->chunks,
                              .rows = ROWS,
                              .tokens = t->tokens,
                              .ldo = ROWS,
                              .add = 1,
                              .each = 1};
        g->vk.CmdBindPipeline(g->once, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline[i]);
        g->vk.CmdPushConstants(g->once, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
        g->vk.CmdDispatch(g->once, size[i][0], size[i][1], 1);
    }
    device_barrier(g, g->once);
    status = device_end(g, g->once, err);
    return status ? status : device_run(g, &g->once, 1, err);
}

/* The product by either shader, added to what is there. */
static tdm_status multiply(struct trial *t, struct gpu *g, enum weight_kind kind, const struct gemm_tiling *tiling,
                           tdm_error *err)
{
    uint32_t segments = record_segments(&g->tuning, t->chunks), constants[MATMUL_CONSTANTS], at_once = g->tuning.tokens;
    const uint32_t size[2][2] = {{TILES, ceiling(t->tokens, at_once)}, {tiling->x, tiling->y}};
    VkPipeline pipeline[2];
    record_matmul(constants, &g->tuning, kind, at_once, segments);
    tdm_status status = device_pipeline(&pipeline[0], g, SHADER_MATMUL, constants, MATMUL_CONSTANTS, err);
    if (!status) status = device_pipeline(&pipeline[1], g, tiling->shader, tiling->constants, tiling->n, err);
    if (status) return status;
    device_lock(g);
    status = multiply_by(t, g, pipeline, size, err);
    device_unlock(g);
    return status;
}

static tdm_status compare(struct trial *t, struct gpu *g, bool *equal, tdm_error *err)
{
    size_t bytes = t->result[0].bytes;
    float *found = malloc(2 * bytes);
    if (!found) return error_set(err, TDM_E_NOMEM, "no memory for a trial of products");
    tdm_status status = TDM_OK;
    for (int i = 0; i < 2 && !status; i++)
        status = device_read(g, &t->result[i], 0, (char *)found + (size_t)i * bytes, bytes, err);
    if (!status) *equal = !memcmp(found, (char *)found + bytes, bytes);
    free(found);
    return status;
}

/* variant: NULL: by the rule. experts: with the rows of some. */
static tdm_status try_bits(struct gpu *g, enum weight_kind kind, const struct gpu_variant *variant, bool experts,
                           bool *equal, tdm_error *err)
{
    /* Some segments have more than one chunk. */
    uint32_t most = variant ? variant->parts : g->tuning.gemm_parts;
    struct trial t = {.tokens = part_tokens(g, kind) * most * 2 - 3, .chunks = g->tuning.segments + 3};
    struct gemm_tiling tiling;
    uint32_t segments = record_segments(&g->tuning, t.chunks);
    *equal = false;
    if (!variant)
        tile_by_rule(&tiling, g, kind, t.tokens, TILES, segments);
    else if (!tile_as(&tiling, g, kind, t.tokens, TILES, segments, *variant, experts ? ROWS_OF_EXPERTS : 0))
        return TDM_OK;
    tdm_status status = fill(&t, g, kind, err);
    if (!status && experts) status = fill_experts(&t, g, tiling.tokens, &tiling.x, err);
    if (!status) status = multiply(&t, g, kind, &tiling, err);
    if (!status) status = compare(&t, g, equal, err);
    block_free(&t.weights, g);
    block_free(&t.x, g);
    block_free(&t.experts, g);
    for (int i = 0; i < 2; i++) block_free(&t.result[i], g);
    return status == TDM_E_UNSUPPORTED ? TDM_OK : status; /* the driver does not take the shader */
}

tdm_status gemm_try(struct gpu *g, enum weight_kind kind, tdm_error *err)
{
    if (!exists(g, kind) || !g->tuning.gemm_tokens || g->products.proof[kind]) return TDM_OK;
    bool any = false, equal;
    uint32_t n, right = 0;
    const struct gpu_variant *variants = gpu_variants(gemm_types[kind], &n);
    tdm_status status = TDM_OK;
    if (g->tuning.gemm_always) status = try_bits(g, kind, NULL, false, &any, err);
    for (uint32_t i = 0; i < n && !status && !g->tuning.gemm_always; i++) {
        status = try_bits(g, kind, &variants[i], false, &equal, err);
        right |= (uint32_t)equal << i;
        any |= equal;
    }
    if (status) return status;
    device_lock(g);
    g->products.variants[kind] = right;
    g->products.proof[kind] = any ? GEMM_TAKEN : GEMM_DIFFERS;
    device_unlock(g);
    return TDM_OK;
}

tdm_status gemm_try_experts(struct gpu *g, enum weight_kind kind, tdm_error *err)
{
    uint32_t n, right = 0;
    const struct gpu_variant *variants = gpu_variants(gemm_types[kind], &n);
    const uint8_t *list = expert_variants[pack_takes_floats(kind)];
    tdm_status status = TDM_OK;
    if (g->products.proof[kind] != GEMM_TAKEN || g->products.experts_tried[kind]) return TDM_OK;
    /* Where all are tiled by the rule (software, for tests), one is enough. */
    for (uint32_t i = 0; i < (g->tuning.gemm_always ? 1 : EXPERT_VARIANTS) && !status; i++) {
        bool equal = false;
        if (g->tuning.gemm_always || g->products.variants[kind] >> list[i] & 1)
            status = try_bits(g, kind, &variants[list[i]], true, &equal, err);
        right |= (uint32_t)equal << list[i];
    }
    if (status) return status;
    device_lock(g);
    g->products.expert_variants[kind] = right;
    g->products.experts_tried[kind] = true;
    device_unlock(g);
    return TDM_OK;
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

/* Seconds of one product in this variant; no parts: by matmul.comp. best: the shortest time of another variant. */
static tdm_status measure(double *seconds, struct gpu *g, const struct choice *c, uint32_t tokens,
                          struct gpu_variant variant, double best, tdm_error *err)
{
    /* Of few tokens more than most caches hold; those of many wait for arithmetic. A driver on cores, which only tests
     * have measured, would take seconds for that. */
    uint64_t bytes = g->info.kind == GPU_SOFTWARE ? 1 << 20 : tokens < gemm_sizes[1] ? 64 << 20 : 16 << 20;
    struct gpu_product p = {.type = gemm_types[c->kind],
                            .rows = c->tiles * PACK_ROWS,
                            .cols = c->chunks * PACK_COLS,
                            .tokens = tokens,
                            .variant = variant,
                            .tuning = g->tuning,
                            .enough = 1.25 * best};
    tdm_status status = gpu_measure_product(g, &p, bytes, err);
    *seconds = p.seconds;
    return status;
}

/* For one number of tokens; what was not measured in time is not chosen. took: by each variant, matmul.comp being the
 * last, for a smaller number of tokens, in terms of the shortest; what took more than twice that is not looked at
 * again. */
static tdm_status choose(struct choice *c, struct gpu *g, uint32_t at, double took[], int64_t until, tdm_error *err)
{
    double best = INFINITY, seconds[MAX_VARIANTS + 1] = {0};
    uint32_t n;
    const struct gpu_variant *variants = gpu_variants(gemm_types[c->kind], &n);
    tdm_status status = TDM_OK;
    for (uint32_t i = 0; i <= n && !status && (clock_ns() < until || best == INFINITY); i++) {
        bool wide = i < n, empty = wide && variants[i].parts * part_tokens(g, c->kind) >= 2 * gemm_sizes[at];
        if (took[i] > 2 || empty || (wide && !(g->products.variants[c->kind] >> i & 1))) continue;
        status = measure(&seconds[i], g, c, gemm_sizes[at], wide ? variants[i] : (struct gpu_variant){0}, best, err);
        if (status || seconds[i] >= best) continue;
        best = seconds[i];
        c->variant[at] = wide ? (uint8_t)(i + 1) : 0;
    }
    for (uint32_t i = 0; i <= n; i++)
        if (seconds[i] > 0) took[i] = seconds[i] / best;
    return status;
}

void gemm_add_choice(struct gpu *g, const struct choice *c)
{
    device_lock(g);
    if (!choice_of(g, c->kind, c->tiles, c->chunks)) {
        if (g->products.n_choices == MAX_CHOICES)
            memmove(g->products.choices, g->products.choices + 1,
                    --g->products.n_choices * sizeof *g->products.choices);
        g->products.choices[g->products.n_choices++] = *c;
    }
    device_unlock(g);
}

static bool is_chosen(const struct gpu *g, enum weight_kind kind, uint32_t tiles, uint32_t chunks)
{
    device_lock(g);
    bool chosen = choice_of(g, kind, tiles, chunks);
    device_unlock(g);
    return chosen;
}

tdm_status gemm_choose(struct gpu *g, enum weight_kind kind, uint32_t tiles, uint32_t chunks, int64_t until,
                       tdm_error *err)
{
    if (g->products.proof[kind] != GEMM_TAKEN || g->tuning.gemm_always || tiles <= FEW_TILES) return TDM_OK;
    if (is_chosen(g, kind, tiles, chunks)) return TDM_OK;
    struct choice c = {.kind = kind, .tiles = tiles, .chunks = chunks};
    double took[MAX_VARIANTS + 1] = {0}; /* 0: not known */
    tdm_status status = TDM_OK;
    for (uint32_t at = 0; at < CHOICE_SIZES && !status; at++) {
        if (clock_ns() < until)
            status = choose(&c, g, at, took, until, err);
        else if (at)
            c.variant[at] = c.variant[at - 1];
        else
            return TDM_OK;
    }
    c.whole = clock_ns() < until;
    if (!status) gemm_add_choice(g, &c);
    return status == TDM_E_NOMEM ? TDM_OK : status; /* the rule does, then */
}

const char *gpu_matrix_units(struct gpu *g)
{
    static const char *const names[WEIGHT_KINDS] = {
        [KIND_Q8] = "Q8_0", [KIND_Q4K] = "Q4_K", [KIND_Q6K] = "Q6_K", [KIND_MXFP4] = "MXFP4"};
    const struct matrix_units *u = &g->products.units;
    char line[sizeof g->products.line] = "";
    pthread_mutex_lock(&g->products.trying);
    int n = !u->m ? snprintf(line, sizeof line, "none that multiply int8")
                  : snprintf(line, sizeof line, "int8 %ux%ux%u", u->m, u->n, u->k);
    if (u->m && !g->tuning.gemm_tokens) n += snprintf(line + n, sizeof line - (size_t)n, ", not used");
    for (enum weight_kind kind = KIND_Q8; kind < WEIGHT_KINDS; kind++) {
        tdm_status status = gemm_try(g, kind, NULL);
        if (!status && g->products.proof[kind] == GEMM_DIFFERS)
            n += snprintf(line + n, sizeof line - (size_t)n, ", not for %s: other bits", names[kind]);
    }
    if (strcmp(g->products.line, line)) /* once: others may be reading it */
        memcpy(g->products.line, line, sizeof line);
    pthread_mutex_unlock(&g->products.trying);
    return g->products.line;
}
