/* The part of the made-up engine that has no GPU: weights are brought nowhere. */
#include "engine/tandem.h"

TDM_API tdm_status tdm_places_open(tdm_places **out, const tdm_model *m, tdm_machine *machine, tdm_chat_options *o,
                                   tdm_progress progress, void *progress_ctx, tdm_error *err)
{
    (void)m, (void)machine, (void)o, (void)progress, (void)progress_ctx, (void)err;
    *out = NULL;
    return TDM_OK;
}

TDM_API void tdm_places_close(tdm_places *p)
{
    (void)p;
}
