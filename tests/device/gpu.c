/* The program `tandem-gpu`: what one GPU reaches, as one JSON object a line: its reading speed, its dispatches,
 * products of each type with several tilings, whole models with the time of each shader. It needs no other
 * library than the engine's, so that it can be carried to a machine that has little installed.
 *
 *     tandem-gpu [-d gpu:N] [-q] [-n] [-w] [-p] [-c] [-v] [MODEL...]
 *
 * -q: small sizes, for software devices; -n: without the shaders for many tokens; -w: their products alone;
 * -p: what the driver says of each compiled shader; -c: of models nothing but what copies of states reach, alone and
 * beside a reply; -v: with the validation layer and its synchronisation checks, whose lines are counted
 *
 * Exit status: 0 all went well, 1 something failed, 2 wrong use. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/forward/sampler.h"
#include "engine/os/file.h"
#include "engine/os/start.h"
#include "src/process/shrunk.h"
#include "tests/device/measure.h"

static bool quick, gemm_alone, copies_alone;
static struct gpu_options opened_with;
static const char *device = "gpu";

static int failed(const tdm_error *err)
{
    fprintf(stderr, "tandem-gpu: %s\n", err->text);
    return 1;
}

static int describe(struct gpu *g)
{
    static const char *const kinds[] = {"discrete", "integrated", "virtual", "software"};
    struct gpu_info info;
    gpu_about(g, &info);
    printf("{\"what\":\"device\",\"name\":\"%s\",\"driver\":\"%s\",\"kind\":\"%s\",\"memory\":%llu,"
           "\"copies_apart\":%s,\"matrix_units\":\"%s\"}\n",
           info.name, info.driver, kinds[info.kind], (unsigned long long)info.memory,
           info.copies_apart ? "true" : "false", gpu_matrix_units(g));
    return 0;
}

static void print_statistic(void *ctx, const char *pipeline, const char *name, double value)
{
    (void)ctx;
    printf("{\"what\":\"pipeline\",\"constants\":\"%s\",\"name\":\"%s\",\"value\":%.0f}\n", pipeline, name, value);
}

/* The most that is read in a second, of 2 GiB. */
static int reading_speed(struct gpu *g)
{
    double seconds;
    tdm_error err;
    uint64_t bytes = quick ? 16 << 20 : (uint64_t)2 << 30;
    if (gpu_measure_read(g, bytes, 128, 8, quick ? 528 : 2112, &seconds, &err)) return failed(&err);
    printf("{\"what\":\"reading\",\"gb_s\":%.0f}\n", (double)bytes / seconds / 1e9);
    return 0;
}

static int reading(struct gpu *g)
{
    static const uint32_t lanes[] = {64, 128, 256, 512}, each[] = {1, 2, 4, 8}, groups[] = {528, 1056, 2112, 8448};
    uint64_t bytes = quick ? 16 << 20 : (uint64_t)2 << 30;
    tdm_error err;
    for (int l = 0; l < 4; l++)
        for (int e = 0; e < 4; e++)
            for (int i = 0; i < 4; i++) {
                double seconds;
                if (quick && (l > 1 || i)) continue;
                if (gpu_measure_read(g, bytes, lanes[l], each[e], groups[i], &seconds, &err)) return failed(&err);
                printf("{\"what\":\"read\",\"lanes\":%u,\"each\":%u,\"groups\":%u,\"gb_s\":%.1f}\n", lanes[l], each[e],
                       groups[i], (double)bytes / seconds / 1e9);
            }
    return 0;
}

static int dispatching(struct gpu *g)
{
    double with, without, submission, polled;
    tdm_error err;
    if (gpu_measure_dispatch(g, true, &with, &err) || gpu_measure_dispatch(g, false, &without, &err) ||
        gpu_measure_submission(g, false, &submission, &err) || gpu_measure_submission(g, true, &polled, &err))
        return failed(&err);
    printf("{\"what\":\"dispatch\",\"with_barrier_us\":%.3f,\"without_us\":%.3f,\"submission_us\":%.2f,"
           "\"polled_us\":%.2f}\n",
           with * 1e6, without * 1e6, submission * 1e6, polled * 1e6);
    return 0;
}

