#include "tests/engine/backend/fake_gpu.h"

#include "engine/base/error.h"
#include "engine/state/layout.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fake_call_names[FAKE_CALLS] = {"load", "pool", "evaluator", "make",    "copy", "room",
                                                 "logits", "save", "restore",  "warm", "forward", "draw",
                                                 "reply"};

enum { DEVICES = 2 };

static struct {
    atomic_int left[FAKE_CALLS], done[FAKE_CALLS]; /* until one fails; 0: none does */
    _Atomic tdm_status status[FAKE_CALLS];
    atomic_bool lost;
    atomic_ullong tokens;
    atomic_int copies;
    atomic_uint burst;
    void (*hook)(void *ctx);
    void *hook_ctx;
} fake = {.burst = 1};

void fake_gpu_burst(uint32_t n)
{
    fake.burst = n;
}

void fake_gpu_interrupt(void (*hook)(void *ctx), void *ctx)
{
    fake.hook = hook;
    fake.hook_ctx = ctx;
}

struct device {
    struct backend_device base;
    uint32_t dropped; /* bits of each float */
};

struct evaluator_of_fake {
    struct evaluator base;
    struct workspace *workspace;
};

void fake_gpu_fail(enum fake_call call, int n, tdm_status status)
{
    fake.status[call] = status;
    fake.left[call] = n;
}

int fake_gpu_calls(enum fake_call call)
{
    return fake.done[call];
}

void fake_gpu_heal(void)
{
    for (int i = 0; i < FAKE_CALLS; i++) fake.left[i] = fake.done[i] = 0;
    fake.lost = false;
}

static const char *selftest_fails;

void fake_gpu_fail_selftest(const char *why)
{
    selftest_fails = why;
}

static tdm_status fake_check(struct backend_device *d, const char *folder, tdm_progress progress, void *progress_ctx,
                             tdm_error *err)
{
    (void)d, (void)folder;
    if (progress && progress(progress_ctx, TDM_STEP_TESTING_GPU, 0, 1))
        return error_set(err, TDM_E_CANCELLED, "cancelled");
    return selftest_fails ? error_set(err, TDM_E_UNSUPPORTED, "gpu:0 is not used: %s", selftest_fails) : TDM_OK;
}

int fake_gpu_copies(void)
{
    return fake.copies;
}

uint64_t fake_gpu_tokens(void)
{
    return fake.tokens;
}

