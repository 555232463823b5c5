/* GPUs as a backend, by way of engine/gpu. A state is one of the device's with what the host always has of it; between
 * the device's form and the bytes of state files lies a state in the host's memory.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/backend.h"
#include "engine/backend/known.h"
#include "engine/backend/selftest.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/gpu/gpu.h"
#include "engine/model/half.h"
#include "engine/state/memory.h"

enum {
    PASS_TOKENS = 128,   /* longer runs are evaluated in pieces */
    PASS_RUNS = 8,
    SEVERAL = 4,         /* tokens of a reply in one submission: nobody else gets the device in between */
    STATES_AT_LEAST = 2, /* a model without room for these is of no use on a device */
};

struct device {
    struct backend_device base;
    struct gpu *gpu;
    char name[16];
    pthread_mutex_t lock; /* guards what follows */
    struct model *models; /* loaded now */
    char *folder;         /* where it is kept how products are cut (known.h); NULL: nowhere */
};

struct model {
    struct backend_model base;
    struct gpu_model *gpu;
    struct gpu_needs needs;
    enum kv_type kv;
    uint32_t context;
    int users;
    struct model *next;
};

struct gpu_backed {
    struct state base;
    struct gpu_state *gpu;
    bool all; /* its last draw, or somebody else, took all logits: the next pass brings them at once, else the best */
};

static struct gpu_state *of(const struct state *s)
{
    return ((const struct gpu_backed *)s)->gpu;
}

static struct model *model_of(const struct backend_model *m)
{
    return (struct model *)m;
}

/* What the host has of a state is what the device's says. */
static void take_over(struct state *s)
{
    struct gpu_state *own = of(s);
    s->length = gpu_state_length(own);
    s->logits_valid = gpu_state_has_logits(own);
    s->broken = gpu_state_broken(own);
    s->headless = gpu_state_headless(own);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static tdm_status open_gpu(struct backend_device **out, const char *name, tdm_error *err)
{
    struct device *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return error_set(err, TDM_E_NOMEM, "%s: no memory", name);
    tdm_status status = gpu_open(&d->gpu, name, NULL, err);
    if (status) {
        free(d);
        return status;
    }
    struct gpu_info info;
    gpu_about(d->gpu, &info);
    uint64_t identity = fnv_bytes(fnv_bytes(FNV_START, info.name, strlen(info.name)), info.driver, strlen(info.driver));
    d->base = (struct backend_device){.backend = &backend_gpu, .identity = identity | 1};
    snprintf(d->name, sizeof d->name, "%s", name);
    pthread_mutex_init(&d->lock, NULL);
    *out = &d->base;
    return TDM_OK;
}

static void close_gpu(struct backend_device *device)
{
    struct device *d = (struct device *)device;
    assert_always(!d->models);
    gpu_close(d->gpu);
    pthread_mutex_destroy(&d->lock);
    free(d->folder);
    free(d);
}

static void about(struct backend_device *device, struct backend_about *out)
{
    struct gpu *g = ((struct device *)device)->gpu;
    struct gpu_info info;
    gpu_about(g, &info);
    *out = (struct backend_about){
        .software = info.kind == GPU_SOFTWARE, .memory = info.memory, .free = info.free_memory, .used = gpu_used(g)};
    snprintf(out->name, sizeof out->name, "%s", info.name);
    snprintf(out->driver, sizeof out->driver, "%s", info.driver);
    snprintf(out->pci, sizeof out->pci, "%s", info.pci);
}

static bool is_lost(struct backend_device *device)
{
    return gpu_is_lost(((struct device *)device)->gpu);
}

static tdm_status check(struct backend_device *device, const char *folder, tdm_progress progress, void *progress_ctx,
                        tdm_error *err)
{
    struct device *d = (struct device *)device;
    struct selftest_result r;
    struct gpu_info info;
    gpu_about(d->gpu, &info);
    selftest_kept(&r, folder, &info);
    if (!r.known) {
        tdm_status status = selftest_run(&r, d->gpu, progress, progress_ctx, err);
        if (status) return status;
        selftest_keep(&r, folder, &info, NULL); /* where it can't be kept it is tested again */
    }
    if (r.passed) {
        known_take_choices(d->gpu, folder, &info);
        pthread_mutex_lock(&d->lock);
        free(d->folder);
        d->folder = strdup(folder);
        pthread_mutex_unlock(&d->lock);
        return TDM_OK;
    }
    return error_set(err, TDM_E_UNSUPPORTED, "%s (%s) is not used: its driver (%s) fails the self-test: %s", d->name,
                     info.name, info.driver, r.why);
}

/* ---- Models ------------------------------------------------------------------------------------------------------ */

/* Before anything is copied. */
static tdm_status check_fits(struct device *d, const struct gpu_needs *needs, tdm_error *err)
{
    struct gpu_info info;
    gpu_about(d->gpu, &info);
    uint64_t all = needs->weights + needs->scratch + STATES_AT_LEAST * needs->state;
    if (!info.free_memory || all <= info.free_memory) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "%s (%s): the model takes %.1f GB there, %.1f GB are free", d->name, info.name,
                     1e-9 * (double)all, 1e-9 * (double)info.free_memory);
}

