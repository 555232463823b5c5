/* The part of the made-up engine that has no conversation in the background: what is left while it is answered is
 * stopped. */
#include "engine/base/error.h"
#include "engine/tandem.h"

TDM_API tdm_status tdm_chat_leave(tdm_chat *c, tdm_error *err)
{
    (void)c;
    return error_set(err, TDM_E_UNSUPPORTED, "one at a time");
}

TDM_API tdm_status tdm_chat_visit(tdm_chat *c, bool keep, tdm_error *err)
{
    (void)c, (void)keep;
    return error_set(err, TDM_E_NOT_FOUND, "no conversation is elsewhere");
}

TDM_API void tdm_chat_forget(tdm_chat *c)
{
    (void)c;
}

TDM_API void tdm_chat_back_of(const tdm_chat *c, tdm_back_status *out)
{
    (void)c;
    *out = (tdm_back_status){0};
}
