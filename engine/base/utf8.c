#include "engine/base/utf8.h"

#include <string.h>

/* The length that a lead byte announces and the bounds of the byte after it, which exclude overlong forms,
 * surrogates and codes past 0x10FFFF (The Unicode Standard, table 3-7). 0: no lead byte. */
static int sequence_length(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = 0x80, *high = 0xBF;
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;
    if (lead < 0xE0) return 2;
    if (lead < 0xF0) {
        if (lead == 0xE0) *low = 0xA0;
        if (lead == 0xED) *high = 0x9F;
        return 3;
    }
    if (lead > 0xF4) return 0;
    if (lead == 0xF0) *low = 0x90;
    if (lead == 0xF4) *high = 0x8F;
    return 4;
}

size_t utf8_decode(const char *text, size_t n, int32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char low, high;
    int length = sequence_length(s[0], &low, &high);
    if (length == 1) {
        *code = s[0];
        return 1;
    }
    *code = -1;
    if (length == 0 || (size_t)length > n || s[1] < low || s[1] > high) return 1;
    int32_t c = s[0] & (0x7F >> length);
    for (int i = 1; i < length; i++) {
        if (!utf8_continues(text[i])) return 1;
        c = c << 6 | (s[i] & 0x3F);
    }
    *code = c;
    return (size_t)length;
}

size_t utf8_before(const char *text, size_t n)
{
    for (size_t back = 1; back <= 4 && back <= n; back++) {
        if (utf8_continues(text[n - back])) continue;
        int32_t code;
        if (utf8_decode(text + n - back, back, &code) == back) return n - back;
        break;
    }
    return n - 1;
}

size_t utf8_incomplete(const char *text, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const unsigned char *s = (const unsigned char *)text + n - back;
        if (utf8_continues((char)s[0])) continue;
        unsigned char low, high;
        int length = sequence_length(s[0], &low, &high);
        if ((size_t)length <= back) return 0;
        if (back >= 2 && (s[1] < low || s[1] > high)) return 0;
        return back;
    }
    return 0;
}

size_t utf8_encode(uint32_t code, char out[4])
{
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(lead[length] | code);
    return length;
}

size_t utf8_mend(const char *text, size_t n, char *out)
{
    char *to = out;
    int32_t code;
    for (size_t i = 0, length; i < n; i += length) {
        length = utf8_decode(text + i, n - i, &code);
        if (code < 0) {
            to += utf8_encode(0xFFFD, to);
            continue;
        }
        memcpy(to, text + i, length);
        to += length;
    }
    return (size_t)(to - out);
}
