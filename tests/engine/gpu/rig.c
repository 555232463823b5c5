#include "tests/engine/gpu/rig.h"

#include <stdlib.h>
#include <string.h>

#include "engine/gpu/pass/pass.h"
#include "tests/check.h"

static bool failed(tdm_status status, const tdm_error *err)
{
    if (status) CHECK_FAIL("%s", err->text);
    return status != TDM_OK;
}

const char *gpu_rig_absence(void)
{
    if (gpu_absence()) return gpu_absence();
    return gpu_list(NULL, 0) ? NULL : "no driver for Vulkan 1.3 is installed (mesa-vulkan-drivers has one)";
}

const char *gpu_rig_name(void)
{
    static char name[16];
    struct gpu_info infos[8];
    int n = gpu_list(infos, 8), place = 0;
    for (int i = 0; i < n && i < 8; i++)
        if (infos[i].kind == GPU_SOFTWARE) place = i;
    snprintf(name, sizeof name, "gpu:%d", place);
    return name;
}

const struct gpu_tuning gpu_rig_fused = {2, 1, 4, 32, 64, 4096, 4096, 32, 100, 1, 6, 2, 2, true, 500};

struct gpu *gpu_rig_open(const struct gpu_options *options)
{
    struct gpu *g;
    tdm_error err;
    return failed(gpu_open(&g, gpu_rig_name(), options, &err), &err) ? NULL : g;
}

enum { SHARED = 8 };
static struct {
    struct gpu *g;
    uint64_t slice;
    const struct gpu_tuning *tuning;
} shared[SHARED];
static int n_shared;

static void close_shared(void)
{
    while (n_shared) gpu_close(shared[--n_shared].g);
}

struct gpu *gpu_rig_shared(uint64_t slice, const struct gpu_tuning *tuning)
{
    for (int i = 0; i < n_shared; i++)
        if (shared[i].slice == slice && shared[i].tuning == tuning) return shared[i].g;
    struct gpu *g = gpu_rig_open(&(struct gpu_options){.slice = slice, .tuning = tuning});
    if (!g) return NULL;
    if (!n_shared) atexit(close_shared);
    if (n_shared == SHARED) abort();
    shared[n_shared].g = g;
    shared[n_shared].slice = slice;
    shared[n_shared++].tuning = tuning;
    return g;
}

enum { KEPT = 8 };
static struct source *kept[KEPT];
static int n_kept;

struct gpu_model *gpu_rig_model_for(struct gpu *g, const char *model, enum kv_type kv, uint32_t context)
{
    struct gpu_model *m = NULL;
    struct source *source;
    tdm_error err;
    struct source_options options = {.builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    struct gpu_model_options wanted = {
        .lm_head = TYPE_COUNT, .kv = kv, .context = context, .tokens = GPU_RIG_TOKENS, .runs = GPU_RIG_RUNS};
    if (failed(source_open(&source, model, &options, &err), &err)) return NULL;
    failed(gpu_model_new(&m, g, source, &wanted, &err), &err);
    if (!m || !m->config.layer_input)
        source_close(source);
    else if (n_kept < KEPT)
        kept[n_kept++] = source; /* its passes read rows of it */
    return m;
}

struct gpu_model *gpu_rig_model(struct gpu *g, const char *model, enum kv_type kv)
{
    return gpu_rig_model_for(g, model, kv, GPU_RIG_CONTEXT);
}

struct gpu_state *gpu_rig_state(struct gpu_model *m)
{
    struct gpu_state *s;
    tdm_error err;
    if (failed(gpu_state_new(&s, m, &err), &err)) abort();
    return s;
}

struct gpu_state *gpu_rig_fork(const struct gpu_state *s)
{
    struct gpu_state *fork;
    tdm_error err;
    if (failed(gpu_state_fork(&fork, s, &err), &err)) abort();
    return fork;
}

void gpu_rig_times(struct gpu_model *m, int64_t token_s, int64_t layer_s)
{
    m->token_ns = token_s * 1000000000;
    for (int i = 0; i < SIZES; i++) m->scratch[SCRATCH_LONG]->flight.layer_ns[i] = layer_s * 1000000000;
}

void gpu_rig_progress(struct gpu_model *m, tdm_progress progress, void *ctx)
{
    m->options.progress = progress;
    m->options.progress_ctx = ctx;
}

void gpu_rig_eval(struct gpu_model *m, struct gpu_state *s, const tdm_id *ids, uint32_t n, uint32_t most)
{
    tdm_error err;
    for (uint32_t i = 0; i < n; i += most) {
        struct gpu_run run = {.state = s, .tokens = ids + i, .n = n - i < most ? n - i : most};
        run.logits = i + run.n == n ? GPU_LOGITS_LAST : GPU_LOGITS_NONE;
        if (failed(gpu_forward(m, &run, 1, NULL, &err), &err)) return;
    }
}

void gpu_rig_logits(struct gpu_model *m, struct gpu_state *s, const tdm_id *ids, uint32_t n, float *out, float *hidden)
{
    tdm_error err;
    struct gpu_run run = {
        .state = s, .tokens = ids, .n = n, .logits = out ? GPU_LOGITS_ALL : GPU_LOGITS_NONE, .all = out};
    struct gpu_pass_options options = {.hidden = hidden};
    failed(gpu_forward(m, &run, 1, &options, &err), &err);
}

static uint32_t linear_layers(const struct gpu_model *m)
{
    const struct config *c = gpu_model_config(m);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->layers; i++) n += !c->full_attention[i];
    return n;
}

