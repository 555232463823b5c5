/* UTF-8 (The Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing past U+10FFFF). Texts are
 * untrusted: a byte that belongs to no well-formed sequence counts as one character without a code. */
#ifndef TANDEM_BASE_UTF8_H
#define TANDEM_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is this a continuation byte? */
static inline bool utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Decodes the character at text[0..n), n > 0. Returns its length in bytes; *code is -1 for an invalid byte. */
size_t utf8_decode(const char *text, size_t n, int32_t *code);

/* The start of the character that ends at text + n, n > 0, as an offset. */
size_t utf8_before(const char *text, size_t n);

/* The length, 0 to 3, of an incomplete but so far well-formed sequence at the end of text. */
size_t utf8_incomplete(const char *text, size_t n);

/* The text as valid UTF-8: every byte that belongs to no sequence becomes U+FFFD; `out` has room for 3 n bytes. Returns
 * the length. */
size_t utf8_mend(const char *text, size_t n, char *out);

/* Writes a code point below 0x110000 and returns its length. */
size_t utf8_encode(uint32_t code, char out[4]);

#endif
