#include "engine/gpu/wide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/measure.h"
#include "engine/gpu/pass.h"
#include "engine/model/half.h"

/* ---- What there is ----------------------------------------------------------------------------------------------- */

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

/* Lanes of a subgroup, where they are always as many; 0: not. */
static uint32_t lanes_of(const struct gpu *g)
{
    VkPhysicalDeviceVulkan13Properties p13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &p13};
    g->vk.GetPhysicalDeviceProperties2(g->physical, &p);
    return p13.minSubgroupSize == p13.maxSubgroupSize ? p13.minSubgroupSize : 0;
}

static bool has_features(const struct gpu *g)
{
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
    VkPhysicalDeviceVulkan12Features f12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .pNext = &matrix};
    VkPhysicalDeviceFeatures2 f = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f12};
    g->vk.GetPhysicalDeviceFeatures2(g->physical, &f);
    return matrix.cooperativeMatrix && f12.vulkanMemoryModel && f12.shaderInt8;
}

void wide_find_units(struct gpu *g)
{
    enum { MOST = 256 };
    uint32_t n = MOST, lanes = lanes_of(g);
    if (!lanes || !g->vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR || !has_features(g)) return;
    VkCooperativeMatrixPropertiesKHR *all = calloc(MOST, sizeof *all);
    for (uint32_t i = 0; i < MOST && all; i++) all[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    VkResult result =
        all ? g->vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(g->physical, &n, all) : VK_ERROR_OUT_OF_HOST_MEMORY;
    struct matrix_units *best = &g->matrix;
    for (uint32_t i = 0; i < n && (!result || result == VK_INCOMPLETE); i++) {
        const VkCooperativeMatrixPropertiesKHR *p = &all[i];
        if (suits(p, lanes) && p->MSize * p->NSize * p->KSize > best->m * best->n * best->k)
            *best = (struct matrix_units){.m = p->MSize, .n = p->NSize, .k = p->KSize, .lanes = lanes};
    }
    free(all);
}

/* Of tile.comp: rows and tokens of a group and a part; how many groups it takes, and how many of both and of teams
 * multiplied: more need more registers, or more shared memory, than there are. */
enum { TILE_SIDE = 16, TILE_GROUPS = 4, TILE_MOST = 20 };

/* ---- How a product is cut --------------------------------------------------------------------------------------- */

static uint32_t ceiling(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by;
}

/* What wide_parts and wide_groups count. */
static uint32_t part_tokens(const struct gpu *g, enum weight_kind kind)
{
    return pack_takes_floats(kind) ? TILE_SIDE : g->matrix.n;
}

static uint32_t group_rows(const struct gpu *g, enum weight_kind kind)
{
    return pack_takes_floats(kind) ? TILE_SIDE : g->matrix.m;
}

/* Whether matrix.comp's shared memory is there. */
static bool fits(const struct gpu *g, enum weight_kind kind, uint32_t parts, uint32_t groups, uint32_t teams)
{
    const struct matrix_units *u = &g->matrix;
    if (pack_takes_floats(kind)) return groups <= TILE_GROUPS && parts * groups * teams <= TILE_MOST;
    uint32_t block = kind == KIND_Q6K ? 16 : 32, place = u->k > block ? u->k : block;
    uint32_t row = PACK_COLS / block * place + 16 + (kind == KIND_Q8 ? 4 : 9) * 4;
    uint32_t token = PACK_COLS + 16 + (kind == KIND_Q4K ? 5 : 1) * 4;
    return groups * u->m * row + parts * u->n * token <= g->shared_bytes;
}

/* Whether the device has what products of these weights would take. */
static bool exists(const struct gpu *g, enum weight_kind kind)
{
    return pack_takes_floats(kind) || g->matrix.m;
}

bool wide_cut_so(struct wide_cut *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
                 uint32_t segments, struct gpu_way way)
{
    const struct matrix_units *u = &g->matrix;
    uint32_t parts = way.parts, groups = way.groups, teams = way.teams < segments ? way.teams : segments;
    if (!exists(g, kind) || groups * group_rows(g, kind) % PACK_ROWS || !fits(g, kind, parts, groups, teams))
        return false;
    *out = (struct wide_cut){.x = ceiling(tokens, parts * part_tokens(g, kind)),
                             .y = ceiling(tiles * PACK_ROWS, groups * group_rows(g, kind))};
    if (pack_takes_floats(kind)) {
        const uint32_t constants[] = {kind, segments, groups, parts, g->tuning.subgroup, way.quads, teams, way.apart};
        out->shader = SHADER_TILE, out->n = sizeof constants / sizeof *constants;
        memcpy(out->constants, constants, sizeof constants);
    } else {
        const uint32_t constants[WIDE_CONSTANTS] = {
            kind, segments, u->m, u->n, u->k, u->m * u->n / u->lanes, parts, groups, groups * u->lanes};
        out->shader = SHADER_MATRIX, out->n = WIDE_CONSTANTS;
        memcpy(out->constants, constants, sizeof constants);
    }
    return true;
}

enum { FEW_TILES = 4 };

/* By a rule, with what the tuning has at most. */
static void cut_by_rule(struct wide_cut *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                        uint32_t tiles, uint32_t segments)
{
    const struct gpu_tuning *t = &g->tuning;
    uint32_t rows = group_rows(g, kind), units = ceiling(tokens, part_tokens(g, kind));
    uint32_t parts = 1, groups = PACK_ROWS / rows;
    /* As few places as possible that have no token. */
    for (uint32_t i = 2; i <= t->wide_parts && i <= units; i++)
        if (ceiling(units, i) * i <= ceiling(units, parts) * parts && fits(g, kind, i, groups, 1)) parts = i;
    /* More rows share what is read of the activations, as long as every core has a workgroup or two. */
    while (2 * groups <= t->wide_groups && fits(g, kind, parts, 2 * groups, 1) &&
           ceiling(units, parts) * ceiling(tiles * PACK_ROWS, 2 * groups * rows) >= 2 * g->cores)
        groups *= 2;
    struct gpu_way way = {(uint8_t)parts, (uint8_t)groups, 8, 1, 1};
    assert_always(wide_cut_so(out, g, kind, tokens, tiles, segments, way));
}

/* Each is best for some product on some device, or may be. Of float types those with teams are for products with few
 * outputs for so many cores: a lane has 64 or 80 sums all the same, as in a large tile. Large tiles have 4 quads, for
 * two workgroups a core, or 8, for long stretches without a barrier. The last one is for subgroups of fewer than 32
 * lanes, where totals of lanes that are 8 apart go through shared memory. */
enum { QUANT_WAYS = 8, FLOAT_WAYS = 10, MOST_WAYS = FLOAT_WAYS };
static const struct gpu_way quant_ways[QUANT_WAYS] = {{1, 4, 0, 0, 0}, {2, 2, 0, 0, 0}, {4, 2, 0, 0, 0},
                                                      {2, 4, 0, 0, 0}, {4, 4, 0, 0, 0}, {5, 4, 0, 0, 0},
                                                      {5, 8, 0, 0, 0}, {8, 8, 0, 0, 0}};
static const struct gpu_way float_ways[FLOAT_WAYS] = {
    {1, 2, 4, 8, 8}, {2, 2, 4, 4, 8}, {4, 2, 4, 2, 8}, {5, 2, 4, 2, 8}, {2, 4, 4, 2, 8},
    {4, 4, 4, 1, 8}, {5, 4, 4, 1, 8}, {4, 4, 8, 1, 8}, {5, 4, 8, 1, 8}, {4, 4, 8, 1, 1}};

const struct gpu_way *gpu_ways(enum type type, uint32_t *n)
{
    bool floats = pack_takes_floats(pack_kind(type));
    *n = floats ? FLOAT_WAYS : QUANT_WAYS;
    return floats ? float_ways : quant_ways;
}

const enum type wide_types[WEIGHT_KINDS] = {[KIND_F32] = TYPE_F32, [KIND_F16] = TYPE_F16,  [KIND_BF16] = TYPE_BF16,
                                            [KIND_Q8] = TYPE_Q8_0, [KIND_Q4K] = TYPE_Q4_K, [KIND_Q6K] = TYPE_Q6_K};

const uint32_t wide_sizes[CHOICE_SIZES] = {16, 48, 80, 128, 512};

static const struct choice *choice_of(const struct gpu *g, enum weight_kind kind, uint32_t tiles, uint32_t chunks)
{
    for (uint32_t i = 0; i < g->n_choices; i++)
        if (g->choices[i].kind == kind && g->choices[i].tiles == tiles && g->choices[i].chunks == chunks)
            return &g->choices[i];
    return NULL;
}

/* The way that is likely to be best, of float types on a device whose cores are known; false: none is. A workgroup's
 * time is that of its multiplications, and of what it reads for them; a core takes two workgroups at once. */
static bool likely_cut(struct wide_cut *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens,
                       uint32_t tiles, uint32_t segments)
{
    uint32_t n, least = UINT32_MAX;
    const struct gpu_way *ways = gpu_ways(wide_types[kind], &n);
    if (!pack_takes_floats(kind) || !g->cores || g->tuning.wide_always) return false;
    for (uint32_t i = 0; i < n; i++) {
        struct gpu_way w = ways[i];
        struct wide_cut cut;
        if (!(g->wide_ways[kind] >> i & 1) || !wide_cut_so(&cut, g, kind, tokens, tiles, segments, w)) continue;
        uint32_t time = ceiling(cut.x * cut.y, 2 * g->cores) * (w.parts * w.groups + w.parts + w.groups);
        if (time < least) least = time, *out = cut;
    }
    return least < UINT32_MAX;
}

bool wide_cut(struct wide_cut *out, const struct gpu *g, enum weight_kind kind, uint32_t tokens, uint32_t tiles,
              uint32_t all, uint32_t chunks)
{
    uint32_t at = 0, segments = record_segments(&g->tuning, chunks);
    if (g->wide[kind] != WIDE_TAKEN || !g->tuning.wide_tokens || tokens < g->tuning.wide_tokens) return false;
    if (all <= FEW_TILES && !g->tuning.wide_always) return false; /* it would have a workgroup or two */
    const struct choice *choice = choice_of(g, kind, all, chunks);
    while (at + 1 < CHOICE_SIZES && wide_sizes[at] < tokens) at++;
    uint32_t n, way = choice ? choice->way[at] : 0;
    /* Another process may have measured it, while in this one it gives other bits. */
    if (!choice || (way && !(g->wide_ways[kind] >> (way - 1) & 1))) {
        if (!likely_cut(out, g, kind, tokens, tiles, segments)) cut_by_rule(out, g, kind, tokens, tiles, segments);
        return true;
    }
    return way && wide_cut_so(out, g, kind, tokens, tiles, segments, gpu_ways(wide_types[kind], &n)[way - 1]);
}

/* ---- The proof --------------------------------------------------------------------------------------------------- */

/* A matrix with a last tile of a few rows, for more tokens than one workgroup takes; `more`: added to what is there. */
enum { ROWS = 2 * PACK_ROWS + 21, TILES = 3, OUTSIDE = 64 };

struct trial {
    uint32_t tokens, chunks;
    struct block weights, x, result[2]; /* by matmul.comp, by the other shader */
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
        for (size_t i = first; i < chunk; i += 2) {
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

/* The product by either shader, added to what is there. */
static tdm_status multiply(struct trial *t, struct gpu *g, enum weight_kind kind, const struct wide_cut *cut,
                           tdm_error *err)
{
    uint32_t segments = record_segments(&g->tuning, t->chunks), constants[MATMUL_CONSTANTS], at_once = g->tuning.tokens;
    VkPipeline pipeline[2];
    record_matmul(constants, &g->tuning, kind, at_once, segments);
    tdm_status status = device_pipeline(&pipeline[0], g, SHADER_MATMUL, constants, MATMUL_CONSTANTS, err);
    if (!status) status = device_pipeline(&pipeline[1], g, cut->shader, cut->constants, cut->n, err);
    if (!status) status = device_begin(g, g->once, true, err);
    if (status) return status;
    const uint32_t size[2][2] = {{TILES, ceiling(t->tokens, at_once)}, {cut->x, cut->y}};
    for (int i = 0; i < 2; i++) {
        struct matmul push = {.weights = t->weights.address,
                              .x = t->x.address,
                              .result = t->result[i].address,
                              .tiles = TILES,
                              .chunks = t->chunks,
                              .rows = ROWS,
                              .tokens = t->tokens,
                              .ldo = ROWS,
                              .add = 1};
        g->vk.CmdBindPipeline(g->once, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline[i]);
        g->vk.CmdPushConstants(g->once, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
        g->vk.CmdDispatch(g->once, size[i][0], size[i][1], 1);
    }
    device_barrier(g, g->once);
    status = device_end(g, g->once, err);
    return status ? status : device_run(g, &g->once, 1, err);
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

/* way: NULL: by the rule. */
static tdm_status try_bits(struct gpu *g, enum weight_kind kind, const struct gpu_way *way, bool *equal, tdm_error *err)
{
    /* Some segments have more than one chunk. */
    uint32_t most = way ? way->parts : g->tuning.wide_parts;
    struct trial t = {.tokens = part_tokens(g, kind) * most * 2 - 3, .chunks = g->tuning.segments + 3};
    struct wide_cut cut;
    uint32_t segments = record_segments(&g->tuning, t.chunks);
    *equal = false;
    if (!way)
        cut_by_rule(&cut, g, kind, t.tokens, TILES, segments);
    else if (!wide_cut_so(&cut, g, kind, t.tokens, TILES, segments, *way))
        return TDM_OK;
    tdm_status status = fill(&t, g, kind, err);
    if (!status) status = multiply(&t, g, kind, &cut, err);
    if (!status) status = compare(&t, g, equal, err);
    block_free(&t.weights, g);
    block_free(&t.x, g);
    for (int i = 0; i < 2; i++) block_free(&t.result[i], g);
    return status == TDM_E_UNSUPPORTED ? TDM_OK : status; /* the driver does not take the shader */
}

tdm_status wide_try(struct gpu *g, enum weight_kind kind, tdm_error *err)
{
    if (!exists(g, kind) || !g->tuning.wide_tokens || g->wide[kind]) return TDM_OK;
    bool any = false, equal;
    uint32_t n;
    const struct gpu_way *ways = gpu_ways(wide_types[kind], &n);
    tdm_status status = TDM_OK;
    if (g->tuning.wide_always) status = try_bits(g, kind, NULL, &any, err);
    for (uint32_t i = 0; i < n && !status && !g->tuning.wide_always; i++) {
        status = try_bits(g, kind, &ways[i], &equal, err);
        g->wide_ways[kind] |= (uint32_t)equal << i;
        any |= equal;
    }
    if (!status) g->wide[kind] = any ? WIDE_TAKEN : WIDE_DIFFERS;
    return status;
}

/* ---- The choice -------------------------------------------------------------------------------------------------- */

/* Seconds of one product in this way; no parts: by matmul.comp. best: the shortest time of another way. */
static tdm_status measure(double *seconds, struct gpu *g, const struct choice *c, uint32_t tokens, struct gpu_way way,
                          double best, tdm_error *err)
{
    /* Of few tokens more than most caches hold; those of many wait for arithmetic. */
    uint64_t bytes = tokens < wide_sizes[1] ? 64 << 20 : 16 << 20;
    struct gpu_product p = {.type = wide_types[c->kind],
                            .rows = c->tiles * PACK_ROWS,
                            .cols = c->chunks * PACK_COLS,
                            .tokens = tokens,
                            .way = way,
                            .tuning = g->tuning,
                            .enough = 1.25 * best};
    tdm_status status = gpu_measure_product(g, &p, bytes, err);
    *seconds = p.seconds;
    return status;
}

/* For one number of tokens; what was not measured in time is not chosen. took: by each way, matmul.comp being the last,
 * for a smaller number of tokens, in terms of the shortest; what took more than twice that is not looked at again. */
static tdm_status choose(struct choice *c, struct gpu *g, uint32_t at, double took[], int64_t until, tdm_error *err)
{
    double best = INFINITY, seconds[MOST_WAYS + 1] = {0};
    uint32_t n;
    const struct gpu_way *ways = gpu_ways(wide_types[c->kind], &n);
    tdm_status status = TDM_OK;
    for (uint32_t i = 0; i <= n && !status && (clock_ns() < until || best == INFINITY); i++) {
        bool wide = i < n, empty = wide && ways[i].parts * part_tokens(g, c->kind) >= 2 * wide_sizes[at];
        if (took[i] > 2 || empty || (wide && !(g->wide_ways[c->kind] >> i & 1))) continue;
        status = measure(&seconds[i], g, c, wide_sizes[at], wide ? ways[i] : (struct gpu_way){0}, best, err);
        if (status || seconds[i] >= best) continue;
        best = seconds[i];
        c->way[at] = wide ? (uint8_t)(i + 1) : 0;
    }
    for (uint32_t i = 0; i <= n; i++)
        if (seconds[i] > 0) took[i] = seconds[i] / best;
    return status;
}

void wide_add_choice(struct gpu *g, const struct choice *c)
{
    if (choice_of(g, c->kind, c->tiles, c->chunks)) return;
    if (g->n_choices == MOST_CHOICES) memmove(g->choices, g->choices + 1, --g->n_choices * sizeof *g->choices);
    g->choices[g->n_choices++] = *c;
}

tdm_status wide_choose(struct gpu *g, enum weight_kind kind, uint32_t tiles, uint32_t chunks, int64_t until,
                       tdm_error *err)
{
    if (g->wide[kind] != WIDE_TAKEN || g->tuning.wide_always || tiles <= FEW_TILES) return TDM_OK;
    if (choice_of(g, kind, tiles, chunks)) return TDM_OK;
    struct choice c = {.kind = kind, .tiles = tiles, .chunks = chunks};
    double took[MOST_WAYS + 1] = {0}; /* 0: not known */
    tdm_status status = TDM_OK;
    for (uint32_t at = 0; at < CHOICE_SIZES && !status; at++) {
        if (clock_ns() < until)
            status = choose(&c, g, at, took, until, err);
        else if (at)
            c.way[at] = c.way[at - 1];
        else
            return TDM_OK;
    }
    c.whole = clock_ns() < until;
    if (!status) wide_add_choice(g, &c);
    return status == TDM_E_NOMEM ? TDM_OK : status; /* the rule does, then */
}

const char *gpu_matrix_units(struct gpu *g)
{
    static const char *const names[WEIGHT_KINDS] = {[KIND_Q8] = "Q8_0", [KIND_Q4K] = "Q4_K", [KIND_Q6K] = "Q6_K"};
    struct matrix_units *u = &g->matrix;
    device_lock(g);
    int n = !u->m ? snprintf(u->line, sizeof u->line, "none that multiply int8")
                  : snprintf(u->line, sizeof u->line, "int8 %ux%ux%u", u->m, u->n, u->k);
    if (u->m && !g->tuning.wide_tokens) n += snprintf(u->line + n, sizeof u->line - (size_t)n, ", not used");
    for (enum weight_kind kind = KIND_Q8; kind < WEIGHT_KINDS; kind++) {
        tdm_status status = wide_try(g, kind, NULL);
        if (!status && g->wide[kind] == WIDE_DIFFERS)
            n += snprintf(u->line + n, sizeof u->line - (size_t)n, ", not for %s: other bits", names[kind]);
    }
    device_unlock(g);
    return u->line;
}
