/* `tandem bench kernels`: products of each weight type for 1 to 128 tokens beside the machine's own ceilings, and how
 * fast weights are packed. It measures no model. */

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/kernel/ceiling.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"

/* The matrices are those of one layer's feed-forward part of the 0.8B. There are enough copies that they are read from
 * memory like a model's: more than the cache that a virtual machine may get of a large host. */
enum { ROWS = 3584, COLS = 1024, MAX_TOKENS = 128 };
static const size_t weights_total = (size_t)320 << 20;

static const uint32_t token_counts[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { COUNTS = sizeof token_counts / sizeof *token_counts };

struct work {
    struct matrix *matrices;
    int count, passes;
    struct panel panel;
    float *out;
    uint8_t *raw;
    size_t raw_panel; /* bytes of MATRIX_TILE rows in the file's format */
    uint8_t *copy;
    size_t copy_bytes;
    bool packed; /* the matrices hold weights */
};

static void products(void *ctx, struct member *m)
{
    struct work *w = ctx;
    uint32_t begin, end;
    for (int i = 0; i < w->count * w->passes; i++) {
        struct matrix *x = &w->matrices[i % w->count];
        while (member_claim(m, ROWS, 2 * MATRIX_TILE, &begin, &end))
            x->kernels->matmul(x, &w->panel, begin, end, 0, w->panel.tokens, w->out, ROWS, false);
        member_barrier(m);
    }
}

static void packing(void *ctx, struct member *m)
{
    struct work *w = ctx;
    uint32_t begin, end, panels = ROWS / MATRIX_TILE;
    while (member_claim(m, (uint32_t)w->count * panels, 8, &begin, &end))
        for (uint32_t i = begin; i < end; i++)
            matrix_pack(&w->matrices[i / panels], w->raw + i % panels * w->raw_panel, i % panels * MATRIX_TILE,
                        MATRIX_TILE);
}

static void copying(void *ctx, struct member *m)
{
    struct work *w = ctx;
    uint32_t begin, end, panels = ROWS / MATRIX_TILE;
    while (member_claim(m, (uint32_t)w->count * panels, 8, &begin, &end))
        for (uint32_t i = begin; i < end; i++)
            memcpy(w->copy + i * w->raw_panel, w->raw + i % panels * w->raw_panel, w->raw_panel);
}

static double seconds_of(struct team *t, team_fn *fn, struct work *w)
{
    int64_t start = clock_ns();
    team_run(t, fn, w);
    return (double)(clock_ns() - start) / 1e9;
}

/* Rows of finite weights in the type's file format: bytes of a fixed pattern with every scale about 0.01. */
static uint8_t *make_rows(enum type type, size_t bytes)
{
    uint8_t *raw = malloc(bytes);
    if (!raw) return NULL;
    uint64_t z = 1;
    for (size_t i = 0; i < bytes; i++) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        raw[i] = (uint8_t)(z >> 56);
    }
    const struct type_info *info = type_info(type);
    if (info->block == 1) /* floats: exponents of small numbers */
        for (size_t i = info->block_bytes - 1; i < bytes; i += info->block_bytes) raw[i] = 0x3c | (raw[i] & 0x80);
    static const int fields[] = {0, 2, 80, 82, 108, 208};
    for (size_t b = 0; info->block > 1 && b < bytes; b += info->block_bytes)
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
            if (fields[f] + 2 <= (int)info->block_bytes) raw[b + (size_t)fields[f] + 1] = 0x20;
    for (size_t b = 0; type == TYPE_MXFP4 && b < bytes; b += info->block_bytes) raw[b] = 128 - 7; /* an exponent */
    return raw;
}

/* What all types share. */
struct measuring {
    bench *b;
    struct team *team;
    const struct kernels *kernels;
    const float *x;     /* the activations */
    bench_reader reader;
    double peak[PANEL_KINDS], matrix_peak[PANEL_KINDS]; /* of vector registers; of the matrix unit, 0: none */
    bench_table *products, *packing;
};

