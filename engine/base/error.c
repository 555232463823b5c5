#include "engine/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*bug_hook)(const char *line);

static void make_one_line(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p == 0x7f) *p = '?';
}

tdm_status error_set(tdm_error *err, tdm_status code, const char *format, ...)
{
    if (!err) return code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    make_one_line(err->text);
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
    make_one_line(err->text);
    err->code = code;
    return code;
}

TDM_API void tdm_set_bug_hook(void (*hook)(const char *line))
{
    bug_hook = hook;
}

_Noreturn void bug_at(const char *file, int line, const char *what)
{
    char text[256];
    snprintf(text, sizeof text, "tandem: bug at %s:%d: %s", file, line, what);
    if (bug_hook)
        bug_hook(text);
    else
        fprintf(stderr, "%s\n", text);
    abort();
}
