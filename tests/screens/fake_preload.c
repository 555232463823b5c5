/* The part of the made-up engine that has no GPU: weights are brought nowhere. */
#include "engine/tandem.h"

TDM_API tdm_status tdm_preload_open_sized(tdm_preload **out, const tdm_model *m, tdm_machine *machine,
                                          tdm_chat_options *o, size_t size, tdm_progress progress, void *progress_ctx,
                                          tdm_error *err)
{
    (void)size, (void)m, (void)machine, (void)o, (void)progress, (void)progress_ctx, (void)err;
    *out = NULL;
    return TDM_OK;
}

TDM_API void tdm_preload_close(tdm_preload *p)
{
    (void)p;
}
