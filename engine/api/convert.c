/* tdm_convert: a source's weights as a GGUF file. */
#include <string.h>

#include "engine/base/error.h"
#include "engine/model/convert.h"

struct reporter {
    tdm_progress progress;
    void *ctx;
};

static int report(void *context, uint64_t done, uint64_t total)
{
    const struct reporter *r = context;
    return r->progress ? r->progress(r->ctx, "converting", done, total) : 0;
}

TDM_API tdm_status tdm_convert(const char *in, const char *out, const char *type, tdm_progress progress, void *ctx,
                               tdm_error *err)
{
    struct reporter reporter = {progress, ctx};
    struct convert_options options = {type_from_name(type), report, &reporter};
    bool known = options.type == TYPE_Q8_0 || options.type == TYPE_Q4_0 || options.type == TYPE_BF16 ||
                 options.type == TYPE_F16;
    if (!known) return error_set(err, TDM_E_ARG, "type: expected q8_0, q4_0, bf16 or f16, found %s", type);
    struct source *source;
    tdm_status status = source_open(&source, in, NULL, err);
    if (status) return status;
    status = convert_to_gguf(source, out, &options, err);
    source_close(source);
    return status;
}
