#include "engine/backend/server.h"
#include "engine/object/residence.h"

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/state/state.h"

void residence_on_cores(struct residence *p, const struct tdm_model *m)
{
    *p = (struct residence){.cores = backend_on_cpu(m->weights)};
    p->model = &p->cores;
}

tdm_status residence_open(struct residence *p, const struct tdm_machine *machine, int unit, const struct tdm_model *m,
                          const struct residence_form *form, tdm_error *err)
{
    struct backend_device *device = machine->device[unit];
    residence_on_cores(p, m);
    if (m->server) p->model = &m->server->model;
    if (m->server || !device) return TDM_OK;
    struct backend_load what = {.weights = m->weights,
                                .source = m->source,
                                .tower = m->vision ? m->vision->tower : NULL,
                                .kv = form->kv,
                                .context = form->context,
                                .progress = form->progress,
                                .progress_ctx = form->progress_ctx};
    tdm_status status = device->backend->load(&p->loaded, device, &what, err);
    if (status == TDM_OK) p->model = p->loaded;
    return status;
}

void residence_fall_back(struct residence *p)
{
    p->loaded->backend->unload(p->loaded);
    p->loaded = NULL;
    p->model = &p->cores;
}

void residence_close(struct residence *p)
{
    if (p->loaded) p->loaded->backend->unload(p->loaded);
    *p = (struct residence){0};
}

/* ---- The context ------------------------------------------------------------------------------------------------- */

enum { CONTEXT_MAX = 32768 }; /* of the default */

static uint32_t default_context(const struct tdm_model *m, enum kv_type kv)
{
    const struct weights *w = m->weights;
    if (m->server) return w->config.context_length;
    uint32_t most = w->config.context_length < CONTEXT_MAX ? w->config.context_length : CONTEXT_MAX;
    const struct state_shape shape = state_shape_of(&w->config);
    uint64_t page = 0, windows = 0, half = memory_available() / 2;
    for (uint32_t i = 0; i < shape.kinds; i++) {
        const struct state_kind *k = &shape.kind[i];
        uint64_t bytes = 2ull * k->layers * k->kv_heads * w->kernels->kv_block_bytes(kv, k->head_dim);
        if (k->window && k->window < most)
            windows += ((k->window + STATE_BACK) / KV_PAGE + 2) * bytes;
        else
            page += bytes;
    }
    half = half > 2 * windows ? half - 2 * windows : 0;
    if (page && half) {
        /* The conversation and as much again for branches of it. */
        uint64_t room = half / (2 * page) * KV_PAGE;
        if (room < most) most = (uint32_t)room;
    }
    return most < 256 ? 256 : most;
}

tdm_status residence_context(int *context, const struct tdm_model *m, enum kv_type kv, tdm_error *err)
{
    if (*context == 0) *context = (int)default_context(m, kv);
    if (*context < 1) return error_set(err, TDM_E_ARG, "context: expected 1 or more tokens, found %d", *context);
    return TDM_OK;
}