static int product(struct gpu *g, enum type type, uint32_t rows, uint32_t cols, uint32_t tokens, uint32_t at_once,
                   uint32_t segments, uint32_t groups)
{
    struct gpu_product p = {.type = type, .rows = rows, .cols = cols, .tokens = tokens};
    p.tuning = (struct gpu_tuning){.tokens = at_once, .segments = segments, .groups = groups};
    tdm_error err;
    if (gpu_measure_product(g, &p, quick ? 8 << 20 : (uint64_t)1 << 30, &err)) return failed(&err);
    printf("{\"what\":\"product\",\"type\":\"%s\",\"rows\":%u,\"cols\":%u,\"tokens\":%u,\"at_once\":%u,"
           "\"segments\":%u,\"groups\":%u,\"us\":%.2f,\"gb_s\":%.1f,\"tera_ops\":%.2f}\n",
           type_info(type)->name, rows, cols, tokens, at_once, segments, groups, p.seconds * 1e6,
           p.bytes / p.seconds / 1e9, 2.0 * rows * cols * tokens / p.seconds / 1e12);
    fflush(stdout);
    return 0;
}

static int products(struct gpu *g)
{
    static const enum type types[] = {TYPE_Q8_0, TYPE_Q4_K, TYPE_Q6_K, TYPE_MXFP4, TYPE_BF16};
    static const uint32_t shapes[][2] = {{1024, 1024}, {6144, 1024},  {1024, 3584}, {248320, 1024},
                                         {4096, 4096}, {12288, 4096}, {4096, 12288}};
    int wrong = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types && !wrong; t++)
        for (int s = 0; s < (quick ? 1 : 7) && !wrong; s++) {
            uint32_t rows = shapes[s][0], cols = shapes[s][1];
            for (uint32_t segments = 8; segments <= 16 && !wrong; segments *= 2)
                for (uint32_t groups = quick ? 4096 : 1056; groups <= 8448 && !wrong; groups *= 8)
                    wrong = product(g, types[t], rows, cols, 1, 1, segments, groups);
            if (s == 3) continue; /* logits of one row at a time */
            static const uint32_t tokens[] = {2, 4, 8, 16, 74, 512};
            for (int i = 0; i < (quick ? 1 : 6) && !wrong; i++)
                for (uint32_t segments = 8; segments <= 16 && !wrong; segments *= 2)
                    wrong = product(g, types[t], rows, cols, tokens[i], 8, segments, 8448);
        }
    return wrong;
}

/* By the shaders for many tokens. */
static int gemm_product(struct gpu *g, enum type type, const uint32_t shape[2], uint32_t tokens,
                        struct gpu_variant variant)
{
    struct gpu_product p = {.type = type, .rows = shape[0], .cols = shape[1], .tokens = tokens, .variant = variant};
    p.tuning = (struct gpu_tuning){.segments = 16};
    tdm_error err;
    tdm_status status = gpu_measure_product(g, &p, quick ? 4 << 20 : (uint64_t)256 << 20, &err);
    if (status == TDM_E_UNSUPPORTED) return 0; /* it is too large, or the device has no such units */
    if (status) return failed(&err);
    printf("{\"what\":\"wide\",\"type\":\"%s\",\"rows\":%u,\"cols\":%u,\"tokens\":%u,\"parts\":%u,\"groups\":%u,"
           "\"quads\":%u,\"teams\":%u,\"apart\":%u,\"us\":%.2f,\"tera_ops\":%.2f}\n",
           type_info(type)->name, shape[0], shape[1], tokens, variant.parts, variant.groups, variant.quads,
           variant.teams, variant.apart, p.seconds * 1e6, 2.0 * shape[0] * shape[1] * tokens / p.seconds / 1e12);
    fflush(stdout);
    return 0;
}

enum { MAX_VARIANTS = 18 };

