#include "ui/text/paste.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static const char replacement[] = "\357\277\275"; /* U+FFFD */

char *paste_clean(const char *data, size_t n, size_t *length)
{
    if (n > PTRDIFF_MAX / 3 - 1) return NULL;
    size_t invalid = 0;
    const utf8proc_uint8_t *s = (const utf8proc_uint8_t *)data;
    utf8proc_int32_t c;
    for (size_t i = 0; i < n;) {
        utf8proc_ssize_t l = s[i] < 0x80 ? 1 : utf8proc_iterate(s + i, (utf8proc_ssize_t)(n - i), &c);
        if (l < 1) invalid++;
        i += l < 1 ? 1 : (size_t)l;
    }
    char *out = malloc(n + 2 * invalid + 1);
    if (!out) return NULL;
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        if (s[i] < 0x80) {
            if (s[i] == '\r') {
                out[at++] = '\n';
                if (i + 1 < n && s[i + 1] == '\n') i++;
            } else if (s[i]) {
                out[at++] = (char)s[i];
            }
            i++;
            continue;
        }
        utf8proc_ssize_t l = utf8proc_iterate(s + i, (utf8proc_ssize_t)(n - i), &c);
        if (l < 1) {
            memcpy(out + at, replacement, 3);
            at += 3;
            i++;
        } else {
            memcpy(out + at, data + i, (size_t)l);
            at += (size_t)l;
            i += (size_t)l;
        }
    }
    out[at] = 0;
    if (length) *length = at;
    return out;
}
