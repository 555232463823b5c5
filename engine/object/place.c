#include "engine/backend/server.h"
#include "engine/object/place.h"

void place_on_cores(struct place *p, const struct tdm_model *m)
{
    *p = (struct place){.cores = backend_on_cpu(m->weights)};
    p->model = &p->cores;
}

tdm_status place_open(struct place *p, const struct tdm_machine *machine, int unit, const struct tdm_model *m,
                      const struct place_form *form, tdm_error *err)
{
    struct backend_device *device = machine->device[unit];
    place_on_cores(p, m);
    if (m->server) p->model = &m->server->model;
    if (m->server || !device) return TDM_OK;
    struct backend_load what = {.weights = m->weights, .source = m->source, .kv = form->kv, .context = form->context,
                                .progress = form->progress, .progress_ctx = form->progress_ctx};
    tdm_status status = device->backend->load(&p->loaded, device, &what, err);
    if (status == TDM_OK) p->model = p->loaded;
    return status;
}

void place_fall_back(struct place *p)
{
    p->loaded->backend->unload(p->loaded);
    p->loaded = NULL;
    p->model = &p->cores;
}

void place_close(struct place *p)
{
    if (p->loaded) p->loaded->backend->unload(p->loaded);
    *p = (struct place){0};
}