static tdm_status upload(struct model *m, struct device *d, const struct backend_load *what, tdm_error *err)
{
    struct gpu_model_options o = {.lm_head = what->weights->lm_head->type, .kv = what->kv, .context = what->context,
                                  .tokens = PASS_TOKENS, .runs = PASS_RUNS, .progress = what->progress,
                                  .progress_ctx = what->progress_ctx};
    gpu_model_needs(what->source, &o, &m->needs);
    tdm_status status = check_fits(d, &m->needs, err);
    return status ? status : gpu_model_new(&m->gpu, d->gpu, what->source, &o, err);
}

static tdm_status load(struct backend_model **out, struct backend_device *device, const struct backend_load *what,
                       tdm_error *err)
{
    struct device *d = (struct device *)device;
    tdm_status status = TDM_OK;
    pthread_mutex_lock(&d->lock);
    struct model *m = d->models;
    while (m && (m->base.weights != what->weights || m->kv != what->kv || m->context != what->context)) m = m->next;
    if (!m) {
        m = calloc(1, sizeof *m);
        status = m ? upload(m, d, what, err) : error_set(err, TDM_E_NOMEM, "%s: no memory", d->name);
        if (status) {
            free(m);
            m = NULL;
        } else {
            m->base = (struct backend_model){.backend = &backend_gpu, .weights = what->weights, .device = device};
            m->kv = what->kv;
            m->context = what->context;
            m->next = d->models;
            d->models = m;
            if (d->folder) known_keep_choices(d->gpu, d->folder);
        }
    }
    if (m) m->users++;
    pthread_mutex_unlock(&d->lock);
    *out = m ? &m->base : NULL;
    return status;
}

