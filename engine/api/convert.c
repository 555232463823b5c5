/* tdm_convert: a source's weights as a GGUF file. */
#include <stdlib.h>

#include "engine/base/error.h"
#include "engine/model/convert/convert.h"
#include "engine/model/locate.h"

static int report(void *context, uint64_t done, uint64_t total)
{
    const tdm_model_options *in = context;
    return in->progress ? in->progress(in->progress_ctx, "converting", done, total) : 0;
}

TDM_API tdm_status tdm_convert(const tdm_model_options *in, const char *out, const char *type, tdm_error *err)
{
    tdm_model_options from = *in;
    struct convert_options options = {type_from_name(type), report, &from};
    if (!convert_makes(options.type))
        return error_set(err, TDM_E_ARG, "type: expected q8_0, q6_k, q4_k, q4_0, bf16 or f16, found %s", type);
    char *path = NULL;
    struct source *source;
    tdm_status status = locate_model(&path, in->path, in->hubs, err);
    if (status == TDM_OK) {
        status = source_open(&source, path, &(struct source_options){.quant = TYPE_F32, .builtin = in->builtin}, err);
        if (status == TDM_OK) {
            status = convert_to_gguf(source, out, &options, err);
            source_close(source);
        }
    }
    free(path);
    return status;
}
