/* tdm_convert: writes the weights of a model as a GGUF file. */
#include <stdlib.h>

#include "engine/api/options.h"
#include "engine/base/error.h"
#include "engine/model/convert/convert.h"
#include "engine/model/locate.h"
#include "engine/os/file.h"

static int report(void *context, uint64_t done, uint64_t total)
{
    const tdm_model_options *in = context;
    return in->progress ? in->progress(in->progress_ctx, TDM_STEP_CONVERTING, done, total) : 0;
}

/* The file would be replaced by a copy of lower precision, and there is no way back. */
static tdm_status not_itself(const struct source *source, const char *out, tdm_error *err)
{
    if (!file_is_same(source_path(source), out)) return TDM_OK;
    return error_set(err, TDM_E_ARG, "%s: expected another file than the one that is read", out);
}

static tdm_status convert(tdm_model_options *in, const char *out, const char *type, tdm_error *err)
{
    struct convert_options options = {type_from_name(type), report, in};
    if (!convert_makes(options.type))
        return error_set(err, TDM_E_ARG, "type: expected q8_0, q6_k, q4_k, q4_0, bf16 or f16, found %s", type);
    char *path = NULL;
    struct source *source;
    tdm_status status = locate_model(&path, in->path, in->hubs, err);
    if (status == TDM_OK) {
        const struct source_options how = {
            .quant = TYPE_F32, .builtin = in->builtin, .accept_unknown = in->accept_unknown};
        status = source_open(&source, path, &how, err);
        if (status == TDM_OK) {
            const struct notes *notes = source_notes(source);
            for (size_t i = 0; in->notice && i < notes->n; i++) in->notice(notes->lines[i]);
            status = not_itself(source, out, err);
            if (!status) status = convert_to_gguf(source, out, &options, err);
            source_close(source);
        }
    }
    free(path);
    return status;
}

TDM_API tdm_status tdm_convert_sized(const tdm_model_options *in, size_t size, const char *out, const char *type,
                                     tdm_error *err)
{
    tdm_model_options own = {0};
    tdm_status status = options_take(&own, sizeof own, in, size, err);
    return status ? status : convert(&own, out, type, err);
}
