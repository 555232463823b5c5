#include "engine/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"

static void (*panic_hook)(const char *line);

/* File names and contents reach these lines: C0 and C1 control characters, and bytes that are no UTF-8 (a cut-off
 * character at the end among them), become '?'. */
static void make_one_line(char *text)
{
    int32_t code;
    for (size_t n = strlen(text), length; n; text += length, n -= length) {
        length = utf8_decode(text, n, &code);
        if (code < 0x20 || (code >= 0x7f && code < 0xa0)) memset(text, '?', length);
    }
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

TDM_API void tdm_set_panic_hook(void (*hook)(const char *line))
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
