#include "engine/text/unicode.h"

#include <pthread.h>
#include <utf8proc.h>

#define CODES 0x110000

static uint8_t classes_of[CODES];
static pthread_once_t classes_once = PTHREAD_ONCE_INIT;

static bool is_white_space(int32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static uint8_t category_flags(utf8proc_category_t category)
{
    switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return UNICODE_LETTER | UNICODE_WORD;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return UNICODE_MARK | UNICODE_WORD;
    case UTF8PROC_CATEGORY_ND:
        return UNICODE_NUMBER | UNICODE_WORD;
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return UNICODE_NUMBER;
    case UTF8PROC_CATEGORY_PC:
        return UNICODE_WORD;
    default:
        return 0;
    }
}

/* A character is unsafe when it is no starter, when NFC replaces it, or when it is the second half of a
 * composition. The last is read off the decompositions: whatever ends one may join what stands before it, which
 * also covers the vowels and final consonants of Hangul. A few characters too many are marked that way; it costs
 * time for them, never a wrong result. */
static void fill_classes(void)
{
    for (int32_t c = 0; c < CODES; c++) {
        const utf8proc_property_t *property = utf8proc_get_property(c);
        uint8_t flags = category_flags((utf8proc_category_t)property->category);
        if (is_white_space(c)) flags |= UNICODE_SPACE | UNICODE_STRIP;
        if (c >= 0x1C && c <= 0x1F) flags |= UNICODE_STRIP;
        if (c == '\n' || c == '\r') flags |= UNICODE_BREAK;
        if (property->combining_class) flags |= UNICODE_UNSAFE;
        classes_of[c] |= flags;
        if (c < 0xC0 || (c >= 0xD800 && c < 0xE000)) continue;

        utf8proc_int32_t parts[8];
        int boundary = 0;
        utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
        utf8proc_ssize_t n = utf8proc_decompose_char(c, parts, 8, options, &boundary);
        if (n <= 0 || n > 8 || (n == 1 && parts[0] == c)) continue;
        if (n > 1) classes_of[parts[n - 1]] |= UNICODE_UNSAFE;
        n = utf8proc_normalize_utf32(parts, n, options);
        if (n != 1 || parts[0] != c) classes_of[c] |= UNICODE_UNSAFE;
    }
}

const uint8_t *unicode_classes(void)
{
    pthread_once(&classes_once, fill_classes);
    return classes_of;
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

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

size_t unicode_decode(const char *text, size_t n, int32_t *code)
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
        if (!is_continuation(s[i])) return 1;
        c = c << 6 | (s[i] & 0x3F);
    }
    *code = c;
    return (size_t)length;
}

size_t unicode_before(const char *text, size_t n)
{
    for (size_t back = 1; back <= 4 && back <= n; back++) {
        unsigned char byte = (unsigned char)text[n - back];
        if (is_continuation(byte)) continue;
        int32_t code;
        if (unicode_decode(text + n - back, back, &code) == back) return n - back;
        break;
    }
    return n - 1;
}

size_t unicode_incomplete(const char *text, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const unsigned char *s = (const unsigned char *)text + n - back;
        if (is_continuation(s[0])) continue;
        unsigned char low, high;
        int length = sequence_length(s[0], &low, &high);
        if ((size_t)length <= back) return 0;
        if (back >= 2 && (s[1] < low || s[1] > high)) return 0;
        return back;
    }
    return 0;
}

void unicode_strip(const char *text, size_t *begin, size_t *end)
{
    const uint8_t *classes = unicode_classes();
    size_t length;
    while (*begin < *end && unicode_class(classes, text + *begin, *end - *begin, &length) & UNICODE_STRIP)
        *begin += length;
    while (*begin < *end) {
        size_t last = *begin + unicode_before(text + *begin, *end - *begin);
        if (!(unicode_class(classes, text + last, *end - last, &length) & UNICODE_STRIP)) break;
        *end = last;
    }
}