static tdm_status open_work(struct work *w, const struct kernels *k, enum type type, tdm_error *err)
{
    size_t bytes = k->packed_bytes(type, ROWS, COLS), raw_bytes = ROWS * type_row_bytes(type, COLS);
    *w = (struct work){.count = (int)((weights_total + bytes - 1) / bytes), .passes = 1, .panel.cols = COLS};
    w->panel.kind = k->panel_of(type);
    w->matrices = calloc((size_t)w->count, sizeof *w->matrices);
    w->out = malloc(sizeof *w->out * MAX_TOKENS * ROWS);
    w->raw = make_rows(type, raw_bytes);
    w->raw_panel = raw_bytes / (ROWS / MATRIX_TILE);
    w->copy_bytes = (size_t)w->count * raw_bytes;
    size_t panel = (k->panel_bytes(w->panel.kind, MAX_TOKENS, COLS) + 63) / 64 * 64;
    if (!w->matrices || !w->out || !w->raw || posix_memalign(&w->panel.data, 64, panel))
        return error_set(err, TDM_E_NOMEM, "bench: no memory for weights of %s", type_info(type)->name);
    return TDM_OK;
}

static void close_work(struct work *w)
{
    for (int i = 0; i < w->count && w->matrices; i++) matrix_free(&w->matrices[i]);
    free(w->matrices);
    free(w->out);
    free(w->panel.data);
    free(w->raw);
}

/* Packs all weights into fresh memory, which the products need anyway, and copies as many bytes into fresh memory.
 * keep: as a row of its table. */
static tdm_status measure_packing(struct measuring *m, struct work *w, enum type type, bool keep, tdm_error *err)
{
    bench_step(m->b, "packing %s", type_info(type)->name);
    for (int i = 0; i < w->count; i++) {
        matrix_free(&w->matrices[i]);
        tdm_status status = matrix_new(&w->matrices[i], m->kernels, type, ROWS, COLS, err);
        if (status) return status;
    }
    double pack = seconds_of(m->team, packing, w);
    w->packed = true;
    if (!(w->copy = malloc(w->copy_bytes))) return error_set(err, TDM_E_NOMEM, "bench: no memory for a copy");
    double copy = seconds_of(m->team, copying, w);
    free(w->copy);
    int row = keep ? bench_table_row(m->packing, "%s", type_info(type)->name) : -1;
    bench_table_add(m->packing, row, 0, 1e-9 * (double)w->copy_bytes / pack);
    bench_table_add(m->packing, row, 1, pack / copy);
    return TDM_OK;
}

/* A row of a type's plan: its packing, then products of each number of tokens. */
struct measured_type {
    struct measuring *m;
    struct work w;
    enum type type;
};

static tdm_status measure_row(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct measured_type *x = ctx;
    struct measuring *m = x->m;
    const struct kernels *k = m->kernels;
    struct work *w = &x->w;
    const char *name = type_info(x->type)->name;
    if (number == 0 || (round == 0 && !w->packed)) {
        tdm_status status = measure_packing(m, w, x->type, number == 0, err);
        if (status || number == 0) return status;
    }
    w->panel.tokens = token_counts[number - 1];
    bench_step(b, "%s, %u tokens", name, w->panel.tokens);
    k->panel_fill(&w->panel, m->x, COLS, 0, w->panel.tokens, 0, COLS);
    double before = bench_reader_speed(&m->reader);
    double rate = (double)w->count / seconds_of(m->team, products, w);
    double read = 0.5 * (before + bench_reader_speed(&m->reader));
    double operations = rate * 2 * ROWS * COLS * (double)w->panel.tokens;
    double traffic = rate * (double)k->packed_bytes(x->type, ROWS, COLS), unit = m->matrix_peak[w->panel.kind];
    int row = bench_table_row(m->products, "%s|%u", name, w->panel.tokens);
    bench_table_add(m->products, row, 0, 1e-9 * operations);
    bench_table_add(m->products, row, 1, operations / m->peak[w->panel.kind]);
    bench_table_add(m->products, row, 2, 1e-9 * traffic);
    bench_table_add(m->products, row, 3, traffic / read);
    if (unit > 0) bench_table_add(m->products, row, 4, operations / unit);
    return TDM_OK;
}

static void plan_type(bench *b, enum type type, bench_plan *plan)
{
    const char *name = type_info(type)->name;
    bench_plan_add(b, plan, "%s|packing", name);
    for (int c = 0; c < COUNTS; c++) {
        if (b->quick && c % 2)
            bench_plan_skip(plan);
        else
            bench_plan_add(b, plan, "%s|%u", name, token_counts[c]);
    }
}

static tdm_status measure_type(struct measuring *m, enum type type, tdm_error *err)
{
    struct measured_type x = {.m = m, .type = type};
    bench_plan plan;
    bench_plan_open(&plan, m->products);
    plan_type(m->b, type, &plan);
    tdm_status status = bench_plan_wanted(&plan) ? open_work(&x.w, m->kernels, type, err) : TDM_OK;
    if (!status) status = bench_plan_run(m->b, &plan, measure_row, &x, err);
    bench_plan_close(&plan);
    close_work(&x.w);
    return status;
}

