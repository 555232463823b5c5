#include "src/cli/subcommands.h"
#include "src/files/files.h"
#include "src/io/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int subcommands_usage(const options *o, const char *format, ...)
{
    va_list args;
    char text[1000];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    output_note("tandem %s: %s", command_table[o->command].name, text);
    return 2;
}

bool subcommands_may_write(const options *o, const char *path)
{
    tdm_error err;
    if (!files_may_write(path, options_flag(o, OPTION_OVERWRITE), &err)) return true;
    output_note("tandem %s: %s", command_table[o->command].name, err.text);
    return false;
}

char *subcommands_joined(const options *o)
{
    if (!o->n_arguments) return NULL;
    size_t n = 0;
    for (int i = 0; i < o->n_arguments; i++) n += strlen(o->arguments[i]) + 1;
    char *joined = malloc(n), *end = joined;
    if (!joined) return NULL;
    for (int i = 0; i < o->n_arguments; i++) {
        if (i) *end++ = ' ';
        end = stpcpy(end, o->arguments[i]);
    }
    return joined;
}
