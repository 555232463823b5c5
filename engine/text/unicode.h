/* The properties of code points that tokenizing needs.
 *
 * They come from utf8proc and are written once per process to a table of one byte per code point, which is read without
 * locks. Invalid UTF-8 is not an error here: each byte outside a well-formed sequence is one character of no class, so
 * that byte-level tokens can represent it. */
#ifndef TANDEM_TEXT_UNICODE_H
#define TANDEM_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/utf8.h"

enum {
    UNICODE_LETTER = 1,  /* \p{L} */
    UNICODE_MARK = 2,    /* \p{M} */
    UNICODE_NUMBER = 4,  /* \p{N} */
    UNICODE_SPACE = 8,   /* \s: the property White_Space */
    UNICODE_BREAK = 16,  /* carriage return, line feed */
    UNICODE_UNSAFE = 32, /* NFC may change it, reorder it or join it to the character before */
    UNICODE_WORD = 64,   /* \w, for added tokens that must stand alone */
    UNICODE_STRIP = 128, /* removed at the ends by Python's str.strip(): White_Space and U+001C to U+001F */
};

/* One byte of the flags above for each code point below 0x110000. */
const uint8_t *unicode_classes(void);

/* The flags of the character at the beginning of text[0..n), n > 0, and its length. */
static inline uint8_t unicode_class(const uint8_t *classes, const char *text, size_t n, size_t *length)
{
    unsigned char byte = (unsigned char)text[0];
    if (byte < 0x80) {
        *length = 1;
        return classes[byte];
    }
    int32_t code;
    *length = utf8_decode(text, n, &code);
    return code < 0 ? 0 : classes[code];
}

/* Sets of properties for expressions that name them: a bit for each general category, and one for White_Space. */
#define UNICODE_WHITE_SPACE (1u << 30)
/* The properties of a code point, or of an invalid byte (-1), which has none. */
uint32_t unicode_properties(int32_t code);
/* The categories of a name such as L or Lu; 0: it is not known. */
uint32_t unicode_category(const char *name, size_t n);

/* Narrows [*begin, *end) of text as Python's str.strip() does. */
void unicode_strip(const char *text, size_t *begin, size_t *end);

#endif
