/* `tandem convert IN OUT.gguf --type T`. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/interrupt.h"
#include "src/load.h"
#include "src/mains.h"
#include "src/output.h"

static int progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    bool *shown = ctx;
    if (interrupt_seen()) return 1;
    if (isatty(STDERR_FILENO) && total) {
        fprintf(stderr, "\r%s %3d%%\x1b[K", what, (int)(100.0 * (double)done / (double)total));
        *shown = true;
    }
    return 0;
}

int convert_main(options *o)
{
    if (o->n_arguments != 2) return mains_usage(o, "expected IN and OUT.gguf, found %d names", o->n_arguments);
    const char *type = options_text(o, OPTION_TYPE);
    tdm_error err = {0};
    bool shown = false;
    interrupt_catch();
    tdm_status status = tdm_convert(o->arguments[0], o->arguments[1], type ? type : "q8_0", progress, &shown, &err);
    interrupt_release();
    if (shown) fputs("\r\x1b[K", stderr);
    if (status) return load_failed(&err);
    output_print("%s: written\n", o->arguments[1]);
    return 0;
}