size_t gpu_rig_floats(const struct gpu_model *m, enum gpu_part part)
{
    uint32_t each = part == GPU_RECURRENT ? gpu_model_config(m)->delta.value_heads : 1;
    return (size_t)linear_layers(m) * each * gpu_part_bytes(m, part) / sizeof(float);
}

enum { PARTS = 4 + STATE_KINDS };

/* The parts of an image, and where it has them. */
static void parts_of(const struct gpu_model *m, const struct gpu_image *image, struct gpu_piece parts[PARTS],
                     void *places[PARTS])
{
    const struct gpu_content *c = &image->content;
    const struct config *config = gpu_model_config(m);
    bool headless = c->headless || !config->mtp.there;
    uint32_t pages = (c->length + KV_PAGE - 1) / KV_PAGE, head = (c->entries + KV_PAGE - 1) / KV_PAGE;
    struct gpu_piece all[4] = {{GPU_HEAD_PAGES, 0, headless ? 0 : head, 0},
                               {GPU_RECURRENT, 0, linear_layers(m) * config->delta.value_heads, 0},
                               {GPU_CONV, 0, linear_layers(m), 0},
                               {GPU_WAITING_ROWS, c->entries, headless ? 0 : c->length - c->entries, 0}};
    void *where[4] = {image->head_pages, image->recurrent, image->conv, image->waiting};
    memcpy(parts, all, sizeof all);
    memcpy(places, where, sizeof where);
    for (uint32_t kind = 0; kind < STATE_KINDS; kind++) {
        enum gpu_part part = (enum gpu_part)(GPU_PAGES + kind);
        uint64_t bytes = gpu_part_bytes(m, part);
        parts[4 + kind] = (struct gpu_piece){part, c->first[kind], bytes ? pages - c->first[kind] : 0, 0};
        places[4 + kind] = (char *)image->pages[kind] + c->first[kind] * bytes;
    }
}

/* Part by part through a port of two items, or what there is. */
static tdm_status move(const struct gpu_state *s, const struct gpu_image *image, bool to_device, tdm_error *err)
{
    struct gpu_model *m = (struct gpu_model *)gpu_state_model(s);
    struct gpu_piece parts[PARTS];
    void *places[PARTS];
    tdm_status status = TDM_OK;
    parts_of(m, image, parts, places);
    for (int i = 0; i < PARTS && !status; i++) {
        size_t bytes = gpu_part_bytes(m, parts[i].part);
        struct gpu_port *port = NULL;
        if (parts[i].n) status = gpu_port_new(&port, m, 64 + 2 * bytes, err);
        for (uint32_t done = 0; done < parts[i].n && !status;) {
            uint32_t n = parts[i].n - done < 2 ? 1 : 2;
            struct gpu_piece piece = {parts[i].part, parts[i].first + done, n, 64};
            char *here = (char *)places[i] + done * bytes, *there = (char *)gpu_port_memory(port) + 64;
            if (to_device) memcpy(there, here, n * bytes);
            status = gpu_port_start(port, s, &piece, 1, to_device, err);
            if (!status) status = gpu_port_wait(port, err);
            if (!status && !to_device) memcpy(here, there, n * bytes);
            done += n;
        }
        gpu_port_free(port);
    }
    return status;
}

