/* GPUs as a backend, by way of engine/gpu. A state is one of the device's with what the host always has of it; between
 * the device's form and the bytes of state files lies a state in the host's memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/backend/backend.h"
#include "engine/backend/ferry.h"
#include "engine/backend/known.h"
#include "engine/backend/loading.h"
#include "engine/backend/selftest.h"
#include "engine/base/error.h"
#include "engine/base/fnv.h"
#include "engine/gpu/vision/vision.h"
#include "engine/state/memory.h"

enum { BURST = 4 }; /* tokens of a reply in one submission: no other work gets the device in between */

struct gpu_backed {
    struct state base;
    struct gpu_state *gpu;
    bool all; /* its last sampling, or another caller, took all logits: the next pass brings them all at once, else the
                 largest */
};

static struct gpu_state *of(const struct state *s)
{
    return ((const struct gpu_backed *)s)->gpu;
}

static struct model *model_of(const struct backend_model *m)
{
    return (struct model *)m;
}

/* Makes the host's part of a state agree with the device's. */
static void take_over(struct state *s)
{
    struct gpu_state *own = of(s);
    s->length = gpu_state_length(own);
    s->logits_valid = gpu_state_has_logits(own);
    s->broken = gpu_state_broken(own);
    s->headless = gpu_state_headless(own);
    s->entries = gpu_state_entries(own);
    memcpy(s->first, gpu_state_first(own), sizeof s->first);
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
    loading_init(d);
    *out = &d->base;
    return TDM_OK;
}

static void close_gpu(struct backend_device *device)
{
    struct device *d = (struct device *)device;
    loading_end(d);
    gpu_close(d->gpu);
    free(d->folder);
    free(d);
}

static void about(struct backend_device *device, struct backend_about *out)
{
    struct gpu *g = ((struct device *)device)->gpu;
    struct gpu_info info;
    gpu_about(g, &info);
    *out = (struct backend_about){
        .software = info.kind == GPU_SOFTWARE, .memory = info.memory, .used = gpu_used(g)};
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
        selftest_keep(&r, folder, &info, NULL); /* if the result can't be kept, the next start tests again */
    }
    if (r.passed) {
        known_take_choices(d->gpu, folder, &info);
        free(d->folder);
        d->folder = strdup(folder);
        return TDM_OK;
    }
    return error_set(err, TDM_E_UNSUPPORTED, "%s (%s) is not used: its driver (%s) fails the self-test: %s", d->name,
                     info.name, info.driver, r.why);
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

/* What a pool has: its model, the ferry to the host's memory, and a pool there for states that become bytes or are made
 * of them. */
