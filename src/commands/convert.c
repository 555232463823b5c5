/* `tandem convert IN OUT.gguf --type T`. */
#include "src/cli/subcommands.h"
#include "src/files/unfinished.h"
#include "src/io/output.h"
#include "src/models/load.h"

int convert_main(options *o)
{
    if (o->n_arguments != 2) return subcommands_usage(o, "expected IN and OUT.gguf, found %d name%s", o->n_arguments,
                                o->n_arguments == 1 ? "" : "s");
    const char *type = options_text(o, OPTION_TYPE);
    tdm_error err = {0};
    int list = unfinished_begin(o->arguments[1]);
    tdm_status status = load_convert(o, o->arguments[0], o->arguments[1], type ? type : "q8_0", &err);
    unfinished_end(list);
    if (status) return load_failed(&err);
    output_print("%s: written\n", o->arguments[1]);
    return 0;
}
