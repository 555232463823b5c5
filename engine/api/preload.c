/* tdm_preload: loads a model's weights onto the GPUs before a chat is opened. */

#include <stdlib.h>

#include "engine/api/options.h"
#include "engine/base/error.h"
#include "engine/chat/chat.h"

struct tdm_preload {
    struct residence residence[TDM_UNITS];
};

static tdm_status open_preload(tdm_preload **out, const tdm_model *m, tdm_machine *machine, tdm_chat_options *o,
                               tdm_progress progress, void *progress_ctx, tdm_error *err)
{
    if (!m->weights) return error_set(err, TDM_E_ARG, "the model was opened without its weights");
    tdm_status status = residence_context(&o->context, m, residence_kv(o->kv), err);
    struct tdm_preload *p = status ? NULL : calloc(1, sizeof *p);
    if (status) return status;
    if (!p) return error_set(err, TDM_E_NOMEM, "out of memory");
    for (int u = TDM_UNITS - 1; u >= 0 && status != TDM_E_CANCELLED; u--) { /* in the order of tdm_chat_open */
        struct residence_form form = {.kv = residence_kv(u == TDM_DECODE_UNIT ? o->kv : o->prefill_kv),
                                      .context = (uint32_t)o->context,
                                      .progress = progress,
                                      .progress_ctx = progress_ctx};
        const tdm_model *its = u == TDM_PREFILL_UNIT && o->prefill_model ? o->prefill_model : m;
        /* Where it does not fit the chat takes the cores, and says so. */
        status = its->weights ? residence_open(&p->residence[u], machine, u, its, &form, err) : TDM_OK;
    }
    if (status == TDM_E_CANCELLED) {
        tdm_preload_close(p);
        return status;
    }
    *out = p;
    return TDM_OK;
}

TDM_API tdm_status tdm_preload_open_sized(tdm_preload **out, const tdm_model *m, tdm_machine *machine,
                                          tdm_chat_options *o, size_t size, tdm_progress progress, void *progress_ctx,
                                          tdm_error *err)
{
    tdm_chat_options own = {0};
    *out = NULL;
    tdm_status status = options_take(&own, sizeof own, o, size, err);
    options_fill(&own, m);
    if (!status) status = open_preload(out, m, machine, &own, progress, progress_ctx, err);
    if (!status && o) o->context = own.context;
    return status;
}

TDM_API void tdm_preload_close(tdm_preload *p)
{
    if (!p) return;
    for (int u = 0; u < TDM_UNITS; u++) residence_close(&p->residence[u]);
    free(p);
}