/* Of quants with many numbers of parts and groups, of floats in the ways that loading a model measures. */
static uint32_t variants_of(struct gpu_variant out[MAX_VARIANTS], enum type type)
{
    static const uint8_t parts[] = {1, 2, 3, 4, 5, 8}, groups[] = {2, 4, 8};
    uint32_t n = 0;
    if (type == TYPE_BF16) {
        const struct gpu_variant *all = gpu_variants(type, &n);
        memcpy(out, all, n * sizeof *all);
        return n;
    }
    for (uint32_t p = 0; p < sizeof parts; p++)
        for (uint32_t i = 0; i < sizeof groups; i++)
            out[n++] = (struct gpu_variant){.parts = parts[p], .groups = groups[i]};
    return n;
}

static int gemm_products(struct gpu *g)
{
    static const enum type types[] = {TYPE_Q8_0, TYPE_Q4_K, TYPE_Q6_K, TYPE_MXFP4, TYPE_BF16};
    static const uint32_t shapes[][2] = {{1024, 1024}, {6144, 1024},  {1024, 3584},
                                         {4096, 4096}, {12288, 4096}, {4096, 12288}};
    static const uint32_t tokens[] = {16, 32, 74, 512};
    struct gpu_variant variants[MAX_VARIANTS];
    int wrong = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        uint32_t n_variants = variants_of(variants, types[t]), part = types[t] == TYPE_BF16 ? 16 : 8;
        for (int s = 0; s < (quick ? 1 : 6); s++)
            for (int n = 0; n < (quick ? 1 : 4); n++)
                for (uint32_t i = 0; i < n_variants && !wrong; i++) {
                    if (variants[i].parts * part >= 2 * tokens[n]) continue; /* most of its tokens would be none */
                    wrong = gemm_product(g, types[t], shapes[s], tokens[n], variants[i]);
                }
    }
    return wrong;
}

/* Whether the last logits of 74 tokens are the same in one pass and in several. */
static int exactness(struct gpu_model *m, const char *name, const tdm_id *ids)
{
    static const uint32_t sizes[] = {1, 5, 8, 33};
    uint32_t vocab = gpu_model_config(m)->vocab;
    struct gpu_state *whole = NULL, *cut = NULL;
    tdm_error err;
    struct gpu_run run = {.tokens = ids, .n = 74, .logits = GPU_LOGITS_LAST};
    tdm_status status = gpu_state_new(&whole, m, &err);
    run.state = whole;
    if (!status) status = gpu_forward(m, &run, 1, NULL, &err);
    for (int s = 0; s < 4 && !status; s++) {
        status = gpu_state_new(&cut, m, &err);
        for (uint32_t i = 0; i < 74 && !status; i += sizes[s]) {
            run = (struct gpu_run){cut, ids + i, 74 - i < sizes[s] ? 74 - i : sizes[s], GPU_LOGITS_LAST, NULL, NULL};
            status = gpu_forward(m, &run, 1, NULL, &err);
        }
        double most = 0, differs = 0;
        for (uint32_t i = 0; i < vocab && !status; i++) {
            float a = gpu_state_logits(whole)[i], b = gpu_state_logits(cut)[i];
            most = fabs(a) > most ? fabs(a) : most;
            differs = !(fabs(a - b) <= differs) ? fabs(a - b) : differs;
        }
        if (!status)
            printf("{\"what\":\"exact\",\"model\":\"%s\",\"passes_of\":%u,\"differs\":%g,\"largest\":%g}\n", name,
                   sizes[s], differs, most);
        gpu_state_free(cut);
        cut = NULL;
    }
    gpu_state_free(whole);
    return status ? failed(&err) : 0;
}

static void print_steps(const char *what, const char *name, uint32_t n, const struct gpu_step_time *times,
                        uint32_t kinds)
{
    for (uint32_t i = 0; i < kinds; i++) {
        if (!times[i].count) continue; /* the first step only starts the clock */
        printf("{\"what\":\"%s\",\"model\":\"%s\",\"tokens\":%u,\"step\":\"%s\",\"count\":%u,\"us\":%.1f}\n", what,
               name, n, times[i].name, times[i].count, times[i].seconds * 1e6);
    }
}

