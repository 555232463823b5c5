#include "engine/base/harmless.h"

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