/* Measures the ceilings of one core and of all cores. The columns beside each type are of all cores. */
static void measure_ceilings(struct measuring *m, bench_table *arithmetic, bench_table *reading)
{
    static const char *const names[PANEL_KINDS] = {[PANEL_F32] = "fp32", [PANEL_BF16] = "bf16", [PANEL_INT8] = "int8"};
    typedef double peak_fn(struct team *, const struct kernels *, enum panel_kind);
    static peak_fn *const peaks[] = {ceiling_peak, ceiling_matrix_peak};
    static const char *const where[] = {"vector registers", "matrix unit"};
    int cores = m->b->host.cores.count;
    struct team solo;
    team_solo(&solo);
    bench_reader one = m->reader;
    one.team = &solo;
    for (int round = 0; round < BENCH_LEAST_RUNS; round++) {
        for (int kind = 0; kind < PANEL_KINDS; kind++)
            for (int p = 0; p < 2; p++) {
                double *kept = p ? &m->matrix_peak[kind] : &m->peak[kind];
                bench_step(m->b, "ceiling %s, %s", names[kind], where[p]);
                double single = peaks[p](&solo, m->kernels, (enum panel_kind)kind);
                double all = peaks[p](m->team, m->kernels, (enum panel_kind)kind);
                if (all <= 0) continue; /* no matrix unit */
                bench_table_add(arithmetic, bench_table_row(arithmetic, "%s|%s|1", names[kind], where[p]), 0,
                                1e-9 * single);
                bench_table_add(arithmetic, bench_table_row(arithmetic, "%s|%s|%d", names[kind], where[p], cores), 0,
                                1e-9 * all);
                *kept = all > *kept ? all : *kept;
            }
        bench_table_add(reading, bench_table_row(reading, "1"), 0, 1e-9 * bench_reader_speed(&one));
        bench_table_add(reading, bench_table_row(reading, "%d", cores), 0, 1e-9 * bench_reader_speed(&m->reader));
    }
}

tdm_status bench_kernels(bench *b, tdm_error *err)
{
    static const enum type types[] = {TYPE_Q8_0,   TYPE_Q4_K,   TYPE_Q6_K,  TYPE_BF16,    TYPE_F16,   TYPE_F32,
                                      TYPE_IQ2_XXS, TYPE_IQ2_XS, TYPE_IQ2_S, TYPE_IQ3_XXS, TYPE_IQ3_S, TYPE_MXFP4};
    int count = b->quick ? 1 : (int)(sizeof types / sizeof *types); /* each takes some seconds */
    struct measuring m = {.b = b};
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* or memory that is freed and taken again would not be fresh */
    float *x = malloc(sizeof *x * MAX_TOKENS * COLS);
    bench_table *arithmetic = bench_new_table(b, "ceilings", "arithmetic on registers alone, two operations a "
                                              "multiply-add", "arithmetic|where|cores", "speed:Gop/s", err);
    bench_table *reading = bench_new_table(b, "reading", "reading memory once", "cores", "speed:GB/s", err);
    m.packing = bench_new_table(b, "packing", "packing weights, and that over copying the same bytes into fresh memory",
                                "type", "packing:GB/s|over_copy:x", err);
    m.products =
        bench_new_table(b, "",
                        "products of 3584 x 1024 matrices read from memory; peak (of vector "
                        "registers), matrix peak and reading as measured in this run, all cores",
                        "type|tokens", "speed:Gop/s|of_peak:x|weights:GB/s|of_reading:x|of_matrix_peak:x", err);
    tdm_status status = arithmetic && reading && m.packing && m.products ? TDM_OK : err->code;
    if (!status && !x) status = error_set(err, TDM_E_NOMEM, "bench: no memory for activations");
    if (!status) status = kernels_find(&m.kernels, options_text(b->o, OPTION_KERNELS), err);
    if (!status)
        status =
            bench_reader_open(&m.reader, &b->host, m.kernels, 0, b->quick ? BENCH_READ_MIB : BENCH_READ_MAX_MIB, err);
    if (!status) {
        m.team = m.reader.team;
        m.x = x;
        for (size_t i = 0; i < (size_t)MAX_TOKENS * COLS; i++) x[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
        measure_ceilings(&m, arithmetic, reading);
    }
    for (int i = 0; i < count && !status; i++) {
        bench_part(b, 1.0 / (count - i));
        status = measure_type(&m, types[i], err);
    }
    bench_reader_close(&m.reader);
    free(x);
    return status;
}