static void unload(struct backend_model *model)
{
    struct model *m = model_of(model);
    struct device *d = (struct device *)m->base.device;
    pthread_mutex_lock(&d->lock);
    bool last = --m->users == 0;
    struct model **at = &d->models;
    while (*at != m) at = &(*at)->next;
    if (last) *at = m->next;
    pthread_mutex_unlock(&d->lock);
    if (!last) return;
    gpu_model_free(m->gpu);
    free(m);
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

/* What a pool has: its model, and a pool of the host's memory for what goes to bytes and comes from them. */
struct home {
    struct model *model;
    struct pool *host;
};

static struct home *home_of(const struct pool *p)
{
    return pool_device(p);
}

static tdm_status make(struct state **out, struct pool *pool, tdm_error *err)
{
    struct gpu_backed *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for a state");
    tdm_status status = gpu_state_new(&s->gpu, home_of(pool)->model->gpu, err);
    if (status) {
        free(s);
        return status;
    }
    s->base.pool = pool;
    s->base.headless = gpu_state_headless(s->gpu);
    s->base.tokens = (tdm_id *)gpu_state_tokens(s->gpu); /* in one place for its life */
    *out = &s->base;
    return TDM_OK;
}

static void drop(struct state *s)
{
    gpu_state_free(of(s));
    free(s);
}

static void clear(struct state *s)
{
    gpu_state_clear(of(s));
    take_over(s);
}

static tdm_status copy(struct state *dst, const struct state *src, tdm_error *err)
{
    tdm_status status = gpu_state_copy(of(dst), of(src), err);
    take_over(dst);
    return status;
}

static tdm_status make_room(struct state *s, uint32_t n, tdm_error *err)
{
    return gpu_state_make_room(of(s), n, err);
}

static uint32_t shared_pages(const struct state *a, const struct state *b)
{
    return gpu_state_shared_pages(of(a), of(b));
}

static tdm_status logits(struct state *s, const float **out, tdm_error *err)
{
    ((struct gpu_backed *)s)->all = true;
    return gpu_state_fetch_logits(of(s), out, err);
}

/* ---- To and from bytes ------------------------------------------------------------------------------------------- */

/* The memory of an image of so many tokens, in one block. */
static tdm_status image_new(struct gpu_image *out, void **block, const struct gpu_model *m, uint32_t tokens,
                            tdm_error *err)
{
    size_t pages = (tokens + KV_PAGE - 1) / KV_PAGE * gpu_page_bytes(m);
    size_t head = (tokens + KV_PAGE - 1) / KV_PAGE * gpu_head_page_bytes(m);
    size_t recurrent = gpu_recurrent_floats(m) * sizeof(float), conv = gpu_conv_floats(m) * sizeof(float);
    size_t waiting = (size_t)GPU_WAITING * gpu_model_config(m)->hidden * sizeof(float);
    size_t all = recurrent + conv + waiting + pages + head;
    char *at = *block = malloc(all + 1);
    if (!at) return error_set(err, TDM_E_NOMEM, "no memory for a state of %zu bytes", all);
    *out = (struct gpu_image){.recurrent = (float *)at,
                              .conv = (float *)(at + recurrent),
                              .waiting = (float *)(at + recurrent + conv),
                              .pages = at + recurrent + conv + waiting,
                              .head_pages = at + recurrent + conv + waiting + pages};
    return TDM_OK;
}

/* Between a position's keys or values of a head in a page on the device (gpu_kv_bytes) and floats. What has been int8
 * becomes the same int8 again: its largest element is 127 times the scale. */
static void row_from(enum kv_type kv, const char *block, uint32_t position, float *x, uint32_t n)
{
    const float *scale = (const float *)(block + KV_PAGE * n) + position * ((n + 31) / 32);
    const char *row = block + position * n;
    if (kv == KV_F32) memcpy(x, block + 4 * (size_t)position * n, n * sizeof *x);
    for (uint32_t i = 0; kv == KV_F16 && i < n; i++) x[i] = f16_widen(((const uint16_t *)block)[position * n + i]);
    for (uint32_t i = 0; kv == KV_Q8_0 && i < n; i++) x[i] = (float)(int8_t)row[i] * scale[i / 32];
}

static void row_to(enum kv_type kv, char *block, uint32_t position, const float *x, uint32_t n)
{
    float *scale = (float *)(block + KV_PAGE * n) + position * ((n + 31) / 32);
    int8_t *row = (int8_t *)block + position * n;
    if (kv == KV_F32) memcpy(block + 4 * (size_t)position * n, x, n * sizeof *x);
    for (uint32_t i = 0; kv == KV_F16 && i < n; i++) ((uint16_t *)block)[position * n + i] = f16_narrow(x[i]);
    for (uint32_t i = 0; kv == KV_Q8_0 && i < n; i += 32) {
        uint32_t end = i + 32 < n ? i + 32 : n;
        float most = 0;
        for (uint32_t k = i; k < end; k++) most = fabsf(x[k]) > most ? fabsf(x[k]) : most;
        float d = scale[i / 32] = f16_widen(f16_narrow(most / 127));
        for (uint32_t k = i; k < end; k++) {
            float y = d > 0 ? x[k] / d : 0; /* the scale's rounding can carry it past 127 */
            row[k] = (int8_t)lrintf(y > 127 ? 127 : y < -127 ? -127 : y);
        }
    }
}

/* Keys and values of so many layers at a position, between pages of a device and pages of the host's memory. */
struct moved {
    char *device;
    size_t page_bytes;
    struct page **host;
    uint32_t layers;
};

static void move_position(const struct moved *pages, const struct model *m, struct state *s, uint32_t position,
                          bool to_host)
{
    const struct state_shape *shape = pool_shape(s->pool);
    const struct kernels *kernels = pool_kernels(s->pool);
    size_t block = gpu_kv_bytes(m->kv, shape->head_dim);
    uint32_t at = position % KV_PAGE, n = shape->head_dim;
    const struct page *page = pages->host[position / KV_PAGE];
    char *head = pages->device + position / KV_PAGE * pages->page_bytes;
    float k[CONFIG_MAX_HEAD], v[CONFIG_MAX_HEAD];
    for (uint32_t i = 0; i < pages->layers * shape->kv_heads; i++, head += 2 * block) {
        uint32_t layer = i / shape->kv_heads, kv_head = i % shape->kv_heads;
        void *keys = pool_keys(s->pool, page, layer, kv_head), *values = pool_values(s->pool, page, layer, kv_head);
        if (to_host) {
            row_from(m->kv, head, at, k, n);
            row_from(m->kv, head + block, at, v, n);
            kernels->kv_store(m->kv, n, keys, values, at, k, v);
        } else {
            kernels->kv_load(m->kv, n, keys, values, at, k, v);
            row_to(m->kv, head, at, k, n);
            row_to(m->kv, head + block, at, v, n);
        }
    }
}

/* All pages, and the rows that wait for the MTP head. */
static void move_pages(const struct gpu_image *image, const struct model *m, struct state *s, bool to_host)
{
    const struct state_shape *shape = pool_shape(s->pool);
    struct moved all = {image->pages, gpu_page_bytes(m->gpu), s->pages, shape->attention_layers},
                 head = {image->head_pages, gpu_head_page_bytes(m->gpu), s->head_pages, 1};
    for (uint32_t i = 0; i < image->length; i++) move_position(&all, m, s, i, to_host);
    if (image->headless) return;
    for (uint32_t i = 0; i < image->entries; i++) move_position(&head, m, s, i, to_host);
    size_t waiting = (size_t)(image->length - image->entries) * shape->head_width * sizeof(float);
    memcpy(to_host ? s->waiting : image->waiting, to_host ? image->waiting : s->waiting, waiting);
}

/* Recurrent and convolution states likewise: the host has a head's columns in slabs. */
static void move_recurrent(const struct gpu_image *image, struct state *s, bool to_host)
{
    const struct state_shape *shape = pool_shape(s->pool);
    float *at = image->recurrent;
    for (uint32_t i = 0; i < shape->linear_layers * shape->value_heads; i++) {
        for (uint32_t d = 0; d < shape->key_dim; d++) {
            for (uint32_t slab = 0; slab < state_shape_slabs(shape); slab++) {
                uint32_t width = state_shape_width(shape, slab);
                float *own = state_slab(s, i / shape->value_heads, i % shape->value_heads, slab) + (size_t)d * width;
                memcpy(to_host ? own : at, to_host ? at : own, width * sizeof *at);
                at += width;
            }
        }
    }
    size_t conv = state_shape_conv_floats(shape) * sizeof *at;
    if (conv) memcpy(to_host ? s->conv : image->conv, to_host ? image->conv : s->conv, conv);
}

/* A state in the host's memory with the contents of s. */
static tdm_status to_host(struct state **out, const struct state *s, tdm_error *err)
{
    struct home *home = home_of(s->pool);
    struct gpu_image image;
    void *block;
    *out = NULL;
    tdm_status status = image_new(&image, &block, home->model->gpu, s->length, err);
    if (!status) status = gpu_state_save(of(s), &image, 0, err);
    if (!status) status = state_new(out, home->host, err);
    if (!status) {
        (*out)->headless = image.headless;
        status = state_make_room(*out, s->length, err);
    }
    if (!status) {
        struct state *host = *out;
        host->entries = image.headless ? 0 : image.entries;
        move_pages(&image, home->model, host, true);
        move_recurrent(&image, host, true);
        memcpy(host->tokens, s->tokens, s->length * sizeof *s->tokens);
        host->length = s->length;
        host->logits_valid = image.logits;
        if (image.logits) memcpy(host->logits, image.logits, pool_shape(host->pool)->vocab * sizeof *host->logits);
    }
    free(block);
    if (!status) return TDM_OK;
    state_free(*out);
    *out = NULL;
    return status;
}

/* s becomes what a state of the host's memory is. */
static tdm_status from_host(struct state *s, struct state *host, tdm_error *err)
{
    struct home *home = home_of(s->pool);
    struct gpu_image image;
    void *block;
    tdm_status status = image_new(&image, &block, home->model->gpu, host->length, err);
    if (!status) {
        image.length = host->length;
        image.headless = host->headless;
        image.entries = host->entries;
        image.tokens = host->tokens;
        image.logits = host->logits_valid ? host->logits : NULL;
        move_pages(&image, home->model, host, false);
        move_recurrent(&image, host, false);
        status = gpu_state_load(of(s), &image, 0, err);
    }
    free(block);
    if (status) clear(s);
    take_over(s);
    return status;
}

static tdm_status save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err)
{
    struct state *host;
    tdm_status status = to_host(&host, s, err);
    if (!status) status = state_save_memory(host, fingerprint, out, err);
    state_free(host);
    return status;
}

