#include "engine/base/harmless.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"

bool harmless_code(int32_t code)
{
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
    bool direction = code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2066 && code <= 0x2069);
    return !direction && !(code >= 0x2028 && code <= 0x202e); /* separators, then embeddings and overrides */
}

bool harmless_text(const char *text, size_t n)
{
    int32_t code;
    for (size_t i = 0; i < n;) {
        i += utf8_decode(text + i, n - i, &code);
        if (!harmless_code(code)) return false;
    }
    return true;
}

void harmless_line(char *text)
{
    int32_t code;
    for (size_t n = strlen(text), length; n; text += length, n -= length) {
        length = utf8_decode(text, n, &code);
        if (!harmless_code(code)) memset(text, '?', length);
    }
}

static size_t newlines_behind(const char *text)
{
    size_t n = strlen(text), count = 0;
    while (count < n && text[n - count - 1] == '\n') count++;
    return count;
}

static void clean(char *text, const char *format)
{
    size_t before = strspn(format, "\n"), behind = newlines_behind(format + before), n = strlen(text) - behind;
    text[n] = 0;
    harmless_line(text + before);
    if (behind) memset(text + n, '\n', behind);
}

char *harmless_format(const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0) return NULL;
    clean(text, format);
    return text;
}

char *harmless_usual(char room[HARMLESS_USUAL], const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(room, HARMLESS_USUAL, format, args);
    bool usual = n >= 0 && n < HARMLESS_USUAL;
    if (usual) clean(room, format);
    char *text = usual ? room : harmless_format(format, again);
    va_end(again);
    return text;
}

bool harmless_print(FILE *out, const char *format, ...)
{
    char room[HARMLESS_USUAL];
    va_list args;
    va_start(args, format);
    char *text = harmless_usual(room, format, args);
    va_end(args);
    if (!text) errno = ENOMEM;
    bool written = text && fputs(text, out) >= 0;
    if (text != room) free(text);
    return written;
}
