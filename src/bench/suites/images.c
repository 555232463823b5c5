/* `tandem bench images`: pictures encoded by vision towers of true dimensions and made-up weights, by the unit that
 * reads: on cores beside what the machine's arithmetic can do, or on a GPU. It measures no model. */

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/gpu/vision/vision.h"
#include "engine/kernel/ceiling.h"
#include "engine/vision/encoder.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"

/* The towers of the models of these sizes. */
static const struct tower_size {
    const char *name;
    uint32_t depth, width, heads, intermediate, out;
} sizes[] = {{"0.8b", 12, 768, 12, 3072, 1024}, {"4b", 24, 1024, 16, 4096, 2560}, {"9b", 27, 1152, 16, 4304, 4096}};
enum { SIZES = sizeof sizes / sizeof *sizes, SIZES_ON_CORES = 2 };

static const uint32_t sides[][2] = {{320, 240}, {640, 480}, {1024, 1024}};
enum { SIDES = sizeof sides / sizeof *sides };

/* A tower's rows, and what all of them share. */
struct measuring {
    bench *b;
    struct team *team;
    const struct kernels *kernels;
    bench_table *table;
    const struct tower_size *size;
    struct gpu *gpu; /* NULL: on cores */
    struct vision_weights *weights;
    struct gpu_tower *there; /* on the GPU; NULL, both: not made yet */
};

static struct vision_shape shape_of(const struct tower_size *t)
{
    return (struct vision_shape){.depth = t->depth,
                                 .width = t->width,
                                 .heads = t->heads,
                                 .intermediate = t->intermediate,
                                 .out = t->out,
                                 .patch = 16,
                                 .merge = 2,
                                 .frames = 2,
                                 .eps = 1e-6f,
                                 .theta = 10000,
                                 .side = 48,
                                 .mean = {0.5f, 0.5f, 0.5f},
                                 .deviation = {0.5f, 0.5f, 0.5f},
                                 .min_pixels = 1 << 16,
                                 .max_pixels = 1 << 24};
}

static tdm_status load_tower(struct measuring *m, const struct tower *t, tdm_error *err)
{
    uint64_t done = 0;
    struct gpu_tower_loading loading = {.team = m->team, .done = &done, .total = gpu_tower_bytes(t)};
    tdm_status status = gpu_tower_new(&m->there, m->gpu, t, err);
    return status ? status : gpu_tower_load(m->there, t, &loading, err);
}

static tdm_status make_weights(struct measuring *m, tdm_error *err)
{
    struct vision_shape s = shape_of(m->size);
    struct tower *t;
    tdm_status status = tower_make(&t, &s, err);
    if (!status && m->gpu)
        status = load_tower(m, t, err);
    else if (!status)
        status = vision_weights_new(&m->weights, t, m->kernels, m->team, err);
    tower_close(t);
    return status;
}

/* The peak of the matrix unit, where there is one. */
static double peak_of(struct measuring *m)
{
    enum panel_kind kind = m->kernels->panel_of(TYPE_BF16);
    double unit = ceiling_matrix_peak(m->team, m->kernels, kind);
    return unit > 0 ? unit : ceiling_peak(m->team, m->kernels, kind);
}

static tdm_status encode_on_gpu(struct measuring *m, const struct picture *p, double *seconds, uint32_t *tokens,
                                tdm_error *err)
{
    struct gpu_encoding *e;
    bool more = true;
    int64_t start = clock_ns();
    tdm_status status = gpu_encoding_new(&e, m->there, p, err);
    if (status) return status;
    while (more && !status) status = gpu_encoding_step(e, &more, err);
    *seconds = 1e-9 * (double)(clock_ns() - start);
    *tokens = gpu_encoding_tokens(e);
    gpu_encoding_free(e);
    return status;
}

static tdm_status encode(struct measuring *m, const struct picture *p, double *seconds, uint32_t *tokens,
                         tdm_error *err)
{
    struct encoding *e;
    int64_t start = clock_ns();
    tdm_status status = encoding_new(&e, m->weights, p, m->team->count, err);
    if (status) return status;
    while (encoding_step(e, m->team)) continue;
    *seconds = 1e-9 * (double)(clock_ns() - start);
    *tokens = encoding_tokens(e);
    encoding_free(e);
    return TDM_OK;
}