static tdm_status restore(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err)
{
    struct state *host;
    tdm_status status = state_new(&host, home_of(s->pool)->host, err);
    if (!status) status = state_load_memory(host, fingerprint, data, size, err);
    if (!status) status = from_host(s, host, err);
    state_free(host);
    return status;
}

static tdm_status fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err)
{
    struct state *host;
    tdm_status status = state_new(&host, home_of(s->pool)->host, err);
    if (!status) status = state_fill(host, length, seed, err);
    if (!status) status = from_host(s, host, err);
    state_free(host);
    return status;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

/* Memory of the device is taken when it is needed, and kept. */
static tdm_status warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err)
{
    (void)p;
    (void)pages;
    (void)buffers;
    (void)err;
    return TDM_OK;
}

static struct pool_stats stats(struct pool *p)
{
    struct model *m = home_of(p)->model;
    uint64_t used = gpu_used(((struct device *)m->base.device)->gpu), fixed = m->needs.weights + m->needs.scratch;
    return (struct pool_stats){
        .free_pages = UINT32_MAX, .free_buffers = UINT32_MAX, .bytes = used > fixed ? used - fixed : 0};
}

static void close_pool(struct pool *p)
{
    pool_free(home_of(p)->host);
    free(home_of(p));
}

static const struct state_memory memory = {
    .make = make,
    .drop = drop,
    .clear = clear,
    .copy = copy,
    .make_room = make_room,
    .shared_pages = shared_pages,
    .fill = fill,
    .logits = logits,
    .save = save,
    .load = restore,
    .warm = warm,
    .stats = stats,
    .close = close_pool,
};