struct home {
    struct model *model;
    struct ferry ferry;
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
    s->base.tokens = (tdm_id *)gpu_state_tokens(s->gpu); /* they stay in one place for the state's life */
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

static void share(struct state *dst, const struct state *src, uint32_t pages)
{
    gpu_state_share(of(dst), of(src), pages);
    take_over(dst);
}

static tdm_status make_room(struct state *s, uint32_t n, tdm_error *err)
{
    tdm_status status = gpu_state_make_room(of(s), n, err);
    take_over(s);
    return status;
}

static tdm_status cut(struct state *s, uint32_t length, tdm_error *err)
{
    tdm_status status = gpu_state_cut(of(s), length, err);
    take_over(s);
    return status;
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

/* ---- To and from the host's memory ------------------------------------------------------------------------------- */

static tdm_status receive(struct state *s, const struct state *host, struct crossing *x, tdm_error *err)
{
    tdm_status status = ferry_to_device(&home_of(s->pool)->ferry, of(s), host, x, err);
    if (status) gpu_state_clear(of(s));
    take_over(s);
    return status;
}

static tdm_status send(const struct state *s, struct state *host, struct crossing *x, tdm_error *err)
{
    return ferry_to_host(&home_of(s->pool)->ferry, of(s), s, host, x, err);
}

static tdm_status across(struct state *to, const struct state *from, struct crossing *x, tdm_error *err)
{
    struct ferry_way way = {&home_of(from->pool)->ferry, &home_of(to->pool)->ferry, of(from), of(to)};
    const float *last = NULL;
    tdm_status status = ferry_across(&way, from, x, err);
    if (!status && !x->sealed && from->logits_valid) status = state_logits((struct state *)from, &last, err);
    if (!status && !x->sealed) gpu_state_finish(of(to), last);
    if (status) gpu_state_clear(of(to));
    take_over(to);
    return status;
}

static tdm_status link_ms(struct state *s, uint64_t bytes, bool to_device, double *ms, tdm_error *err)
{
    tdm_status status = ferry_link_ms(&home_of(s->pool)->ferry, of(s), bytes, to_device, ms, err);
    if (to_device) gpu_state_clear(of(s));
    take_over(s);
    return status;
}

static struct pool *beside(struct pool *p)
{
    return home_of(p)->host;
}

/* ---- To and from bytes: by way of a state in the host's memory --------------------------------------------------- */

static tdm_status save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err)
{
    struct state *host;
    tdm_status status = state_new(&host, home_of(s->pool)->host, err);
    if (!status) status = state_cross(host, s, &(struct crossing){0}, err);
    if (!status) status = state_save_memory(host, fingerprint, out, err);
    state_free(host);
    return status;
}

static tdm_status restore(struct state *s, uint64_t fingerprint, const void *data, size_t size, tdm_error *err)
{
    struct state *host;
    tdm_status status = state_new(&host, home_of(s->pool)->host, err);
    if (!status) status = state_load_memory(host, fingerprint, data, size, err);
    if (!status) status = state_cross(s, host, &(struct crossing){0}, err);
    state_free(host);
    return status;
}

static tdm_status fill(struct state *s, uint32_t length, uint64_t seed, tdm_error *err)
{
    struct state *host;
    tdm_status status = state_new(&host, home_of(s->pool)->host, err);
    if (!status) status = state_fill(host, length, seed, err);
    if (!status) status = state_cross(s, host, &(struct crossing){0}, err);
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
    return (struct pool_stats){.free_pages = UINT32_MAX,
                               .free_buffers = UINT32_MAX,
                               .bytes = gpu_model_states_used(home_of(p)->model->gpu)};
}

static void close_pool(struct pool *p)
{
    ferry_close(&home_of(p)->ferry);
    pool_free(home_of(p)->host);
    free(home_of(p));
}

static const struct state_memory memory = {
    .make = make,
    .drop = drop,
    .clear = clear,
    .copy = copy,
    .share = share,
    .make_room = make_room,
    .cut = cut,
    .shared_pages = shared_pages,
    .fill = fill,
    .logits = logits,
    .save = save,
    .load = restore,
    .receive = receive,
    .send = send,
    .across = across,
    .link_ms = link_ms,
    .beside = beside,
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
        ferry_open(&home->ferry, m->gpu, kv, pool_shape(home->host));
        struct pool_form form = {
            .shape = pool_shape(home->host), .kv = kv, .context = context, .buffer_bytes = m->needs.state};
        memcpy(form.page_bytes, m->needs.page, sizeof form.page_bytes);
        status = pool_new_device(out, &memory, home, &form, err);
    }
    if (!status) return TDM_OK;
    if (home->host) ferry_close(&home->ferry);
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

/* Rows that change no state: a run of a state that is not used otherwise. Their contents do not matter, their time
 * does. */
static tdm_status make_padding(struct evaluator *e, uint32_t rows, struct gpu_run *out, tdm_error *err)
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
                                                        : GPU_LOGITS_TOPK,
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
    tdm_status status = padded ? make_padding(e, padded, &pieces[n], err) : TDM_OK;
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
        bytes += 2 * pool_buffer_bytes(p) + pool_held_bytes(p, runs[r].state->length / KV_PAGE * KV_PAGE);
        head |= runs[r].logits != LOGITS_NONE;
    }
    return bytes + (head ? w->lm_head->bytes : 0);
}

static tdm_status run_forward(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                              const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    struct model *m = model_of(e->model);
    uint32_t done[PASS_RUNS] = {0}, left = 0, padding = runs[0].padding;
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
    tdm_error unheard; /* the device is lost then, which the next call reports */
    (void)team;
    for (uint32_t r = 0; r < n_runs; r++) {
        struct gpu_run run = piece_of(&runs[r], 0, runs[r].n, e->model->weights->config.vocab);
        gpu_accept(&run, rows[r], &unheard);
        take_over(runs[r].state);
    }
}

