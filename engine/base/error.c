#include "engine/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/harmless.h"

static void (*panic_hook)(const char *line);

tdm_status error_set(tdm_error *err, tdm_status code, const char *format, ...)
{
    if (!err) return code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    harmless_line(err->text); /* file names and contents reach it */
    err->code = code;
    return code;
}

tdm_status error_errno(tdm_error *err, tdm_status code, const char *format, ...)
{
    int saved = errno;
    if (!err) return code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, ": %s", strerror(saved));
    harmless_line(err->text); /* file names and contents reach it */
    err->code = code;
    return code;
}

void panic_set_hook(void (*hook)(const char *line))
{
    panic_hook = hook;
}

_Noreturn void panic_at(const char *file, int line, const char *what)
{
    char text[256];
    snprintf(text, sizeof text, "tandem: bug at %s:%d: %s", file, line, what);
    if (panic_hook)
        panic_hook(text);
    else
        fprintf(stderr, "%s\n", text);
    abort();
}