static int steps(struct gpu_model *m, struct gpu_state *s, const char *name, const tdm_id *ids, uint32_t n)
{
    struct gpu_step_time times[GPU_STEP_KINDS];
    uint32_t kinds;
    tdm_error err;
    if (gpu_measure_pass(m, s, ids, n, times, &kinds, &err)) return failed(&err);
    print_steps("step", name, n, times, kinds);
    return 0;
}

/* The operations of a pass of one token in one dispatch. */
static int operations(struct gpu_model *m, const char *name)
{
    struct gpu_step_time times[GPU_STEP_KINDS];
    uint32_t kinds;
    tdm_error err;
    double all = 0;
    if (gpu_measure_together(m, times, &kinds, &err)) return failed(&err);
    print_steps("operation", name, 1, times, kinds);
    for (uint32_t i = 0; i < kinds; i++) all += times[i].seconds;
    printf("{\"what\":\"together\",\"model\":\"%s\",\"groups\":%u,\"us\":%.1f}\n", name, gpu_model_fused_workgroups(m),
           all * 1e6);
    return 0;
}

/* How products of many tokens are tiled, as far as that was measured: a shape, then the tilings for up to 16, 48, 80,
 * 128 and 512 tokens. */
static void cuts(struct gpu *g)
{
    static char text[GPU_CHOICES_BYTES];
    gpu_choices(g, text, sizeof text);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        printf("{\"what\":\"cut\",\"ways\":\"%.*s\"}\n", (int)(end - line), line);
}

/* The next token as a reply has it: from all logits, or from the best of them where these decide. */
static tdm_status draw(struct gpu_state *s, struct sampler *sampler, const tdm_sampling *how, tdm_id *out,
                       tdm_error *err)
{
    static struct gpu_candidate best[GPU_TOPK_MAX];
    static struct candidate all[GPU_TOPK_MAX];
    struct topk_logits known = {.all = all};
    uint32_t index = gpu_state_length(s);
    const float *row;
    known.n = gpu_state_topk(s, best, &known.from);
    for (uint32_t i = 0; i < known.n; i++) all[i] = (struct candidate){best[i].logit, best[i].id};
    if (known.n && sampler_sample_topk(sampler, how, &known, 0, 0, index, out)) return TDM_OK;
    tdm_status status = gpu_state_fetch_logits(s, &row, err);
    if (!status) *out = sampler_sample(sampler, how, row, 0, 0, index);
    if (!status && *out < 0) *out = 0;
    return status;
}

/* Replies at temperature 0 that the device draws, some tokens a submission. */
static tdm_status bursts(struct gpu_model *m, struct gpu_state *s, const char *name, tdm_error *err)
{
    int n = quick ? 16 : 200;
    tdm_status status = TDM_OK;
    for (uint32_t each = 1; each <= gpu_model_burst(m) && gpu_model_fused_workgroups(m) && !status; each *= 2) {
        int64_t start = 0;
        tdm_id sampled[GPU_BURST] = {13};
        for (int i = -n / 10 - (int)each; i < n && !status; i += (int)each) {
            uint32_t appended;
            if (i < (int)each && i >= 0) start = clock_ns();
            struct gpu_reply reply = {.state = s, .next = sampled[0] < 0 ? 0 : sampled[0], .n = each};
            status = gpu_reply(&reply, sampled, &appended, err);
            sampled[0] = sampled[each - 1];
        }
        double us = (double)(clock_ns() - start) / 1e3 / ((n + each - 1) / each * each);
        if (!status)
            printf("{\"what\":\"reply\",\"model\":\"%s\",\"sampling\":\"greedy\",\"read_back\":\"drawn\","
                   "\"a_submission\":%u,\"us\":%.1f,\"tok_s\":%.1f}\n",
                   name, each, us, 1e6 / us);
    }
    return status;
}

