#include "engine/chat/sides.h"

#include "engine/base/error.h"
#include "engine/chat/remote.h"

/* Does the state memory of one side serve the other? */
static bool same_pool(const struct side *a, const struct side *b, const tdm_chat_options *o)
{
    const struct backend_model *one = a->residence.model, *other = b->residence.model;
    bool here = !one->device && !other->device && a->weights->kernels == b->weights->kernels;
    return (here || one == other) && o->kv == o->prefill_kv;
}

/* The unit's device where the model fits on it, else the cores; an event says so. */
static tdm_status take_residence(struct tdm_chat *c, int unit, const struct tdm_model *m, tdm_kv kv, tdm_error *err)
{
    const tdm_chat_options *o = &c->options;
    struct side *side = &c->side[unit];
    struct residence_form form = {.kv = residence_kv(kv), .context = (uint32_t)o->context};
    tdm_status status = residence_open(&side->residence, c->machine, unit, m, &form, err);
    if (status != TDM_E_NOMEM && status != TDM_E_UNSUPPORTED && status != TDM_E_IO) return status;
    events_post_line(c->events, TDM_EV_NOTICE, "%s: the cores take its place", err->text);
    c->client.on_cores[unit] = true;
    return TDM_OK;
}

tdm_status sides_open(struct tdm_chat *c, tdm_error *err)
{
    tdm_chat_options *o = &c->options;
    const tdm_model *m = c->model, *prefill = o->prefill_model ? o->prefill_model : m;
    if (m->server) c->client.server = m->server->host;
    if (m->server) c->reader.never_adopts = true;
    if (!m->weights || !prefill->weights) return error_set(err, TDM_E_ARG, "the model was opened without its weights");
    struct side *a = &c->side[TDM_PREFILL_UNIT], *b = &c->side[TDM_DECODE_UNIT];
    a->weights = prefill->weights;
    b->weights = m->weights;
    struct state_shape sa = state_shape_of(&a->weights->config), sb = state_shape_of(&b->weights->config);
    if (!state_shape_equal(&sa, &sb)) /* the order of value heads may differ: the bridge reorders them */
        return error_set(err, TDM_E_ARG, "the prefill unit's model has another shape than %s", m->info.name);
    tdm_status status = residence_context(&o->context, m, residence_kv(o->kv), err);
    if (status == TDM_OK) status = take_residence(c, TDM_DECODE_UNIT, m, o->kv, err);
    if (status == TDM_OK) status = take_residence(c, TDM_PREFILL_UNIT, prefill, o->prefill_kv, err);
    uint32_t context = (uint32_t)o->context * remote_room_factor(c);
    if (status == TDM_OK) status = backend_pool(&b->pool, b->residence.model, residence_kv(o->kv), context, err);
    if (status) return status;
    c->two_pools = !same_pool(a, b, o) || sa.value_heads_tiled != sb.value_heads_tiled;
    a->pool = c->two_pools ? NULL : b->pool;
    if (c->two_pools) status = backend_pool(&a->pool, a->residence.model, residence_kv(o->prefill_kv), context, err);
    if (status == TDM_OK) status = pool_warm(a->pool, READY_PAGES, READY_BUFFERS, err);
    return status;
}

void sides_close(struct tdm_chat *c)
{
    for (int u = 0; u < TDM_UNITS; u++) evaluator_free(c->side[u].evaluator);
    if (c->two_pools) pool_free(c->side[TDM_PREFILL_UNIT].pool);
    pool_free(c->side[TDM_DECODE_UNIT].pool);
    for (int u = 0; u < TDM_UNITS; u++) residence_close(&c->side[u].residence);
}