static tdm_status pool(struct pool **out, const struct backend_model *model, enum kv_type kv, uint32_t context,
                       tdm_error *err)
{
    struct model *m = model_of(model);
    assert_always(kv == m->kv && context == m->context);
    struct home *home = calloc(1, sizeof *home);
    *out = NULL;
    if (!home) return error_set(err, TDM_E_NOMEM, "no memory for the pool of states");
    home->model = m;
    tdm_status status = backend_cpu.pool(&home->host, model, kv, context, err);
    if (!status) {
        struct pool_form form = {.shape = pool_shape(home->host), .kv = kv, .context = context,
                                 .page_bytes = m->needs.page, .buffer_bytes = m->needs.state};
        status = pool_new_device(out, &memory, home, &form, err);
    }
    if (!status) return TDM_OK;
    pool_free(home->host);
    free(home);
    return status;
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

/* The scratch of passes is the model's. */
struct gpu_evaluator {
    struct evaluator base;
    struct gpu_state *padding; /* where padded rows go; NULL: there were none yet */
};

static tdm_status new_evaluator(struct evaluator **out, const struct backend_model *m,
                                const struct evaluator_form *form, tdm_error *err)
{
    struct gpu_evaluator *e = calloc(1, sizeof *e);
    *out = NULL;
    if (!e) return error_set(err, TDM_E_NOMEM, "no memory for a forward pass");
    e->base = (struct evaluator){.model = m, .form = *form};
    *out = &e->base;
    return TDM_OK;
}

static void drop_evaluator(struct evaluator *e)
{
    gpu_state_free(((struct gpu_evaluator *)e)->padding);
    free(e);
}

/* Rows that change no state are a run of a state that nobody needs: what they are does not matter, what they cost
 * does. */
static tdm_status pad(struct evaluator *e, uint32_t rows, struct gpu_run *out, tdm_error *err)
{
    static const tdm_id ids[PASS_TOKENS];
    struct gpu_evaluator *own = (struct gpu_evaluator *)e;
    struct gpu_model *m = model_of(e->model)->gpu;
    if (!own->padding) {
        tdm_status status = gpu_state_new(&own->padding, m, err);
        if (status) return status;
    }
    gpu_state_clear(own->padding);
    *out = (struct gpu_run){.state = own->padding, .tokens = ids, .n = rows, .logits = GPU_LOGITS_NONE};
    return gpu_state_make_room(own->padding, rows, err);
}

/* Tokens [done, done + n) of a run. */
static struct gpu_run piece_of(const struct forward_run *run, uint32_t done, uint32_t n, uint32_t vocab)
{
    bool last = done + n == run->n, all = ((const struct gpu_backed *)run->state)->all;
    return (struct gpu_run){
        .state = of(run->state),
        .tokens = run->tokens + done,
        .n = n,
        .logits = run->logits == LOGITS_ALL             ? GPU_LOGITS_ALL
                  : run->logits == LOGITS_NONE || !last ? GPU_LOGITS_NONE
                  : all                                 ? GPU_LOGITS_LAST
                                                        : GPU_LOGITS_BEST,
        .all = run->logits == LOGITS_ALL ? run->all + (size_t)done * vocab : NULL,
        .kept = (struct gpu_kept *)run->kept,
    };
}

/* A pass of at most PASS_TOKENS of what is left of the runs, then of the padded rows; done[]: evaluated of each. */
static tdm_status pass(struct evaluator *e, const struct forward_run *runs, uint32_t n_runs, uint32_t *done,
                       uint32_t *padding, const struct forward_options *options, tdm_error *err)
{
    struct model *m = model_of(e->model);
    struct gpu_run pieces[PASS_RUNS + 1];
    uint32_t n = 0, room = PASS_TOKENS, which[PASS_RUNS];
    for (uint32_t r = 0; r < n_runs && room > 0; r++) {
        uint32_t some = runs[r].n - done[r] < room ? runs[r].n - done[r] : room;
        if (!some) continue;
        pieces[n] = piece_of(&runs[r], done[r], some, m->base.weights->config.vocab);
        which[n++] = r;
        room -= some;
    }
    bool first_run_ends = n && which[0] == 0 && done[0] + pieces[0].n == runs[0].n;
    struct gpu_pass_options own = {.cancel = options ? options->cancel : NULL,
                                   .hidden = options && first_run_ends ? options->hidden : NULL};
    uint32_t padded = room < *padding ? room : *padding;
    padded = padded < m->context ? padded : m->context;
    tdm_status status = padded ? pad(e, padded, &pieces[n], err) : TDM_OK;
    if (!status) status = gpu_forward(m->gpu, pieces, n + (padded > 0), &own, err);
    *padding -= padded;
    for (uint32_t i = 0; i < n; i++) {
        take_over(runs[which[i]].state);
        if (!status) done[which[i]] += pieces[i].n;
    }
    return status;
}

static uint64_t moved_bytes(const struct weights *w, const struct forward_run *runs, uint32_t n_runs)
{
    uint64_t bytes = w->layer_bytes;
    bool head = false;
    for (uint32_t r = 0; r < n_runs; r++) {
        const struct pool *p = runs[r].state->pool;
        bytes += 2 * pool_buffer_bytes(p) + (uint64_t)(runs[r].state->length / KV_PAGE) * pool_page_bytes(p);
        head |= runs[r].logits != LOGITS_NONE;
    }
    return bytes + (head ? w->lm_head->bytes : 0);
}

static tdm_status run_forward(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                              const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    struct model *m = model_of(e->model);
    uint32_t done[PASS_RUNS] = {0}, left = 0, padding = runs[0].pad;
    (void)team;
    assert_always(!padding || n_runs == 1);
    if (n_runs < 1 || n_runs > PASS_RUNS)
        return error_set(err, TDM_E_ARG, "%u runs in a pass: at most %d", n_runs, PASS_RUNS);
    tdm_status status = TDM_OK;
    for (uint32_t r = 0; r < n_runs && !status; r++) {
        left += runs[r].n;
        status = state_make_room(runs[r].state, runs[r].n, err);
    }
    for (uint32_t all = left; (left > 0 || padding > 0) && !status;) {
        status = pass(e, runs, n_runs, done, &padding, options, err);
        bool begun = left < all;
        left = 0;
        for (uint32_t r = 0; r < n_runs; r++) {
            left += runs[r].n - done[r];
            if (status && begun) runs[r].state->broken = true; /* it holds a part of its run */
        }
    }
    if (!status && bytes) *bytes = moved_bytes(m->base.weights, runs, n_runs);
    return status;
}

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */

_Static_assert((int)BACKEND_KEPT == (int)GPU_KEPT && (int)STATE_WAITING == (int)GPU_WAITING, "one size of each");

/* struct forward_kept is a gpu_kept here. */
static tdm_status new_kept(struct forward_kept **out, const struct backend_model *m, uint32_t rows, tdm_error *err)
{
    struct gpu_kept *k;
    assert_always(rows <= GPU_KEPT);
    tdm_status status = gpu_kept_new(&k, model_of(m)->gpu, err);
    *out = (struct forward_kept *)k;
    return status;
}

static void free_kept(struct forward_kept *k)
{
    gpu_kept_free((struct gpu_kept *)k);
}

static tdm_status draft(struct team *team, struct evaluator *e, const struct draft_run *runs, uint32_t n_runs,
                        uint64_t *bytes, tdm_error *err)
{
    const struct weights *w = e->model->weights;
    tdm_status status = TDM_OK;
    uint32_t drafts = 0;
    (void)team;
    for (uint32_t r = 0; r < n_runs && !status; r++) {
        status = gpu_draft(of(runs[r].state), runs[r].next, runs[r].n, runs[r].drafts, runs[r].logits, err);
        drafts += runs[r].n;
    }
    if (bytes) *bytes = drafts * (w->head.bytes + (uint64_t)w->drafted.first_tiles * MATRIX_TILE *
                                                      w->head.lm_head->bytes / w->head.lm_head->rows);
    return status;
}

static void accept(struct team *team, struct evaluator *e, const struct forward_run *runs, const uint32_t *rows,
                   uint32_t n_runs)
{
    tdm_error unheard; /* the device is lost then, which the next call says */
    (void)team;
    for (uint32_t r = 0; r < n_runs; r++) {
        struct gpu_run run = piece_of(&runs[r], 0, runs[r].n, e->model->weights->config.vocab);
        gpu_accept(&run, rows[r], &unheard);
        take_over(runs[r].state);
    }
}

/* ---- Draws ------------------------------------------------------------------------------------------------------- */

/* From the best logits, if they are known and decide. */
static bool draw_best(struct state *s, const struct draw *d, tdm_id *out)
{
    struct gpu_candidate best[GPU_BEST_MOST];
    struct candidate all[GPU_BEST_MOST];
    struct best_logits known = {.all = all};
    known.n = gpu_state_best(of(s), best, &known.from);
    if (!known.n) return false;
    for (uint32_t i = 0; i < known.n; i++) all[i] = (struct candidate){best[i].logit, best[i].id};
    return sampler_draw_best(d->sampler, d->sampling, &known, d->turn, d->attempt, d->index, out);
}

static tdm_status draw(struct evaluator *e, struct state *s, const struct draw *d, tdm_id *out, tdm_error *err)
{
    const float *row;
    (void)e;
    ((struct gpu_backed *)s)->all = !sampler_needs_few(d->sampling, GPU_BEST_LEAST / 2);
    if (draw_best(s, d, out)) return TDM_OK;
    tdm_status status = gpu_state_fetch_logits(of(s), &row, err);
    if (!status) *out = sampler_draw(d->sampler, d->sampling, row, d->turn, d->attempt, d->index);
    return status;
}

static uint32_t several(const struct evaluator *e, const tdm_sampling *sampling)
{
    uint32_t most = gpu_model_several(model_of(e->model)->gpu);
    if (!sampler_takes_best(sampling)) return 1;
    return most < SEVERAL ? most : SEVERAL;
}

static tdm_status reply(struct evaluator *e, const struct several *what, const struct draw *d,
                        tdm_id drawn[BACKEND_SEVERAL], uint32_t *n, uint64_t *bytes, tdm_error *err)
{
    _Static_assert((int)BACKEND_SEVERAL == (int)GPU_SEVERAL, "as many ids");
    const struct weights *w = e->model->weights;
    struct gpu_reply own = {.state = of(what->state),
                            .next = what->next,
                            .n = what->n,
                            .limit = sampler_limit(d->sampler),
                            .stops = what->stops,
                            .n_stops = what->n_stops};
    struct forward_run moved = {.state = what->state, .n = 1, .logits = LOGITS_LAST};
    *n = 0;
    *bytes = moved_bytes(w, &moved, 1);
    tdm_status status = gpu_reply(&own, drawn, n, err);
    *bytes *= *n;
    take_over(what->state);
    return status;
}

const struct backend backend_gpu = {
    .name = "gpu",
    .dispatch = PASS_TOKENS,
    .open = open_gpu,
    .close = close_gpu,
    .about = about,
    .lost = is_lost,
    .check = check,
    .load = load,
    .unload = unload,
    .pool = pool,
    .evaluator = new_evaluator,
    .evaluator_drop = drop_evaluator,
    .forward = run_forward,
    .draft = draft,
    .accept = accept,
    .kept_new = new_kept,
    .kept_free = free_kept,
    .draw = draw,
    .several = several,
    .reply = reply,
};