static tdm_status called(enum fake_call call, tdm_error *err)
{
    if (fake.left[call] > 0 && atomic_fetch_sub(&fake.left[call], 1) == 1) {
        if (fake.status[call] != TDM_E_IO) return error_set(err, fake.status[call], "gpu: no memory (injected)");
        fake.lost = true;
    }
    if (fake.lost) return error_set(err, TDM_E_IO, "gpu: the device is lost (injected, %s)", fake_call_names[call]);
    fake.done[call]++;
    return TDM_OK;
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

static tdm_status fake_make(struct state **out, struct pool *pool, tdm_error *err)
{
    tdm_status status = called(FAKE_MAKE, err);
    return status ? status : state_host_memory.make(out, pool, err);
}

static tdm_status fake_copy(struct state *dst, const struct state *src, tdm_error *err)
{
    tdm_status status = called(FAKE_COPY, err);
    return status ? status : state_host_memory.copy(dst, src, err);
}

static tdm_status fake_make_room(struct state *s, uint32_t n, tdm_error *err)
{
    tdm_status status = called(FAKE_ROOM, err);
    return status ? status : state_host_memory.make_room(s, n, err);
}

static tdm_status fake_logits(struct state *s, const float **out, tdm_error *err)
{
    tdm_status status = called(FAKE_LOGITS, err);
    return status ? status : state_host_memory.logits(s, out, err);
}

static tdm_status fake_save(const struct state *s, uint64_t fingerprint, struct state_bytes *out, tdm_error *err)
{
    tdm_status status = called(FAKE_SAVE, err);
    return status ? status : state_host_memory.save(s, fingerprint, out, err);
}

static tdm_status fake_load_state(struct state *s, uint64_t fingerprint, const void *data, size_t size,
                                  tdm_error *err)
{
    tdm_status status = called(FAKE_RESTORE, err);
    return status ? status : state_host_memory.load(s, fingerprint, data, size, err);
}

/* A memory of its own, as far as anybody can tell: what crosses to it and from it is copied. */
static tdm_status fake_receive(struct state *to, const struct state *host, struct crossing *x, tdm_error *err)
{
    tdm_status status = called(FAKE_RESTORE, err);
    if (status == TDM_OK) status = state_host_memory.receive(to, host, x, err);
    if (status) return status;
    memcpy(to->tokens, host->tokens, to->length * sizeof *to->tokens);
    to->broken = x->sealed;
    to->logits_valid = host->logits_valid && !x->sealed;
    if (to->logits_valid) memcpy(to->logits, host->logits, pool_shape(to->pool)->vocab * sizeof *to->logits);
    return TDM_OK;
}

static tdm_status fake_send(const struct state *from, struct state *host, struct crossing *x, tdm_error *err)
{
    tdm_status status = called(FAKE_SAVE, err);
    return status ? status : state_host_memory.receive(host, from, x, err);
}

static struct pool *fake_beside(struct pool *p)
{
    return p->device;
}

static void fake_close_pool(struct pool *p)
{
    pool_free(p->device);
    state_host_memory.close(p);
}

static tdm_status fake_warm(struct pool *p, uint32_t pages, uint32_t buffers, tdm_error *err)
{
    tdm_status status = called(FAKE_WARM, err);
    return status ? status : state_host_memory.warm(p, pages, buffers, err);
}

static struct state_memory memory;

static tdm_status fake_pool(struct pool **out, const struct backend_model *m, enum kv_type kv, uint32_t context,
                            tdm_error *err)
{
    tdm_status status = called(FAKE_POOL, err);
    struct pool *beside = NULL;
    if (status == TDM_OK) status = backend_cpu.pool(&beside, m, kv, context, err);
    if (status == TDM_OK) status = backend_cpu.pool(out, m, kv, context, err);
    if (status) {
        pool_free(beside);
        return status;
    }
    memory = state_host_memory;
    memory.make = fake_make;
    memory.copy = fake_copy;
    memory.make_room = fake_make_room;
    memory.logits = fake_logits;
    memory.save = fake_save;
    memory.load = fake_load_state;
    memory.receive = fake_receive;
    memory.send = fake_send;
    memory.beside = fake_beside;
    memory.warm = fake_warm;
    memory.close = fake_close_pool;
    (*out)->device = beside;
    (*out)->memory = &memory;
    return TDM_OK;
}

/* ---- Devices and models ------------------------------------------------------------------------------------------ */

static tdm_status fake_open(struct backend_device **out, const char *name, tdm_error *err)
{
    char end;
    int number;
    if (sscanf(name, "gpu:%d%c", &number, &end) != 1)
        return error_set(err, TDM_E_ARG, "expected gpu or gpu:N, found %s", name);
    if (number < 0 || number >= DEVICES)
        return error_set(err, TDM_E_NOT_FOUND, "%s: there are %d devices", name, DEVICES);
    struct device *d = calloc(1, sizeof *d);
    *d = (struct device){{&backend_gpu, 0xFA4E0000u + (unsigned)number}, 8 + (uint32_t)number};
    *out = &d->base;
    fake.lost = false;
    return TDM_OK;
}

static void fake_close(struct backend_device *d)
{
    free(d);
}

static void fake_about(struct backend_device *d, struct backend_about *out)
{
    (void)d;
    *out = (struct backend_about){.name = "Fake", .driver = "none 1", .software = true, .memory = 1 << 30};
}

static bool fake_lost(struct backend_device *d)
{
    (void)d;
    return fake.lost;
}

/* As the real one: a model that is there is shared. */
struct loaded {
    struct backend_model base;
    struct backend_load what;
    int users;
    struct loaded *next;
};
static struct loaded *all;

static tdm_status fake_load(struct backend_model **out, struct backend_device *d, const struct backend_load *what,
                            tdm_error *err)
{
    tdm_status status = called(FAKE_LOAD, err);
    if (status) return status;
    struct loaded *m = all;
    while (m && (m->base.device != d || m->what.weights != what->weights || m->what.kv != what->kv ||
                 m->what.context != what->context))
        m = m->next;
    if (!m) {
        if (what->progress && what->progress(what->progress_ctx, TDM_STEP_COPYING_GPU, 0, 1))
            return error_set(err, TDM_E_CANCELLED, "cancelled");
        fake.copies++;
        m = calloc(1, sizeof *m);
        *m = (struct loaded){{&backend_gpu, what->weights, d, NULL}, *what, 0, all};
        all = m;
    }
    m->users++;
    *out = &m->base;
    return TDM_OK;
}

static void fake_unload(struct backend_model *m)
{
    struct loaded *own = (struct loaded *)m, **at = &all;
    if (--own->users) return;
    while (*at != own) at = &(*at)->next;
    *at = own->next;
    free(own);
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

static tdm_status fake_evaluator(struct evaluator **out, const struct backend_model *m,
                                 const struct evaluator_form *form, tdm_error *err)
{
    tdm_status status = called(FAKE_EVALUATOR, err);
    if (status) return status;
    struct evaluator_of_fake *e = calloc(1, sizeof *e);
    e->base = (struct evaluator){m, *form};
    *out = &e->base;
    return workspace_new(&e->workspace, m->weights, form->max_tokens, form->max_runs, form->max_members, form->context,
                         err);
}

static void fake_evaluator_drop(struct evaluator *e)
{
    workspace_free(((struct evaluator_of_fake *)e)->workspace);
    free(e);
}

static void round_off(float *x, size_t n, uint32_t bits)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word;
        memcpy(&word, &x[i], 4);
        word = word >> bits << bits;
        memcpy(&x[i], &word, 4);
    }
}

