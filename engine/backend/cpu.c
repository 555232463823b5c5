/* The cores as a backend: kernels, weights and states in the host's memory. */
#include "engine/backend/backend.h"

#include "engine/base/error.h"

#include <stdlib.h>

struct cpu_evaluator {
    struct evaluator base;
    struct workspace *workspace;
};

static tdm_status cpu_pool(struct pool **out, const struct backend_model *m, enum kv_type kv, uint32_t context,
                           tdm_error *err)
{
    struct state_shape shape = state_shape_of(&m->weights->config);
    return pool_new(out, &shape, m->weights->kernels, kv, context, err);
}

static tdm_status cpu_evaluator(struct evaluator **out, const struct backend_model *m,
                                const struct evaluator_form *form, tdm_error *err)
{
    struct cpu_evaluator *e = malloc(sizeof *e);
    *out = NULL;
    if (!e) return error_set(err, TDM_E_NOMEM, "no memory for a forward pass");
    e->base = (struct evaluator){.model = m, .form = *form};
    tdm_status status = workspace_new(&e->workspace, m->weights, form->max_tokens, form->max_runs, form->max_members,
                                      form->context, err);
    if (status) {
        free(e);
        return status;
    }
    *out = &e->base;
    return TDM_OK;
}

static void cpu_evaluator_drop(struct evaluator *e)
{
    struct cpu_evaluator *own = (struct cpu_evaluator *)e;
    workspace_free(own->workspace);
    free(own);
}

static tdm_status cpu_forward(struct team *team, struct evaluator *e, const struct forward_run *runs, uint32_t n_runs,
                              const struct forward_options *options, uint64_t *bytes, tdm_error *err)
{
    struct cpu_evaluator *own = (struct cpu_evaluator *)e;
    return forward(team, e->model->weights, own->workspace, runs, n_runs, options, bytes, err);
}

static tdm_status cpu_draft(struct team *team, struct evaluator *e, const struct draft_run *runs, uint32_t n_runs,
                            uint64_t *bytes, tdm_error *err)
{
    struct cpu_evaluator *own = (struct cpu_evaluator *)e;
    return forward_draft(team, e->model->weights, own->workspace, runs, n_runs, bytes, err);
}

static void cpu_accept(struct team *team, struct evaluator *e, const struct forward_run *runs, const uint32_t *rows,
                       uint32_t n_runs)
{
    struct cpu_evaluator *own = (struct cpu_evaluator *)e;
    forward_accept(team, e->model->weights, own->workspace, runs, rows, n_runs);
}

static tdm_status cpu_kept_new(struct forward_kept **out, const struct backend_model *m, uint32_t rows, tdm_error *err)
{
    return forward_kept_new(out, m->weights, rows, err);
}

static tdm_status cpu_sample(struct evaluator *e, struct state *s, const struct sampling_request *d, tdm_id *out,
                             tdm_error *err)
{
    (void)e;
    (void)err;
    *out = sampler_sample(d->sampler, d->sampling, s->logits, d->turn, d->attempt, d->index);
    return TDM_OK;
}

const struct backend backend_cpu = {
    .name = "cpu",
    .pool = cpu_pool,
    .evaluator = cpu_evaluator,
    .evaluator_drop = cpu_evaluator_drop,
    .forward = cpu_forward,
    .draft = cpu_draft,
    .accept = cpu_accept,
    .kept_new = cpu_kept_new,
    .kept_free = forward_kept_free,
    .sample = cpu_sample,
};
