#include "engine/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*bug_hook)(const char *line);

/* Length of the UTF-8 character at p, 0 where the bytes are none. Its first byte isn't ASCII. */
static int utf8_length(const unsigned char *p)
{
    int n = *p >= 0xf0 && *p < 0xf5 ? 4 : *p >= 0xe0 ? 3 : 2;
    if (*p < 0xc2 || *p >= 0xf5) return 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return n;
}

/* File names and contents reach these lines: C0 and C1 control characters, and bytes that are no UTF-8 (a cut-off
 * character at the end among them), become '?'. */
static void make_one_line(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p;) {
        int n = *p < 0x80 ? 1 : utf8_length(p);
        bool c1 = n == 2 && p[0] == 0xc2 && p[1] < 0xa0;
        if (n == 0 || *p < 0x20 || *p == 0x7f || c1) *p = '?', n = 1;
        p += n;
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