/* Token by token and run by run, on the driver alone. */
static tdm_status forward_run_of_fake(struct evaluator_of_fake *e, const struct forward_run *run,
                                      const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    uint32_t dropped = ((struct device *)e->base.model->device)->dropped, vocab = e->base.model->weights->config.vocab;
    struct state *s = run->state;
    struct team team;
    team_solo(&team);
    for (uint32_t i = 0; i < run->n; i++) {
        struct forward_run one = {.state = s, .tokens = run->tokens + i, .n = 1, .logits = run->logits};
        if (run->logits == LOGITS_ALL) one.all = run->all + (size_t)i * vocab;
        if (run->logits == LOGITS_LAST && i + 1 < run->n) one.logits = LOGITS_NONE;
        tdm_status status = forward(&team, e->base.model->weights, e->workspace, &one, 1, options, bytes, err);
        if (status == TDM_E_CANCELLED && i > 0) s->broken = true;
        if (status) return status;
        round_off(s->recurrent, state_shape_recurrent_floats(pool_shape(s->pool)), dropped);
        if (s->logits_valid) round_off(s->logits, vocab, dropped);
        if (one.logits == LOGITS_ALL) memcpy(one.all, s->logits, vocab * sizeof *one.all);
        fake.tokens++;
    }
    return TDM_OK;
}

static tdm_status fake_forward(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                               const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    assert_always(team->count == 1); /* a GPU's unit has no cores */
    tdm_status status = called(FAKE_FORWARD, err);
    for (uint32_t r = 0; r < n_runs && status == TDM_OK; r++)
        status = forward_run_of_fake((struct evaluator_of_fake *)e, &runs[r], options, bytes, err);
    for (uint32_t r = 0; r < n_runs && status == TDM_E_IO; r++) runs[r].state->broken = true;
    return status;
}

static tdm_status fake_sample(struct evaluator *e, struct state *s, const struct sampling_request *d, tdm_id *out,
                              tdm_error *err)
{
    tdm_status status = called(FAKE_DRAW, err);
    return status ? status : backend_cpu.sample(e, s, d, out, err);
}

static uint32_t fake_several(const struct evaluator *e, const tdm_sampling *sampling)
{
    (void)e;
    return sampler_takes_topk(sampling) ? fake.burst : 1;
}

static bool ends(const struct burst *what, tdm_id id)
{
    for (uint32_t i = 0; i < what->n_stops; i++)
        if (what->stops[i] == id) return true;
    return id < 0;
}

static tdm_status fake_reply(struct evaluator *e, const struct burst *what, const struct sampling_request *d,
                             tdm_id sampled[BACKEND_BURST], uint32_t *n, uint64_t *bytes, tdm_error *err)
{
    assert_always(what->n >= 1 && what->n <= fake.burst);
    uint32_t before = what->state->length;
    tdm_status status = called(FAKE_REPLY, err);
    for (*n = 0; *n < what->n && !status;) {
        const float *row;
        tdm_id id = *n ? sampled[*n - 1] : what->next;
        struct forward_run run = {.state = what->state, .tokens = &id, .n = 1, .logits = LOGITS_LAST};
        if (fake.hook && *n == what->n / 2) fake.hook(fake.hook_ctx);
        status = forward_run_of_fake((struct evaluator_of_fake *)e, &run, NULL, bytes, err);
        if (!status) status = state_host_memory.logits(what->state, &row, err);
        if (!status) sampled[*n] = sampler_sample(d->sampler, d->sampling, row, d->turn, d->attempt, d->index + *n);
        if (!status && ends(what, sampled[(*n)++])) break;
    }
    if (status) {
        what->state->broken = true;
        what->state->length = before;
    }
    return status;
}

const struct backend backend_gpu = {
    .name = "gpu",
    .dispatch = 128,
    .open = fake_open,
    .close = fake_close,
    .about = fake_about,
    .lost = fake_lost,
    .check = fake_check,
    .load = fake_load,
    .unload = fake_unload,
    .pool = fake_pool,
    .evaluator = fake_evaluator,
    .evaluator_drop = fake_evaluator_drop,
    .forward = fake_forward,
    .sample = fake_sample,
    .burst = fake_several,
    .reply = fake_reply,
};
