/* The two sides of a chat: where each unit computes, and where its states live. */
#include "engine/chat/chat.h"

#include "engine/base/error.h"

/* Does the state memory of one side serve the other? */
static bool same_pool(const struct side *a, const struct side *b, const tdm_chat_options *o)
{
    const struct backend_model *one = a->place.model, *other = b->place.model;
    bool here = !one->device && !other->device && a->weights->kernels == b->weights->kernels;
    return (here || one == other) && o->kv == o->prefill_kv;
}

bool chat_sides_agree(const struct tdm_chat *c)
{
    for (int u = 0; u < TDM_UNITS; u++)
        if (unit_kind(chat_unit(c, u)) == UNIT_BLAS) return false;
    return !c->two_pools &&
           backend_agrees(c->side[TDM_PREFILL_UNIT].place.model, c->side[TDM_DECODE_UNIT].place.model);
}

/* Its device where the model fits on it, else the cores, which is said. */
static tdm_status take_place(struct tdm_chat *c, int unit, const struct tdm_model *m, tdm_kv kv, tdm_error *err)
{
    const tdm_chat_options *o = &c->options;
    struct side *side = &c->side[unit];
    struct place_form form = {.kv = (enum kv_type)kv, .context = (uint32_t)o->context};
    tdm_status status = place_open(&side->place, c->machine, unit, m, &form, err);
    if (status != TDM_E_NOMEM && status != TDM_E_UNSUPPORTED && status != TDM_E_IO) return status;
    events_post_line(c->events, TDM_EV_NOTICE, "%s: the cores take its place", err->text);
    c->client.on_cores[unit] = true;
    return TDM_OK;
}

tdm_status chat_open_sides(struct tdm_chat *c, tdm_error *err)
{
    tdm_chat_options *o = &c->options;
    const tdm_model *m = c->model, *prefill = o->prefill_model ? o->prefill_model : m;
    if (m->server) c->client.server = m->server->host;
    if (m->server) c->never_adopts = true;
    if (!m->weights || !prefill->weights) return error_set(err, TDM_E_ARG, "the model was opened without its weights");
    struct side *a = &c->side[TDM_PREFILL_UNIT], *b = &c->side[TDM_DECODE_UNIT];
    a->weights = prefill->weights;
    b->weights = m->weights;
    struct state_shape sa = state_shape_of(&a->weights->config), sb = state_shape_of(&b->weights->config);
    if (!state_shape_equal(&sa, &sb)) /* the order of value heads may differ: the bridge sees to it */
        return error_set(err, TDM_E_ARG, "the prefill unit's model has another shape than %s", m->info.name);
    tdm_status status = chat_set_context(o, m, err);
    if (status == TDM_OK) status = take_place(c, TDM_DECODE_UNIT, m, o->kv, err);
    if (status == TDM_OK) status = take_place(c, TDM_PREFILL_UNIT, prefill, o->prefill_kv, err);
    uint32_t context = (uint32_t)o->context * chat_room_factor(c);
    if (status == TDM_OK) status = backend_pool(&b->pool, b->place.model, (enum kv_type)o->kv, context, err);
    if (status) return status;
    c->two_pools = !same_pool(a, b, o) || sa.value_heads_tiled != sb.value_heads_tiled;
    a->pool = c->two_pools ? NULL : b->pool;
    if (c->two_pools)
        status = backend_pool(&a->pool, a->place.model, (enum kv_type)o->prefill_kv, context, err);
    if (status == TDM_OK) status = pool_warm(a->pool, READY_PAGES, READY_BUFFERS, err);
    return status;
}

void chat_close_sides(struct tdm_chat *c)
{
    for (int u = 0; u < TDM_UNITS; u++) evaluator_free(c->side[u].evaluator);
    if (c->two_pools) pool_free(c->side[TDM_PREFILL_UNIT].pool);
    pool_free(c->side[TDM_DECODE_UNIT].pool);
    for (int u = 0; u < TDM_UNITS; u++) place_close(&c->side[u].place);
}
