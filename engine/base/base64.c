#include "engine/base/base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_text(const void *data, size_t n)
{
    const unsigned char *bytes = data;
    if (n > PTRDIFF_MAX / 2) return NULL;
    char *out = malloc((n + 2) / 3 * 4 + 1), *p = out;
    if (!out) return NULL;
    for (size_t i = 0; i < n; i += 3) {
        unsigned b = (unsigned)bytes[i] << 16;
        if (i + 1 < n) b |= (unsigned)bytes[i + 1] << 8;
        if (i + 2 < n) b |= bytes[i + 2];
        *p++ = digits[b >> 18];
        *p++ = digits[b >> 12 & 63];
        *p++ = i + 1 < n ? digits[b >> 6 & 63] : '=';
        *p++ = i + 2 < n ? digits[b & 63] : '=';
    }
    *p = 0;
    return out;
}

/* -1: none. */
static int value_of(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

char *base64_bytes(const char *text, size_t n, size_t *out_n)
{
    size_t padding = n && text[n - 1] == '=' ? 1 + (n > 1 && text[n - 2] == '=') : 0;
    char *out = n % 4 ? NULL : malloc(n / 4 * 3 + 1), *p = out;
    unsigned held = 0;
    for (size_t i = 0; out && i < n - padding; i++) {
        int value = value_of(text[i]);
        if (value < 0) {
            free(out);
            return NULL;
        }
        held = held << 6 | (unsigned)value;
        if (i % 4) *p++ = (char)(held >> (6 - 2 * (i % 4)));
    }
    if (!out) return NULL;
    *p = 0;
    *out_n = (size_t)(p - out);
    return out;
}
