/* A backend: the arithmetic of one kind of unit behind one table of functions. The cores are one (backend_cpu), a GPU
 * is another; whoever evaluates tokens knows only this table, state.h and forward.h's runs and options.
 *
 *     struct backend_model model = backend_on_cpu(weights);
 *     backend_pool(&pool, &model, kv, context, err);         where its states live: state_new, state_fork ...
 *     evaluator_new(&e, &model, &form, err);                 what a pass needs besides
 *     evaluator_forward(team, e, runs, n, options, &bytes, err);
 *     evaluator_draw(e, state, &draw, &id, err);
 *
 * Exactness: what forward.h promises holds for each backend by itself, on one machine (a GPU: one device and driver).
 * Between backends bits differ. A state belongs to the backend of its pool; to get to another one it is saved and
 * loaded (statefile.h), which changes no bit of it where both keep keys and values in the same type.
 *
 * Threads: an evaluator does one pass at a time; several evaluators of one model run beside each other. A model is
 * read by any number of threads.
 */
#ifndef TANDEM_BACKEND_BACKEND_H
#define TANDEM_BACKEND_BACKEND_H

#include "engine/forward/forward.h"
#include "engine/forward/sampler.h"

/* A model where a backend computes with it: the beginning of what the backend keeps of it. */
struct backend_model {
    const struct backend *backend;
    const struct weights *weights; /* on the host: shapes, sizes, and what the cores compute with; outlives it */
    uint64_t identity; /* 0: the cores; else of device and driver: states of another identity have other bits */
};

/* What an evaluator is to be able to do: as workspace_new. */
struct evaluator_form {
    uint32_t max_tokens, max_runs, max_members, context;
};

/* The scratch memory of passes with one model: the beginning of what the backend keeps for them. */
struct evaluator {
    const struct backend_model *model;
    struct evaluator_form form;
};

/* Which token of a reply is drawn, and how (sampler.h). */
struct draw {
    struct sampler *sampler;
    const tdm_sampling *sampling;
    uint32_t turn, attempt, index;
};

/* Every function that returns a status may also fail with TDM_E_IO: the device is lost, and every later call fails the
 * same way. The states of a lost device can only be freed, their tokens read. */
struct backend {
    const char *name; /* "cpu", "gpu" */

    tdm_status (*pool)(struct pool **out, const struct backend_model *m, enum kv_type kv, uint32_t context,
                       tdm_error *err);
    tdm_status (*evaluator)(struct evaluator **out, const struct backend_model *m, const struct evaluator_form *form,
                            tdm_error *err);
    void (*evaluator_drop)(struct evaluator *e);

    /* As forward(), with states of this backend. The team is used by the cores alone. */
    tdm_status (*forward)(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                          const struct forward_options *options, uint64_t *bytes, tdm_error *err);

    /* Draws a token by the logits of s, which are valid; -1: none of them is finite. */
    tdm_status (*draw)(struct evaluator *e, struct state *s, const struct draw *draw, tdm_id *out, tdm_error *err);
};

extern const struct backend backend_cpu;

static inline struct backend_model backend_on_cpu(const struct weights *w)
{
    return (struct backend_model){.backend = &backend_cpu, .weights = w};
}

static inline tdm_status backend_pool(struct pool **out, const struct backend_model *m, enum kv_type kv,
                                      uint32_t context, tdm_error *err)
{
    return m->backend->pool(out, m, kv, context, err);
}

/* The model must outlive it, in its place. */
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
                                           uint32_t n_runs, const struct forward_options *options, uint64_t *bytes,
                                           tdm_error *err)
{
    return e->model->backend->forward(team, e, runs, n_runs, options, bytes, err);
}

static inline tdm_status evaluator_draw(struct evaluator *e, struct state *s, const struct draw *draw, tdm_id *out,
                                        tdm_error *err)
{
    return e->model->backend->draw(e, s, draw, out, err);
}

#endif