/* ---- Draws ------------------------------------------------------------------------------------------------------- */

/* Samples from the largest logits, if these are known and enough to decide. */
static bool sample_topk(struct state *s, const struct sampling_request *d, tdm_id *out)
{
    struct gpu_candidate best[GPU_TOPK_MAX];
    struct candidate all[GPU_TOPK_MAX];
    struct topk_logits known = {.all = all};
    known.n = gpu_state_topk(of(s), best, &known.from);
    if (!known.n) return false;
    for (uint32_t i = 0; i < known.n; i++) all[i] = (struct candidate){best[i].logit, best[i].id};
    return sampler_sample_topk(d->sampler, d->sampling, &known, d->turn, d->attempt, d->index, out);
}

static tdm_status sample(struct evaluator *e, struct state *s, const struct sampling_request *d, tdm_id *out,
                         tdm_error *err)
{
    const float *row;
    (void)e;
    ((struct gpu_backed *)s)->all = !sampler_needs_few(d->sampling, GPU_TOPK_LEAST / 2);
    if (sample_topk(s, d, out)) return TDM_OK;
    tdm_status status = gpu_state_fetch_logits(of(s), &row, err);
    if (!status) *out = sampler_sample(d->sampler, d->sampling, row, d->turn, d->attempt, d->index);
    return status;
}

static uint32_t burst(const struct evaluator *e, const tdm_sampling *sampling)
{
    uint32_t most = gpu_model_burst(model_of(e->model)->gpu);
    if (!sampler_takes_topk(sampling)) return 1;
    return most < BURST ? most : BURST;
}

static tdm_status reply(struct evaluator *e, const struct burst *what, const struct sampling_request *d,
                        tdm_id sampled[BACKEND_BURST], uint32_t *n, uint64_t *bytes, tdm_error *err)
{
    _Static_assert((int)BACKEND_BURST == (int)GPU_BURST, "as many ids");
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
    tdm_status status = gpu_reply(&own, sampled, n, err);
    *bytes *= *n;
    take_over(what->state);
    return status;
}

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

/* struct backend_encoding is a gpu_encoding here. */
static struct gpu_encoding *encoding_of(const struct backend_encoding *e)
{
    return (struct gpu_encoding *)e;
}

static tdm_status new_encoding(struct backend_encoding **out, const struct backend_model *m, const struct picture *p,
                               tdm_error *err)
{
    struct gpu_encoding *e;
    tdm_status status = gpu_encoding_new(&e, gpu_model_tower(model_of(m)->gpu), p, err);
    *out = (struct backend_encoding *)e;
    return status;
}

static tdm_status step_encoding(struct backend_encoding *e, bool *more, tdm_error *err)
{
    return gpu_encoding_step(encoding_of(e), more, err);
}

static uint32_t done_of_encoding(const struct backend_encoding *e)
{
    return gpu_encoding_done(encoding_of(e));
}

static const float *rows_of_encoding(const struct backend_encoding *e)
{
    return gpu_encoding_rows(encoding_of(e));
}

static void free_encoding(struct backend_encoding *e)
{
    gpu_encoding_free(encoding_of(e));
}

const struct backend backend_gpu = {
    .name = "gpu",
    .dispatch = PASS_TOKENS,
    .open = open_gpu,
    .close = close_gpu,
    .about = about,
    .lost = is_lost,
    .check = check,
    .load = loading_load,
    .unload = loading_unload,
    .pool = pool,
    .evaluator = new_evaluator,
    .evaluator_drop = drop_evaluator,
    .forward = run_forward,
    .draft = draft,
    .accept = accept,
    .kept_new = new_kept,
    .kept_free = free_kept,
    .sample = sample,
    .burst = burst,
    .reply = reply,
    .encoding_new = new_encoding,
    .encoding_step = step_encoding,
    .encoding_done = done_of_encoding,
    .encoding_rows = rows_of_encoding,
    .encoding_free = free_encoding,
};