/* Replies, a token a submission, drawn by the host: from all logits, or from the best of them. */
static int replies(struct gpu_model *m, struct gpu_state *s, const char *name)
{
    static const struct {
        const char *name;
        tdm_sampling how;
    } ways[] = {
        {"greedy", {.temperature = 0, .top_p = 1, .repeat_penalty = 1}},
        {"top-k 20", {.temperature = 1, .top_k = 20, .top_p = 0.95f, .presence_penalty = 1.5f, .repeat_penalty = 1}}};
    struct sampler *sampler;
    tdm_error err;
    if (sampler_new(&sampler, gpu_model_config(m)->vocab, &err)) return failed(&err);
    tdm_status status = TDM_OK;
    int n = quick ? 3 : 200;
    for (int w = 0; w < 2; w++)
        for (int best = 0; best < 2 && !status; best++) {
            int64_t start = 0;
            tdm_id id = 13;
            sampler_start(sampler, NULL, 0);
            for (int i = -n / 10 - 1; i < n && !status; i++) {
                if (!i) start = clock_ns();
                struct gpu_run run = {
                    .state = s, .tokens = &id, .n = 1, .logits = best ? GPU_LOGITS_TOPK : GPU_LOGITS_LAST};
                status = gpu_forward(m, &run, 1, NULL, &err);
                if (!status) status = draw(s, sampler, &ways[w].how, &id, &err);
                if (!status) sampler_accept(sampler, id);
            }
            double each = (double)(clock_ns() - start) / 1e9 / n;
            if (!status)
                printf("{\"what\":\"reply\",\"model\":\"%s\",\"sampling\":\"%s\",\"read_back\":\"%s\",\"us\":%.1f,"
                       "\"tok_s\":%.1f}\n",
                       name, ways[w].name, best ? "best" : "all", each * 1e6, 1 / each);
        }
    sampler_free(sampler);
    if (!status) status = bursts(m, s, name, &err);
    return status ? failed(&err) : 0;
}

