/* The made-up engine of these tests knows no servers. */
#include "engine/base/error.h"
#include "engine/tandem.h"

TDM_API tdm_status tdm_model_open_server(tdm_model **out, const tdm_server_options *options, tdm_error *err)
{
    *out = NULL;
    return error_set(err, TDM_E_UNSUPPORTED, "no model on %s here", options->host);
}
