#include "src/cli/subcommands.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int subcommands_usage(const options *o, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "tandem %s: ", command_table[o->command].name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return 2;
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
