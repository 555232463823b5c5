/* `tandem convert IN OUT.gguf --type T`. */
#include "engine/os/file.h"
#include "src/cli/subcommands.h"
#include "src/files/unfinished.h"
#include "src/io/output.h"
#include "src/models/load.h"

int convert_main(options *o)
{
    if (o->n_arguments != 2) return subcommands_usage(o, "expected IN and OUT.gguf, found %d name%s", o->n_arguments,
                                o->n_arguments == 1 ? "" : "s");
    const char *in = o->arguments[0], *out = o->arguments[1];
    /* Of a file onto itself the engine says what is wrong with that. */
    if (!file_is_same(in, out) && !subcommands_may_write(o, out)) return 1;
    const char *type = options_text(o, OPTION_TYPE);
    tdm_error err = {0};
    int list = unfinished_begin(out);
    tdm_status status = load_convert(o, in, out, type ? type : "q8_0", &err);
    unfinished_end(list);
    if (status) return load_failed(&err);
    output_print("%s: written\n", out);
    return 0;
}
