/* Products and attention of an encoding: by matrix units where the device has them for half floats, and how they are
 * tiled. */
#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/gpu/vision/private.h"

void vision_dispatch(struct vision_recording *r, const struct vision_dispatch *d)
{
    struct gpu *g = r->tower->gpu;
    VkPipeline pipeline;
    if (!r->status) r->status = device_pipeline(&pipeline, g, d->shader, d->constants, d->n, r->err);
    if (r->status || !r->commands) return;
    if (!d->beside) device_barrier(g, r->commands);
    g->vk.CmdBindPipeline(r->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    g->vk.CmdPushConstants(r->commands, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, d->push_bytes, d->push);
    g->vk.CmdDispatch(r->commands, d->x, d->y, 1);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* Of M tokens and of N rows in a subgroup, and subgroups for more of each; cost: of an output, in terms of those of the
 * largest, as measured. */
static const struct tiling {
    uint32_t tokens, rows, down, across;
    double cost;
} tilings[] = {{4, 4, 2, 2, 1}, {2, 2, 2, 2, 1.5}};
enum { TILINGS = sizeof tilings / sizeof *tilings, PLAIN_SIDE = 64, CORES = 64 /* where they are not known */ };

static uint32_t tokens_of(const struct gpu *g, const struct tiling *c)
{
    return g->products.halves.m * c->tokens * c->down;
}

static uint32_t rows_of(const struct gpu *g, const struct tiling *c)
{
    return g->products.halves.n * c->rows * c->across;
}

/* Whether product_units.comp's shared memory is there. */
static bool fits(const struct gpu *g, const struct tiling *c)
{
    const struct matrix_units *u = &g->products.halves;
    uint32_t quads = 2 * (tokens_of(g, c) + rows_of(g, c)) * (VISION_DEPTH / 8 + 1);
    uint32_t out = c->down * c->across * u->m * (u->n * c->rows / 4 + 1);
    return (quads > out ? quads : out) * 16 <= g->shared_bytes;
}

/* The one that is likely to be best, by the work of the core that has most. NULL: without units. */
static const struct tiling *best_tiling(const struct gpu_tower *t, const struct vision_product *p)
{
    const struct gpu *g = t->gpu;
    const struct tiling *best = NULL;
    uint32_t cores = g->cores ? g->cores : CORES;
    double least = 0;
    for (const struct tiling *c = tilings; c < tilings + TILINGS; c++) {
        uint32_t tokens = tokens_of(g, c), rows = rows_of(g, c);
        double time =
            ceiling(ceiling(p->tokens, tokens) * ceiling(p->rows, rows), cores) * (double)tokens * rows * c->cost;
        if (!(t->tilings >> (c - tilings) & 1) || (best && time >= least)) continue;
        least = time;
        best = c;
    }
    return best;
}

static void multiply(struct vision_recording *r, const struct vision_product *p, const struct tiling *c)
{
    const struct gpu *g = r->tower->gpu;
    const struct matrix_units *u = &g->products.halves;
    struct {
        uint64_t weights, x, bias, result;
        uint32_t columns, rows, tokens, ldo;
    } push = {p->weights, p->x, p->bias, p->result, p->columns, p->rows, p->tokens, p->ldo};
    struct vision_dispatch d = {.push = &push, .push_bytes = sizeof push};
    uint32_t constants[] = {p->mode, u->m, u->n, u->k, 0, 0, 0, 0, 0};
    d.constants = constants;
    if (c) {
        const uint32_t tiling[] = {c->tokens, c->rows, c->down, c->across, c->down * c->across * u->lanes};
        for (int i = 0; i < 5; i++) constants[4 + i] = tiling[i];
        d.shader = SHADER_VISION_PRODUCT_UNITS;
        d.n = 9;
        d.x = ceiling(p->tokens, tokens_of(g, c));
        d.y = ceiling(p->rows, rows_of(g, c));
    } else {
        d.shader = SHADER_VISION_PRODUCT;
        d.n = 1;
        d.x = ceiling(p->tokens, PLAIN_SIDE);
        d.y = ceiling(p->rows, PLAIN_SIDE);
    }
    vision_dispatch(r, &d);
}

void vision_product(struct vision_recording *r, const struct vision_product *p)
{
    multiply(r, p, best_tiling(r->tower, p));
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

enum { PLAIN_QUERIES = 16 };

void vision_attend(struct vision_recording *r, const struct vision_heads *h)
{
    const struct gpu_tower *t = r->tower;
    const struct matrix_units *u = &t->gpu->products.halves;
    const struct vision_attention *a = &t->attention;
    struct {
        uint64_t heads_at, result;
        uint32_t heads, dims, patches, padded, ld;
    } push = {h->heads_at, h->result, t->shape.heads, vision_head_dim(&t->shape), h->patches, h->padded, h->ld};
    struct vision_dispatch d = {.push = &push, .push_bytes = sizeof push, .y = t->shape.heads};
    if (a->tiles) {
        const uint32_t constants[] = {
            vision_head_room(&t->shape), u->m, u->n, u->k, a->tiles, a->keys, a->groups, u->m * u->n / u->lanes,
            a->groups * u->lanes};
        d.shader = SHADER_VISION_ATTEND_UNITS;
        d.constants = constants;
        d.n = sizeof constants / sizeof *constants;
        d.x = ceiling(h->patches, a->groups * a->tiles * u->m);
        vision_dispatch(r, &d);
        return;
    }
    d.shader = SHADER_VISION_ATTEND;
    d.constants = (const uint32_t[]){vision_head_room(&t->shape)};
    d.n = 1;
    d.x = ceiling(h->patches, PLAIN_QUERIES);
    vision_dispatch(r, &d);
}

/* Whether attend_units.comp's shared memory, and its registers, are there. */
static bool attention_fits(const struct gpu_tower *t, const struct vision_attention *a)
{
    enum { WIDEST = 128 };
    const struct matrix_units *u = &t->gpu->products.halves;
    uint32_t room = vision_head_room(&t->shape), pitch = room / 8 + 1, queries = u->m * a->tiles;
    uint32_t blocks = 4 * a->keys * pitch, all = a->groups * queries * pitch;
    uint32_t shares = queries * (a->keys / 2 + 4), floats = queries * u->n;
    uint32_t bytes = 16 * (blocks > all ? blocks : all) + 4 * a->groups * (shares > floats ? shares : floats);
    return room <= WIDEST && bytes <= t->gpu->shared_bytes;
}

void vision_choose(struct gpu_tower *t)
{
    /* The last one is for drivers that run shaders on cores: they take a subgroup's barrier for the workgroup's, and
     * not all subgroups look for their largest scores again in the same block. */
    static const struct vision_attention variants[] = {{1, 8, 32}, {1, 4, 32}, {1, 2, 32}, {1, 1, 32}};
    const size_t n = sizeof variants / sizeof *variants, first = t->gpu->info.kind == GPU_SOFTWARE ? n - 1 : 0;
    if (!t->gpu->products.halves.m) return;
    for (uint32_t i = 0; i < TILINGS; i++) t->tilings |= (uint32_t)fits(t->gpu, &tilings[i]) << i;
    for (size_t i = first; i < n && !t->attention.tiles; i++)
        if (attention_fits(t, &variants[i])) t->attention = variants[i];
}

/* ---- Preparing --------------------------------------------------------------------------------------------------- */

/* Nothing is recorded. */
static tdm_status compile(struct gpu_tower *t, tdm_error *err)
{
    struct vision_recording r = {.tower = t, .err = err};
    for (int mode = 0; mode < VISION_MODES; mode++) {
        struct vision_product p = {.columns = VISION_DEPTH, .rows = 4, .tokens = 1, .mode = (enum vision_mode)mode};
        if (!t->tilings) multiply(&r, &p, NULL);
        for (uint32_t i = 0; i < TILINGS; i++)
            if (t->tilings >> i & 1) multiply(&r, &p, &tilings[i]);
    }
    vision_attend(&r, &(struct vision_heads){.patches = 1});
    return r.status;
}

/* Leaves the tilings that are right, and attention by units if it is. */
static tdm_status try_units(struct gpu_tower *t, tdm_error *err)
{
    const double most_off = 0.02; /* sums in another order make up to 0.003 */
    uint32_t there = t->tilings, right = 0;
    float *plain;
    tdm_status status = vision_trial_plain(t, &plain, err);
    for (uint32_t i = 0; i < TILINGS && !status; i++) {
        double differs;
        if (!(there >> i & 1)) continue;
        t->tilings = 1u << i;
        status = vision_trial(t, plain, &differs, err);
        right |= (uint32_t)(!status && differs <= most_off) << i;
    }
    free(plain);
    t->tilings = right;
    if (!right) t->attention = (struct vision_attention){0};
    return status;
}

tdm_status vision_prepare(struct gpu_tower *t, tdm_error *err)
{
    tdm_status status = compile(t, err);
    if (!status && t->tilings) status = try_units(t, err);
    if (status != TDM_E_UNSUPPORTED) return status;
    t->tilings = 0;
    t->attention = (struct vision_attention){0};
    return compile(t, err);
}
