/* The part of the made-up engine that has no conversation elsewhere: what is left while it is answered is stopped. */
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

TDM_API void tdm_chat_stop_elsewhere(tdm_chat *c)
{
    (void)c;
}

TDM_API void tdm_chat_forget_elsewhere(tdm_chat *c)
{
    (void)c;
}

TDM_API void tdm_chat_elsewhere_of(const tdm_chat *c, tdm_elsewhere *out)
{
    (void)c;
    *out = (tdm_elsewhere){0};
}

TDM_API int tdm_chat_nodes_elsewhere(const tdm_chat *c)
{
    (void)c;
    return 0;
}

TDM_API int tdm_chat_path_elsewhere(const tdm_chat *c, int *nodes, int room)
{
    (void)c, (void)nodes, (void)room;
    return 0;
}

TDM_API tdm_status tdm_chat_node_elsewhere(const tdm_chat *c, int node, tdm_node *out, tdm_error *err)
{
    (void)c, (void)out;
    return error_set(err, TDM_E_NOT_FOUND, "no message %d", node);
}
