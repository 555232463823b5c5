#include "src/bench_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/kernel/ceiling.h"

/* The matrices are those of one layer's feed-forward part of the 0.8B, so many of them that they are read from
 * memory like a model's: more than any cache that a guest of a large machine may get hold of. */
enum { ROWS = 3584, COLS = 1024, MOST_TOKENS = 128, REPEATS = 5 };
static const size_t weights_total = (size_t)320 << 20;

static const uint32_t token_counts[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { COUNTS = sizeof token_counts / sizeof *token_counts };

struct work {
    struct matrix *matrices;
    int count, passes;
    struct panel panel;
    float *out;
    const uint8_t *raw;
    size_t raw_panel; /* bytes of MATRIX_TILE rows in the file's format */
    uint8_t *copy;
    size_t copy_bytes;
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
            matrix_pack(&w->matrices[i / panels], w->raw + i % panels * w->raw_panel, i % panels * MATRIX_TILE, MATRIX_TILE);
}

static void copying(void *ctx, struct member *m)
{
    struct work *w = ctx;
    uint32_t begin, end, panels = ROWS / MATRIX_TILE;
    while (member_claim(m, (uint32_t)w->count * panels, 8, &begin, &end))
        for (uint32_t i = begin; i < end; i++)
            memcpy(w->copy + i * w->raw_panel, w->raw + i % panels * w->raw_panel, w->raw_panel);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return x[n / 2];
}

static double seconds_of(struct team *t, team_fn *fn, struct work *w)
{
    int64_t start = clock_ns();
    team_run(t, fn, w);
    return (double)(clock_ns() - start) / 1e9;
}

/* Rows of finite weights in the type's file format: bytes of a fixed pattern with every float16 field about 0.01. */
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
    return raw;
}

static tdm_status measure_type(const struct bench_kernels_options *o, struct team *t, enum type type, const float *x,
                               const void *memory, size_t memory_bytes, double peak, double matrix_peak, FILE *out,
                               tdm_error *err)
{
    const struct kernels *k = o->kernels;
    size_t bytes = k->packed_bytes(type, ROWS, COLS), raw_bytes = ROWS * type_row_bytes(type, COLS);
    struct work w = {.count = (int)((weights_total + bytes - 1) / bytes), .passes = 1, .panel.cols = COLS};
    w.matrices = calloc((size_t)w.count, sizeof *w.matrices);
    w.out = malloc(sizeof *w.out * MOST_TOKENS * ROWS);
    w.panel.kind = k->panel_of(type);
    uint8_t *raw = make_rows(type, raw_bytes);
    tdm_status status = w.matrices && w.out && raw ? TDM_OK : error_set(err, TDM_E_NOMEM, "bench: no memory");
    if (!status && posix_memalign(&w.panel.data, 64, (k->panel_bytes(w.panel.kind, MOST_TOKENS, COLS) + 63) / 64 * 64))
        status = error_set(err, TDM_E_NOMEM, "bench: no memory");
    for (int i = 0; i < w.count && !status; i++) status = matrix_new(&w.matrices[i], k, type, ROWS, COLS, err);
    if (!status) {
        w.raw = raw, w.raw_panel = raw_bytes / (ROWS / MATRIX_TILE);
        double pack = seconds_of(t, packing, &w);
        if (o->packing) {
            w.copy_bytes = (size_t)w.count * raw_bytes;
            w.copy = malloc(w.copy_bytes);
            double copy = w.copy ? seconds_of(t, copying, &w) : 0;
            free(w.copy);
            if (o->json)
                fprintf(out, "{\"type\":\"%s\",\"pack_gbs\":%.2f,\"pack_over_copy\":%.3f}\n", type_info(type)->name,
                        (double)w.copy_bytes / pack / 1e9, pack / copy);
            else
                fprintf(out, "%-8s packing %.1f GB/s, %.2f times a copy into fresh memory\n", type_info(type)->name,
                        (double)w.copy_bytes / pack / 1e9, pack / copy);
        }
    }
    for (int c = 0; c < COUNTS && !status; c++) {
        double rate[REPEATS], read[REPEATS];
        w.panel.tokens = token_counts[c];
        k->panel_fill(&w.panel, x, COLS, 0, w.panel.tokens);
        for (int r = 0; r < REPEATS; r++) {
            double before = ceiling_read(t, k, memory, memory_bytes);
            rate[r] = (double)w.count / seconds_of(t, products, &w);
            read[r] = rate[r] * (double)bytes / ((before + ceiling_read(t, k, memory, memory_bytes)) / 2);
        }
        double matrices = median(rate, REPEATS), share = median(read, REPEATS);
        double operations = matrices * 2 * ROWS * COLS * (double)w.panel.tokens, traffic = matrices * (double)bytes;
        char unit[64] = "";
        if (matrix_peak)
            snprintf(unit, sizeof unit, o->json ? ",\"matrix_peak_share\":%.3f" : "  %5.2f of the matrix unit's",
                     operations / matrix_peak);
        if (o->json)
            fprintf(out,
                    "{\"type\":\"%s\",\"tokens\":%u,\"gops\":%.1f,\"peak_share\":%.3f%s,\"gbs\":%.2f,\"read_share\":%.3f}\n",
                    type_info(type)->name, w.panel.tokens, operations / 1e9, operations / peak, unit, traffic / 1e9, share);
        else
            fprintf(out, "%-8s %4u tokens  %8.1f Gop/s  %5.2f of the vector peak%s  %7.2f GB/s  %5.2f of read\n",
                    type_info(type)->name, w.panel.tokens, operations / 1e9, operations / peak, unit, traffic / 1e9, share);
        fflush(out);
    }
    for (int i = 0; i < w.count && w.matrices; i++) matrix_free(&w.matrices[i]);
    free(w.matrices);
    free(w.out);
    free(w.panel.data);
    free(raw);
    return status;
}

