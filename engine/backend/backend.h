/* A backend: the arithmetic of one kind of unit behind one table of functions. The cores are one (backend_cpu), GPUs
 * are another (backend_gpu); code that evaluates tokens knows only this table, state.h and forward.h's runs and
 * options.
 *
 *     struct backend_model model = backend_on_cpu(weights);  or of a device: open, then load
 *     backend_pool(&pool, &model, kv, context, err);         where its states live: state_new, state_fork ...
 *     evaluator_new(&e, &model, &form, err);                 what a pass needs besides
 *     evaluator_forward(team, e, runs, n, options, &bytes, err);
 *     evaluator_sample(e, state, &request, &id, err);
 *
 * Exactness: what forward.h promises holds for each backend by itself, on one machine (a GPU: one device and driver).
 * Between backends bits differ. A state belongs to the backend of its pool; to get to another one it crosses
 * (engine/state/crossing.h), which changes no bit of it where both keep keys and values in the same type.
 *
 * Threads: an evaluator does one pass at a time; several evaluators of one model run beside each other. A model is read
 * by any number of threads.
 */
#ifndef TANDEM_BACKEND_BACKEND_H
#define TANDEM_BACKEND_BACKEND_H

#include "engine/forward/head.h"
#include "engine/forward/sampler.h"
#include "engine/vision/resize.h"
#include "engine/vision/tower.h"

/* A device other than the cores: the first member of the backend's own struct for it. */
struct backend_device {
    const struct backend *backend;
    uint64_t identity; /* of device and driver, not 0: states of another identity have other bits */
};

struct backend_about {
    char name[128], driver[128]; /* driver: with its version */
    char pci[16];                /* as in gpu_info */
    bool software;               /* it runs on the cores */
    uint64_t memory, used;       /* bytes of the device; bytes that this program has there now */
};

/* A model to be loaded onto a device. */
struct backend_load {
    const struct weights *weights; /* outlive it */
    const struct source *source;
    const struct tower *tower; /* of a model that sees, else NULL; outlives it */
    enum kv_type kv;
    uint32_t context;
    tdm_progress progress; /* may be NULL; non-zero from it: TDM_E_CANCELLED */
    void *progress_ctx;
};

/* A model where a backend computes with it: the first member of the backend's own struct for it. */
struct backend_model {
    const struct backend *backend;
    const struct weights *weights; /* on the host: shapes, sizes, and the values with which the cores compute; outlives
                                      it */
    struct backend_device *device; /* NULL: the cores */
    const struct tower *tower;     /* whose pictures are encoded there; NULL: the cores encode them */
};

struct backend_encoding;

/* The largest pass that an evaluator can do: as workspace_new. */
struct evaluator_form {
    uint32_t max_tokens, max_runs, max_members, context;
};

/* The scratch memory of passes with one model: the first member of the backend's own struct for it. */
struct evaluator {
    const struct backend_model *model;
    struct evaluator_form form;
};

enum { BACKEND_KEPT = 8 };

/* Which token of a reply is sampled, and how (sampler.h). */
struct sampling_request {
    struct sampler *sampler;
    const tdm_sampling *sampling;
    uint32_t turn, attempt, index;
};

/* A part of a reply that is sampled where it is evaluated. */
enum { BACKEND_BURST = 8 };
struct burst {
    struct state *state;
    tdm_id next;         /* sampled, and not evaluated yet */
    uint32_t n;          /* tokens to evaluate at most, from 1 on; the context has room for them */
    const tdm_id *stops; /* [n_stops] after one of these is sampled nothing more is evaluated */
    uint32_t n_stops;
};

/* Every function that returns a status may also fail with TDM_E_IO: the device is lost, and every later call but open
 * fails the same way. The states of a lost device can only be freed, their tokens read. */
struct backend {
    const char *name;  /* "cpu", "gpu" */
    uint32_t dispatch; /* tokens of a pass that reads a prompt; 0: as backend_dispatch says */

    /* Opens the device that a unit names: `gpu` the first one, `gpu:N` the one at place N. TDM_E_ARG: another name;
     * TDM_E_NOT_FOUND: there is none, and why. A device is closed after its models; closing cancels loads under way
     * (TDM_E_CANCELLED) and waits for their threads. NULL for the cores. */
    tdm_status (*open)(struct backend_device **out, const char *name, tdm_error *err);
    void (*close)(struct backend_device *d);
    void (*about)(struct backend_device *d, struct backend_about *out);
    bool (*lost)(struct backend_device *d);
    /* Compares the device's arithmetic with that of the cores, once for each driver: the result is kept in the
     * folder (selftest.h). TDM_E_UNSUPPORTED: it differs, so the device is not to be used. NULL: nothing to compare.
     * progress (may be NULL) is called before each comparison; TDM_E_CANCELLED: by it. Before models are loaded. */
    tdm_status (*check)(struct backend_device *d, const char *folder, tdm_progress progress, void *progress_ctx,
                        tdm_error *err);

    /* Copies a model's weights there. TDM_E_NOMEM: not enough memory; TDM_E_UNSUPPORTED: beyond this device. Both are
     * found before anything is copied. A model that is there already is shared: it is unloaded with the last
     * unload, after its pools and evaluators. A call waits for a model that another thread is loading, and reports its
     * progress; if that thread gives up, this one loads it. Any thread: nothing else waits for a load, neither passes
     * of other models there nor other loads, unloading, about, lost. NULL for the cores. */
    tdm_status (*load)(struct backend_model **out, struct backend_device *d, const struct backend_load *what,
                       tdm_error *err);
    void (*unload)(struct backend_model *m);