static int speed(struct gpu_model *m, const char *name, const tdm_id *ids)
{
    static const uint32_t sizes[] = {16, 74, 512};
    tdm_error err;
    struct gpu_state *s;
    if (gpu_state_new(&s, m, &err)) return failed(&err);
    for (int i = 0; i < (quick ? 1 : 3); i++) {
        double best = 1e9;
        for (int round = 0; round < (quick ? 2 : 6); round++) {
            gpu_state_clear(s);
            struct gpu_run run = {.state = s, .tokens = ids, .n = sizes[i], .logits = GPU_LOGITS_LAST};
            int64_t start = clock_ns();
            if (gpu_forward(m, &run, 1, NULL, &err)) return failed(&err);
            double seconds = (double)(clock_ns() - start) / 1e9;
            if (round && seconds < best) best = seconds;
        }
        printf("{\"what\":\"prefill\",\"model\":\"%s\",\"tokens\":%u,\"ms\":%.3f,\"tok_s\":%.0f}\n", name, sizes[i],
               best * 1e3, sizes[i] / best);
    }
    int n = quick ? 3 : 200;
    int64_t start = 0;
    for (int i = -n / 10 - 1; i < n; i++) {
        if (!i) start = clock_ns();
        struct gpu_run run = {.state = s, .tokens = ids, .n = 1, .logits = GPU_LOGITS_LAST};
        if (gpu_forward(m, &run, 1, NULL, &err)) return failed(&err);
    }
    double each = (double)(clock_ns() - start) / 1e9 / n;
    printf("{\"what\":\"decode\",\"model\":\"%s\",\"from\":%u,\"us\":%.1f,\"tok_s\":%.1f}\n", name, gpu_state_length(s),
           each * 1e6, 1 / each);
    int wrong = operations(m, name);
    if (!wrong) wrong = steps(m, s, name, ids, 1);
    if (!wrong) wrong = replies(m, s, name);
    for (int i = 1; i < 3 && !wrong; i++) {
        gpu_state_clear(s);
        wrong = steps(m, s, name, ids, quick ? 4 : sizes[i]);
    }
    gpu_state_free(s);
    return wrong;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* A reply beside which something is copied. */
struct beside {
    struct gpu_model *model;
    struct gpu_state *state;
    atomic_bool ends;
    uint32_t tokens;
    int64_t ns;
    int wrong;
};

static void *decode(void *ctx)
{
    struct beside *b = ctx;
    tdm_error err;
    int64_t start = clock_ns();
    for (tdm_id id = 13; !b->ends && gpu_state_length(b->state) < 4000 && !b->wrong; b->tokens++) {
        struct gpu_run run = {.state = b->state, .tokens = &id, .n = 1, .logits = GPU_LOGITS_TOPK};
        if (gpu_forward(b->model, &run, 1, NULL, &err)) b->wrong = failed(&err);
    }
    b->ns = clock_ns() - start;
    return NULL;
}

/* All pages of a state, by two ports in turn; *seconds: of the fastest round. */
static tdm_status copy_pages(struct gpu_state *s, struct gpu_port *const port[2], uint32_t each, bool to_device,
                             double *seconds, tdm_error *err)
{
    uint32_t pages = (gpu_state_length(s) + KV_PAGE - 1) / KV_PAGE;
    tdm_status status = TDM_OK;
    *seconds = 1e9;
    for (int round = 0; round < (quick ? 2 : 20) && !status; round++) {
        int64_t start = clock_ns();
        for (uint32_t i = 0, turn = 0; i < pages && !status; i += each, turn++) {
            struct gpu_piece piece = {GPU_PAGES, i, pages - i < each ? pages - i : each, 0};
            status = gpu_port_wait(port[turn % 2], err);
            if (!status) status = gpu_port_start(port[turn % 2], s, &piece, 1, to_device, err);
        }
        for (int i = 0; i < 2; i++) gpu_port_wait(port[i], status ? NULL : err);
        double took = (double)(clock_ns() - start) / 1e9;
        if (took < *seconds) *seconds = took;
    }
    return status;
}

enum { TOKENS = 2048 }; /* of the state whose pages are copied */

/* Whether a state has the pages of all its tokens: windows give the early ones back. */
static bool has_all_pages(const struct config *c)
{
    for (uint32_t i = 0; i < c->layers; i++)
        if (c->window[i]) return false;
    return !c->positions || c->positions >= TOKENS;
}

/* What the link reaches: of the pages of a long state, in loads as they cross in. */
static int copies(struct gpu_model *m, const char *name)
{
    enum { LOAD = 4 << 20 };
    static const tdm_id ids[TOKENS];
    struct beside beside = {.model = m};
    struct gpu_state *s = NULL;
    struct gpu_port *port[2] = {NULL, NULL};
    tdm_error err;
    if (!has_all_pages(gpu_model_config(m))) {
        printf("{\"what\":\"copies\",\"model\":\"%s\",\"left_out\":\"no state of %d tokens with all its pages\"}\n",
               name, TOKENS);
        return 0;
    }
    uint64_t page = gpu_part_bytes(m, GPU_PAGES), load = page < LOAD ? LOAD : page, bytes = TOKENS / KV_PAGE * page;
    tdm_status status = gpu_state_new(&s, m, &err);
    if (!status) status = gpu_state_new(&beside.state, m, &err);
    if (!status)
        status = gpu_state_prepare(s, &(struct gpu_content){.length = TOKENS, .tokens = ids, .headless = true}, &err);
    for (int i = 0; i < 2 && !status; i++) status = gpu_port_new(&port[i], m, load, &err);
    for (int with = 0; with < 2 && !status; with++) {
        pthread_t thread;
        beside.ends = false;
        beside.tokens = 0;
        if (with && pthread_create(&thread, NULL, decode, &beside)) status = error_set(&err, TDM_E_NOMEM, "no thread");
        for (int to = 0; to < 2 && !status; to++) {
            double seconds;
            status = copy_pages(s, port, (uint32_t)(load / page), to, &seconds, &err);
            if (!status)
                printf("{\"what\":\"copies\",\"model\":\"%s\",\"to_device\":%s,\"beside_reply\":%s,"
                       "\"mb\":%.1f,\"gb_s\":%.2f}\n",
                       name, to ? "true" : "false", with ? "true" : "false", (double)bytes / 1e6,
                       (double)bytes / seconds / 1e9);
        }
        beside.ends = true;
        if (with) pthread_join(thread, NULL);
        if (with && beside.tokens)
            printf("{\"what\":\"reply_beside_copies\",\"model\":\"%s\",\"tok_s\":%.1f}\n", name,
                   beside.tokens * 1e9 / (double)beside.ns);
    }
    for (int i = 0; i < 2; i++) gpu_port_free(port[i]);
    gpu_state_free(s);
    gpu_state_free(beside.state);
    return status ? failed(&err) : beside.wrong;
}

static int model(struct gpu *g, const char *name)
{
    struct source *source;
    struct gpu_model *m;
    tdm_error err;
    tdm_id ids[512];
    struct source_options options = {.builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    struct gpu_model_options wanted = {.lm_head = TYPE_COUNT, .kv = KV_F16, .context = 4096, .tokens = 512, .runs = 8};
    int64_t start = clock_ns();
    if (source_open(&source, name, &options, &err)) return failed(&err);
    tdm_status status = gpu_model_new(&m, g, source, &wanted, &err);
    if (status) {
        source_close(source);
        return failed(&err);
    }
    printf("{\"what\":\"model\",\"model\":\"%s\",\"load_s\":%.2f,\"used\":%llu}\n", name,
           (double)(clock_ns() - start) / 1e9, (unsigned long long)gpu_used(g));
    for (uint32_t i = 0; i < 512; i++) ids[i] = (tdm_id)((i * 7919u + 13) % gpu_model_config(m)->vocab);
    int wrong = exactness(m, name, ids);
    if (!wrong) wrong = copies(m, name);
    if (!wrong && !copies_alone) wrong = speed(m, name, ids);
    fflush(stdout);
    gpu_model_free(m);
    source_close(source); /* a model may read rows of it as long as it is there */
    return wrong;
}

/* With nothing but system calls. */
static void tell(const char *line)
{
    file_write_all(STDERR_FILENO, line, strlen(line));
    file_write_all(STDERR_FILENO, "\n", 1);
}

int main(int argc, char **argv)
{
    int option;
    start_standard();
    shrunk_catch(NULL, tell);
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was measured is there, whatever comes after it */
    while ((option = getopt(argc, argv, "d:qnwpcv")) != -1) {
        if (option == 'd')
            device = optarg;
        else if (option == 'q')
            quick = true;
        else if (option == 'n')
            opened_with.no_gemm = true;
        else if (option == 'w')
            gemm_alone = true;
        else if (option == 'p')
            opened_with.statistics = true;
        else if (option == 'c')
            copies_alone = true;
        else if (option == 'v')
            opened_with.validate = true;
        else
            return 2;
    }
    struct gpu *g;
    tdm_error err;
    if (gpu_open(&g, device, &opened_with, &err)) return failed(&err);
    int wrong = describe(g) || dispatching(g) || reading_speed(g);
    for (int i = optind; i < argc; i++) wrong |= model(g, argv[i]);
    if (optind == argc) wrong |= gemm_products(g);
    if (optind == argc && !gemm_alone) wrong |= reading(g) || products(g);
    cuts(g);
    gpu_measure_pipelines(g, print_statistic, NULL);
    if (opened_with.validate) printf("{\"what\":\"validation\",\"complaints\":%u}\n", gpu_validation_messages(g));
    if (gpu_validation_messages(g)) fprintf(stderr, "tandem-gpu: %s\n", gpu_first_validation_message(g));
    gpu_close(g);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "tandem-gpu: standard output can't be written\n");
        wrong = 1;
    }
    return wrong;
}
