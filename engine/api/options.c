#include "engine/api/options.h"

#include <string.h>

#include "engine/base/error.h"
#include "engine/forward/sampler.h"

tdm_status options_take(void *own, size_t own_size, const void *given, size_t size, tdm_error *err)
{
    const unsigned char *bytes = given;
    if (!given) return TDM_OK;
    for (size_t i = own_size; i < size; i++)
        if (bytes[i])
            return error_set(err, TDM_E_UNSUPPORTED, "an option is newer than this library, version %s", TDM_VERSION);
    memcpy(own, given, size < own_size ? size : own_size);
    return TDM_OK;
}

void options_give(void *out, size_t size, const void *own, size_t own_size)
{
    memset(out, 0, size);
    memcpy(out, own, size < own_size ? size : own_size);
}

void options_fill(tdm_chat_options *o, const struct tdm_model *m)
{
    if (!o->speculation) o->speculation = TDM_SPEC_FULL;
    if (!o->kv) o->kv = TDM_KV_F16;
    if (!o->prefill_kv) o->prefill_kv = o->kv;
    o->sampling = sampler_complete(&o->sampling, &m->info.sampling);
}
