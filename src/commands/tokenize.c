/* `tandem tokenize`: text to ids and back. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/cli/words.h"
#include "src/cli/subcommands.h"
#include "src/files/files.h"
#include "src/io/output.h"
#include "src/models/load.h"

static tdm_status open_tokenizer(tdm_model **out, const options *o, tdm_error *err)
{
    const char *path = options_text(o, OPTION_MODEL);
    size_t n = path ? strlen(path) : 0;
    if (n > 5 && !strcmp(path + n - 5, ".json")) return tdm_tokenizer_open(out, path, err);
    return load_model(out, o, path, &(load_how){.text_only = true}, err);
}

static void print_ids(const options *o, const tdm_ids *ids)
{
    bool json = options_flag(o, OPTION_JSON);
    if (json) output_print("[");
    for (size_t i = 0; i < ids->n; i++) output_print("%s%d", i ? json ? "," : " " : "", ids->ids[i]);
    output_print(json ? "]\n" : "\n");
}

static tdm_status convert_text(const options *o, const tdm_model *m, const char *text, size_t n, tdm_error *err)
{
    tdm_ids ids = {0};
    tdm_status status;
    if (!options_flag(o, OPTION_DECODE)) {
        status = tdm_tokenize(m, text, n, true, &ids, err);
        if (!status) print_ids(o, &ids);
    } else {
        char *decoded = NULL;
        size_t length;
        status = ids_parse("ids", text, n, &ids, err);
        if (!status) status = tdm_detokenize(m, ids.ids, ids.n, &decoded, &length, err);
        if (!status) output_text(decoded, length);
        free(decoded);
    }
    tdm_ids_free(&ids);
    return status;
}

int tokenize_main(options *o)
{
    tdm_error err = {0};
    tdm_model *m = NULL;
    char *text = subcommands_joined(o);
    size_t n = text ? strlen(text) : 0;
    tdm_status status = text              ? TDM_OK
                        : o->n_arguments ? error_set(&err, TDM_E_NOMEM, "out of memory")
                                         : files_read("-", SUBCOMMANDS_LONGEST_INPUT, &text, &n, &err);
    if (!status) status = open_tokenizer(&m, o, &err);
    if (!status) load_notices(m);
    if (!status) status = convert_text(o, m, text, n, &err);
    tdm_model_close(m);
    free(text);
    return status ? load_failed(&err) : 0;
}
