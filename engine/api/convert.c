/* tdm_convert: a source's weights as a GGUF file. */
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "engine/model/convert/convert.h"
#include "engine/model/locate.h"

static int report(void *context, uint64_t done, uint64_t total)
{
    const tdm_model_options *in = context;
    return in->progress ? in->progress(in->progress_ctx, TDM_STEP_CONVERTING, done, total) : 0;
}

/* The file would be replaced by a copy of lower precision, and there is no way back. */
static tdm_status not_itself(const struct source *source, const char *out, tdm_error *err)
{
    struct stat from, to;
    if (stat(source_path(source), &from) || stat(out, &to)) return TDM_OK;
    if (from.st_dev != to.st_dev || from.st_ino != to.st_ino) return TDM_OK;
    return error_set(err, TDM_E_ARG, "%s: expected another file than the one that is read", out);
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
            status = not_itself(source, out, err);
            if (!status) status = convert_to_gguf(source, out, &options, err);
            source_close(source);
        }
    }
    free(path);
    return status;
}
