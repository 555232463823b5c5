/* The made-up engine of these tests knows no servers. */
#include "engine/base/error.h"
#include "engine/tandem.h"

TDM_API tdm_status tdm_model_open_server_sized(tdm_model **out, const tdm_server_options *options, size_t size,
                                               tdm_error *err)
{
    (void)size;
    *out = NULL;
    return error_set(err, TDM_E_UNSUPPORTED, "no model on %s here", options->host);
}
