#include "engine/api/defaults.h"

#include "engine/api/sized.h"
#include "engine/forward/sampler.h"

void defaults_fill(tdm_chat_options *o, const struct tdm_model *m)
{
    if (!o->speculation) o->speculation = TDM_SPEC_FULL;
    if (!o->kv) o->kv = TDM_KV_F16;
    if (!o->prefill_kv) o->prefill_kv = o->kv;
    o->sampling = sampler_complete(&o->sampling, &m->info.sampling);
}

TDM_API void tdm_chat_defaults_sized(tdm_chat_options *options, size_t size, const tdm_model *m)
{
    tdm_chat_options own = {0};
    defaults_fill(&own, m);
    sized_give(options, size, &own, sizeof own);
}
