#include "engine/text/unicode.h"

#include <pthread.h>
#include <string.h>
#include <utf8proc.h>

#include "engine/base/utf8.h"

/* No character of the planes from 4 to 13 is assigned, and those of the last two are private: they have no class. To
 * ask for each would take two thirds of the time. (tests/engine/text/test_unicode.c says when that changes.) */
enum { CODES = 0x110000, UNASSIGNED = 0x40000, SPECIAL = 0xE0000, PRIVATE = 0xF0000 };

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

/* Whether a character may be another one, or several, in NFC: the library's own table says so of all but the syllables
 * of Hangul, which it computes. All others decompose to themselves. To ask for that a million times takes longer than
 * all else that a short command does. */
static bool decomposes(int32_t c, const utf8proc_property_t *property)
{
    return c >= 0xC0 && (property->decomp_seqindex != UINT16_MAX || (c >= 0xAC00 && c < 0xD7A4));
}

/* A character is unsafe when it is no starter, when NFC replaces it, or when it is the second half of a
 * composition. The last is read off the decompositions: whatever ends one may join what stands before it, which
 * also covers the vowels and final consonants of Hangul. A few characters too many are marked that way; it costs
 * time for them, never a wrong result. */
static void add_decomposition(int32_t c)
{
    utf8proc_int32_t parts[8];
    int boundary = 0;
    utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    utf8proc_ssize_t n = utf8proc_decompose_char(c, parts, 8, options, &boundary);
    if (n <= 0 || n > 8 || (n == 1 && parts[0] == c)) return;
    if (n > 1) classes_of[parts[n - 1]] |= UNICODE_UNSAFE;
    n = utf8proc_normalize_utf32(parts, n, options);
    if (n != 1 || parts[0] != c) classes_of[c] |= UNICODE_UNSAFE;
}

/* Neighbours mostly share their properties. What has none of the flags, as most codes do, is not written. */
static void fill_classes(void)
{
    const utf8proc_property_t *before = NULL;
    uint8_t flags = 0;
    for (int32_t c = 0; c < PRIVATE; c = c + 1 == UNASSIGNED ? SPECIAL : c + 1) {
        const utf8proc_property_t *property = utf8proc_get_property(c);
        if (property != before) {
            flags = category_flags((utf8proc_category_t)property->category);
            if (property->combining_class) flags |= UNICODE_UNSAFE;
            before = property;
        }
        if (flags) classes_of[c] |= flags;
        if (decomposes(c, property)) add_decomposition(c);
    }
    for (int32_t c = 0; c <= 0x3000; c++)
        if (is_white_space(c)) classes_of[c] |= UNICODE_SPACE | UNICODE_STRIP;
    for (int32_t c = 0x1C; c <= 0x1F; c++) classes_of[c] |= UNICODE_STRIP;
    classes_of['\n'] |= UNICODE_BREAK;
    classes_of['\r'] |= UNICODE_BREAK;
}

const uint8_t *unicode_classes(void)
{
    pthread_once(&classes_once, fill_classes);
    return classes_of;
}

uint32_t unicode_properties(int32_t code)
{
    if (code < 0) return 0;
    return 1u << utf8proc_category(code) | (is_white_space(code) ? UNICODE_WHITE_SPACE : 0);
}

uint32_t unicode_category(const char *name, size_t n)
{
    static const char names[][3] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                    "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                                    "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
    uint32_t categories = 0;
    for (size_t i = 0; (n == 1 || n == 2) && i < sizeof names / sizeof *names; i++)
        if (!memcmp(names[i], name, n)) categories |= 1u << i;
    return categories;
}

void unicode_strip(const char *text, size_t *begin, size_t *end)
{
    const uint8_t *classes = unicode_classes();
    size_t length;
    while (*begin < *end && unicode_class(classes, text + *begin, *end - *begin, &length) & UNICODE_STRIP)
        *begin += length;
    while (*begin < *end) {
        size_t last = *begin + utf8_before(text + *begin, *end - *begin);
        if (!(unicode_class(classes, text + last, *end - last, &length) & UNICODE_STRIP)) break;
        *end = last;
    }
}
