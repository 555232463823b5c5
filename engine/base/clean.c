#include "engine/base/clean.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"

static const char replacement[] = "\357\277\275" /* U+FFFD */, order_mark[] = "\357\273\277"; /* U+FEFF */

char *clean_text(const char *data, size_t n, size_t *length)
{
    if (n > PTRDIFF_MAX / 3 - 1) return NULL;
    if (n >= 3 && !memcmp(data, order_mark, 3)) data += 3, n -= 3;
    size_t invalid = 0;
    const unsigned char *s = (const unsigned char *)data;
    int32_t c;
    for (size_t i = 0; i < n;) {
        i += utf8_decode(data + i, n - i, &c);
        if (c < 0) invalid++;
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
        size_t bytes = utf8_decode(data + i, n - i, &c);
        if (c < 0) {
            memcpy(out + at, replacement, 3);
            at += 3;
            i++;
        } else {
            memcpy(out + at, data + i, bytes);
            at += bytes;
            i += bytes;
        }
    }
    out[at] = 0;
    if (length) *length = at;
    return out;
}
