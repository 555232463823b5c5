/* The options of a chat on the engine of a script: what is set is what it has. */
#include "engine/base/error.h"
#include "tests/screens/fake_engine.h"

TDM_API void tdm_chat_defaults_sized(tdm_chat_options *options, size_t size, const tdm_model *m)
{
    (void)size, (void)m;
    *options = (tdm_chat_options){.pipeline = TDM_PIPE_TANDEM,
                                  .speculation = TDM_SPEC_FULL,
                                  .dispatch = 32,
                                  .sampling = {.temperature = 0.7f, .top_k = 20, .top_p = 0.8f, .repeat_penalty = 1}};
}

TDM_API tdm_status tdm_chat_configure_sized(tdm_chat *c, const tdm_chat_options *options, size_t size, tdm_error *err)
{
    (void)c, (void)size;
    if (options->think && !fake.can_think) return error_set(err, TDM_E_REFUSED, "this model has no thinking mode");
    if (options->checkpoint_bytes) {
        uint64_t most = fake.status.checkpoint_budget = options->checkpoint_bytes;
        if (fake.status.checkpoint_bytes > most) fake.status.checkpoint_bytes = most;
    }
    fake.options = *options;
    return TDM_OK;
}

TDM_API void tdm_chat_options_of_sized(const tdm_chat *c, tdm_chat_options *out, size_t size)
{
    (void)c, (void)size;
    *out = fake.options;
}