tdm_status bench_kernels(const struct bench_kernels_options *o, FILE *out, tdm_error *err)
{
    static const enum type usual[] = {TYPE_Q8_0, TYPE_Q4_K, TYPE_Q6_K, TYPE_BF16, TYPE_F16, TYPE_F32};
    static const char *const names[PANEL_KINDS] = {[PANEL_F32] = "fp32", [PANEL_BF16] = "bf16", [PANEL_INT8] = "int8"};
    const enum type *types = o->types ? o->types : usual;
    int count = o->types ? o->type_count : (int)(sizeof usual / sizeof *usual);
    size_t memory_bytes = (size_t)1 << 30;
    struct team *t, solo;
    tdm_status status = team_open(&t, o->threads, o->cpus, err);
    if (status) return status;
    team_solo(&solo);
    void *memory = ceiling_memory(memory_bytes);
    float *x = malloc(sizeof *x * MOST_TOKENS * COLS);
    double peak[PANEL_KINDS], matrix_peak[PANEL_KINDS];
    if (!memory || !x) status = error_set(err, TDM_E_NOMEM, "bench: no memory for a streaming read of 1 GiB");
    if (!status) {
        for (size_t i = 0; i < (size_t)MOST_TOKENS * COLS; i++) x[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
        for (int kind = 0; kind < PANEL_KINDS; kind++) {
            double one = ceiling_peak(&solo, o->kernels, (enum panel_kind)kind);
            peak[kind] = ceiling_peak(t, o->kernels, (enum panel_kind)kind);
            fprintf(out, o->json ? "{\"ceiling\":\"%s\",\"one_gops\":%.1f,\"all_gops\":%.1f}\n"
                                 : "ceiling  %s on vectors: one core %.1f Gop/s, all %.1f\n",
                    names[kind], one / 1e9, peak[kind] / 1e9);
            one = ceiling_matrix_peak(&solo, o->kernels, (enum panel_kind)kind);
            matrix_peak[kind] = ceiling_matrix_peak(t, o->kernels, (enum panel_kind)kind);
            if (matrix_peak[kind])
                fprintf(out, o->json ? "{\"ceiling\":\"matrix_%s\",\"one_gops\":%.1f,\"all_gops\":%.1f}\n"
                                     : "ceiling  %s on the matrix unit: one core %.1f Gop/s, all %.1f\n",
                        names[kind], one / 1e9, matrix_peak[kind] / 1e9);
        }
        double one = ceiling_read(&solo, o->kernels, memory, memory_bytes);
        double all = ceiling_read(t, o->kernels, memory, memory_bytes);
        fprintf(out, o->json ? "{\"ceiling\":\"read\",\"one_gbs\":%.2f,\"all_gbs\":%.2f}\n"
                             : "ceiling  reading 1 GiB: one core %.2f GB/s, all %.2f\n", one / 1e9, all / 1e9);
    }
    for (int i = 0; i < count && !status; i++)
        status = measure_type(o, t, types[i], x, memory, memory_bytes, peak[o->kernels->panel_of(types[i])],
                              matrix_peak[o->kernels->panel_of(types[i])], out, err);
    free(memory);
    free(x);
    team_close(t);
    return status;
}