static tdm_status measure_row(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct measuring *m = ctx;
    const uint32_t *side = sides[number];
    struct vision_shape s = shape_of(m->size);
    struct picture p;
    uint32_t tokens = 0;
    double seconds = 0;
    (void)round;
    bench_step(b, "%s, %u x %u", m->size->name, side[0], side[1]);
    tdm_status status = m->weights || m->there ? TDM_OK : make_weights(m, err);
    if (!status) status = patches_fit(&s, side[0], side[1], &p.width, &p.height, err);
    if (status) return status;
    size_t bytes = (size_t)3 * p.width * p.height;
    uint8_t *rgb = malloc(bytes);
    if (!rgb) return error_set(err, TDM_E_NOMEM, "bench: no memory for a picture");
    for (size_t i = 0; i < bytes; i++) rgb[i] = (uint8_t)(i * 2654435761u >> 24);
    p.rgb = rgb;
    double before = m->gpu ? 0 : peak_of(m);
    status = m->gpu ? encode_on_gpu(m, &p, &seconds, &tokens, err) : encode(m, &p, &seconds, &tokens, err);
    double peak = m->gpu ? 0 : 0.5 * (before + peak_of(m));
    free(rgb);
    if (status) return status;
    double operations = encoding_operations(&s, tokens * s.merge * s.merge);
    int row = bench_table_row(m->table, "%s|%ux%u", m->size->name, side[0], side[1]);
    bench_table_add(m->table, row, 0, 1e3 * seconds);
    bench_table_add(m->table, row, 1, 1e-9 * operations / seconds);
    if (!m->gpu) bench_table_add(m->table, row, 2, operations / seconds / peak);
    bench_table_add(m->table, row, 3, tokens);
    return TDM_OK;
}

static tdm_status measure_tower(struct measuring *m, const struct tower_size *size, tdm_error *err)
{
    bench_plan plan;
    m->size = size;
    bench_plan_open(&plan, m->table);
    for (int i = 0; i < SIDES; i++) bench_plan_add(m->b, &plan, "%s|%ux%u", size->name, sides[i][0], sides[i][1]);
    tdm_status status = bench_plan_run(m->b, &plan, measure_row, m, err);
    bench_plan_close(&plan);
    vision_weights_free(m->weights);
    m->weights = NULL;
    gpu_tower_free(m->there);
    m->there = NULL;
    return status;
}

tdm_status bench_images(bench *b, tdm_error *err)
{
    const struct cores *cores = &b->host.cores;
    struct measuring m = {.b = b};
    const char *unit = options_text(b->o, OPTION_PREFILL_UNIT);
    bool on_gpu = unit && !strncmp(unit, "gpu", 3);
    int count = b->quick ? 1 : on_gpu ? SIZES : SIZES_ON_CORES;
    m.table =
        bench_new_table(b, "",
                        on_gpu ? "pictures encoded by vision towers of true dimensions, with made-up weights, on "
                                 "the GPU that reads"
                               : "pictures encoded by vision towers of true dimensions, with made-up weights; peak "
                                 "as measured in this run, of the matrix unit where there is one, all cores",
                        "tower|picture", "encode:ms|speed:Gop/s|of_peak:x|tokens:tokens", err);
    tdm_status status = m.table ? kernels_find(&m.kernels, options_text(b->o, OPTION_KERNELS), err) : err->code;
    if (!status) status = team_open(&m.team, cores->count ? cores->count : 1, cores->count ? cores->cpu : NULL, err);
    if (!status && on_gpu) status = gpu_open(&m.gpu, unit, NULL, err);
    for (int i = 0; i < count && !status; i++) {
        bench_part(b, 1.0 / (count - i));
        status = measure_tower(&m, &sizes[i], err);
    }
    team_close(m.team);
    gpu_close(m.gpu);
    return status;
}