    /* On a device with the type and the context that the model was loaded for. */
    tdm_status (*pool)(struct pool **out, const struct backend_model *m, enum kv_type kv, uint32_t context,
                       tdm_error *err);
    tdm_status (*evaluator)(struct evaluator **out, const struct backend_model *m, const struct evaluator_form *form,
                            tdm_error *err);
    void (*evaluator_drop)(struct evaluator *e);

    /* As forward(), with states of this backend. The team is used by the cores alone. */
    tdm_status (*forward)(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                          const struct forward_options *options, uint64_t *bytes, tdm_error *err);

    /* As forward_draft(), forward_accept() and forward_kept_new(), for runs whose logits are on the host; a pass of
     * another backend than the cores verifies a single run, of at most BACKEND_KEPT tokens. If accepting fails, the
     * state has the tokens but is broken, and its device is lost. All NULL: this backend neither drafts nor verifies
     * drafts, and runs have `kept` NULL. */
    tdm_status (*draft)(struct team *team, struct evaluator *e, const struct draft_run *runs, uint32_t n_runs,
                        uint64_t *bytes, tdm_error *err);
    void (*accept)(struct team *team, struct evaluator *e, const struct forward_run *runs, const uint32_t *rows,
                   uint32_t n_runs);
    tdm_status (*kept_new)(struct forward_kept **out, const struct backend_model *m, uint32_t rows, tdm_error *err);
    void (*kept_free)(struct forward_kept *k); /* before its model; NULL is allowed */

    /* Samples a token by the logits of s, which are valid; -1: none of them is finite. With one evaluator, several
     * states may be sampled from at once. A device may keep most of the logits until sampling, or state_logits, needs
     * them: that takes longer, and changes no token. */
    tdm_status (*sample)(struct evaluator *e, struct state *s, const struct sampling_request *request, tdm_id *out,
                         tdm_error *err);

    /* How many tokens `reply` evaluates at once with these settings, at most BACKEND_BURST; 1: this backend is better
     * called token by token. */
    uint32_t (*burst)(const struct evaluator *e, const tdm_sampling *sampling);
    /* Up to BACKEND_BURST passes of one token, each sampled from, at once: evaluates `next` and the tokens that follow.
     * sampled[i] is the token that follows the i-th one evaluated; *n: how many were evaluated: all, or fewer after a
     * stop token or -1. The last one sampled is not evaluated. request->sampler is only read: the caller accepts the
     * sampled tokens. After an error the state is broken, and its tokens are those from before. Both NULL: this backend
     * can't do that. */
    tdm_status (*reply)(struct evaluator *e, const struct burst *what, const struct sampling_request *request,
                        tdm_id sampled[BACKEND_BURST], uint32_t *n, uint64_t *bytes, tdm_error *err);

    /* Encodes a picture of fitted sides, whose pixels are copied, with a model that has a tower, in the steps of
     * vision/encoder.h; *more: false when all are done, and the rows, [tokens][out] and the encoding's, are there. An
     * encoding ends before its model. Any thread, one at a time. All NULL: the cores encode. */
    tdm_status (*encoding_new)(struct backend_encoding **out, const struct backend_model *m, const struct picture *p,
                               tdm_error *err);
    tdm_status (*encoding_step)(struct backend_encoding *e, bool *more, tdm_error *err);
    uint32_t (*encoding_done)(const struct backend_encoding *e); /* steps; a call may be a part of one */
    const float *(*encoding_rows)(const struct backend_encoding *e);
    void (*encoding_free)(struct backend_encoding *e); /* NULL is allowed */
};

extern const struct backend backend_cpu, backend_gpu;

static inline struct backend_model backend_on_cpu(const struct weights *w)
{
    return (struct backend_model){.backend = &backend_cpu, .weights = w};
}

/* Do two models give the same bits, whichever of them evaluates a token? */
static inline bool backend_agrees(const struct backend_model *a, const struct backend_model *b)
{
    uint64_t one = a->device ? a->device->identity : 0, other = b->device ? b->device->identity : 0;
    return a->backend == b->backend && one == other && a->weights == b->weights;
}

static inline tdm_status backend_pool(struct pool **out, const struct backend_model *m, enum kv_type kv,
                                      uint32_t context, tdm_error *err)
{
    return m->backend->pool(out, m, kv, context, err);
}

/* The model must outlive the evaluator, at the same address. */
static inline tdm_status evaluator_new(struct evaluator **out, const struct backend_model *m,
                                       const struct evaluator_form *form, tdm_error *err)
{
    return m->backend->evaluator(out, m, form, err);
}

static inline void evaluator_free(struct evaluator *e) /* NULL is allowed */
{
    if (e) e->model->backend->evaluator_drop(e);
}

static inline tdm_status evaluator_forward(struct team *team, struct evaluator *e, const struct forward_run *runs,
                                           uint32_t n_runs, const struct forward_options *how, uint64_t *bytes,
                                           tdm_error *err)
{
    return e->model->backend->forward(team, e, runs, n_runs, how, bytes, err);
}

static inline tdm_status evaluator_sample(struct evaluator *e, struct state *s, const struct sampling_request *request,
                                          tdm_id *out, tdm_error *err)
{
    return e->model->backend->sample(e, s, request, out, err);
}

/* Tokens of a pass by default. On cores passes of a mixture are long, since 32 tokens would touch nearly as many
 * experts. */
static inline uint32_t backend_dispatch(const struct backend_model *m)
{
    if (m->backend->dispatch) return m->backend->dispatch;
    return m->weights->config.experts.count ? 512 : 32;
}

#endif
