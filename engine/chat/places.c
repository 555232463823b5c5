/* The context of a chat, and the weights that are brought to GPUs before a chat is opened. */
#include "engine/chat/chat.h"

#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/base/memory.h"

enum { CONTEXT_MAX = 32768 }; /* of the default */

struct tdm_places {
    struct place place[TDM_UNITS];
};

static uint32_t default_context(const struct tdm_model *m, enum kv_type kv)
{
    const struct weights *w = m->weights;
    if (m->server) return w->config.context_length;
    uint32_t most = w->config.context_length < CONTEXT_MAX ? w->config.context_length : CONTEXT_MAX;
    uint64_t layers = 0;
    for (uint32_t i = 0; i < w->config.layers; i++) layers += w->config.full_attention[i];
    uint64_t page = 2 * layers * w->config.kv_heads * w->kernels->kv_block_bytes(kv, w->config.head_dim);
    uint64_t half = memory_available() / 2;
    if (page && half) {
        /* The conversation and as much again for branches of it. */
        uint64_t room = half / (2 * page) * KV_PAGE;
        if (room < most) most = (uint32_t)room;
    }
    return most < 256 ? 256 : most;
}

tdm_status chat_set_context(tdm_chat_options *o, const struct tdm_model *m, tdm_error *err)
{
    if (o->context == 0) o->context = (int)default_context(m, (enum kv_type)o->kv);
    if (o->context < 1) return error_set(err, TDM_E_ARG, "context: expected 1 or more tokens, found %d", o->context);
    return TDM_OK;
}

TDM_API tdm_status tdm_places_open(tdm_places **out, const tdm_model *m, tdm_machine *machine, tdm_chat_options *o,
                                   tdm_progress progress, void *progress_ctx, tdm_error *err)
{
    *out = NULL;
    if (!m->weights) return error_set(err, TDM_E_ARG, "the model was opened without its weights");
    tdm_status status = chat_set_context(o, m, err);
    struct tdm_places *p = status ? NULL : calloc(1, sizeof *p);
    if (status) return status;
    if (!p) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int u = TDM_UNITS - 1; u >= 0 && status != TDM_E_CANCELLED; u--) { /* in the order of tdm_chat_open */
        struct place_form form = {.kv = (enum kv_type)(u == TDM_DECODE_UNIT ? o->kv : o->prefill_kv),
                                  .context = (uint32_t)o->context, .progress = progress, .progress_ctx = progress_ctx};
        const tdm_model *its = u == TDM_PREFILL_UNIT && o->prefill_model ? o->prefill_model : m;
        /* Where it does not fit the chat takes the cores, and says so. */
        status = its->weights ? place_open(&p->place[u], machine, u, its, &form, err) : TDM_OK;
    }
    if (status == TDM_E_CANCELLED) {
        tdm_places_close(p);
        return status;
    }
    *out = p;
    return TDM_OK;
}

TDM_API void tdm_places_close(tdm_places *p)
{
    if (!p) return;
    for (int u = 0; u < TDM_UNITS; u++) place_close(&p->place[u]);
    free(p);
}