tdm_status gpu_rig_save(const struct gpu_state *s, struct gpu_image *image, tdm_error *err)
{
    image->content = (struct gpu_content){.length = gpu_state_length(s),
                                          .tokens = gpu_state_tokens(s),
                                          .headless = gpu_state_headless(s),
                                          .entries = gpu_state_entries(s)};
    memcpy(image->content.first, gpu_state_first(s), sizeof image->content.first);
    memcpy(image->content.start, gpu_state_first(s), sizeof image->content.start);
    image->logits = NULL;
    tdm_status status = move(s, image, false, err);
    if (status || !gpu_state_has_logits(s)) return status;
    return gpu_state_fetch_logits(s, &image->logits, err);
}

tdm_status gpu_rig_load(struct gpu_state *s, const struct gpu_image *image, tdm_error *err)
{
    tdm_status status = gpu_state_prepare(s, &image->content, err);
    if (!status) status = move(s, image, true, err);
    if (!status) gpu_state_finish(s, image->logits);
    return status;
}

struct gpu_image gpu_rig_image(const struct gpu_state *s)
{
    const struct gpu_model *m = gpu_state_model(s);
    tdm_error err;
    size_t pages = (gpu_state_length(s) + KV_PAGE - 1) / KV_PAGE;
    struct gpu_image image = {.recurrent = calloc(gpu_rig_floats(m, GPU_RECURRENT) + 1, sizeof(float)),
                              .conv = calloc(gpu_rig_floats(m, GPU_CONV) + 1, sizeof(float)),
                              .head_pages = calloc(pages + 1, gpu_part_bytes(m, GPU_HEAD_PAGES) + 1),
                              .waiting = calloc((size_t)GPU_WAITING, gpu_part_bytes(m, GPU_WAITING_ROWS))};
    for (int kind = 0; kind < STATE_KINDS; kind++)
        image.pages[kind] = calloc(pages + 1, gpu_part_bytes(m, (enum gpu_part)(GPU_PAGES + kind)) + 1);
    failed(gpu_rig_save(s, &image, &err), &err);
    return image;
}

void gpu_rig_image_free(struct gpu_image *image)
{
    for (int kind = 0; kind < STATE_KINDS; kind++) free(image->pages[kind]);
    free(image->recurrent);
    free(image->conv);
    free(image->head_pages);
    free(image->waiting);
}

/* Keys and values of a kind, of the positions that both have. */
static bool pages_equal(const struct gpu_model *m, uint32_t kind, const struct gpu_image *a, const struct gpu_image *b)
{
    const struct state_kind *k = &m->shape.kind[kind];
    size_t page = gpu_part_bytes(m, (enum gpu_part)(GPU_PAGES + kind)), blocks = 2 * (size_t)k->layers * k->kv_heads;
    uint32_t first = a->content.first[kind] > b->content.first[kind] ? a->content.first[kind] : b->content.first[kind];
    size_t block = page / blocks, n = k->head_dim, scales = (n + 31) / 32 * 4;
    bool q8 = block == kv_plain_bytes(KV_Q8_0, k->head_dim);
    size_t row = q8 ? n : block / KV_PAGE; /* of a position, without its scales */
    for (uint32_t p = first; p * KV_PAGE < a->content.length; p++) {
        uint32_t positions = a->content.length - p * KV_PAGE < KV_PAGE ? a->content.length - p * KV_PAGE : KV_PAGE;
        for (size_t i = 0; i < blocks; i++) {
            const char *x = (char *)a->pages[kind] + p * page + i * block,
                       *y = (char *)b->pages[kind] + p * page + i * block;
            if (memcmp(x, y, row * positions)) return false;
            if (q8 && memcmp(x + KV_PAGE * n, y + KV_PAGE * n, scales * positions)) return false;
        }
    }
    return true;
}

bool gpu_rig_equal(const struct gpu_state *a, const struct gpu_state *b)
{
    const struct gpu_model *m = gpu_state_model(a);
    struct gpu_image x = gpu_rig_image(a), y = gpu_rig_image(b);
    size_t vocab = gpu_model_config(m)->vocab;
    bool equal = x.content.length == y.content.length && !x.logits == !y.logits &&
                 !memcmp(x.content.tokens, y.content.tokens, x.content.length * sizeof(tdm_id)) &&
                 (!x.logits || !memcmp(x.logits, y.logits, vocab * sizeof *x.logits)) &&
                 !memcmp(x.recurrent, y.recurrent, gpu_rig_floats(m, GPU_RECURRENT) * sizeof(float)) &&
                 !memcmp(x.conv, y.conv, gpu_rig_floats(m, GPU_CONV) * sizeof(float));
    for (uint32_t kind = 0; kind < m->shape.kinds && equal; kind++) equal = pages_equal(m, kind, &x, &y);
    gpu_rig_image_free(&x);
    gpu_rig_image_free(&y);
    return equal;
}
