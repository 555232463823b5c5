#include "ui/keys/paste_mark.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/utf8.h"

static const char *const forms[] = {"\033[200~", "\033[201~", "\x9b" "200~", "\x9b" "201~",
                                    "\xc2\x9b" "200~", "\xc2\x9b" "201~"};
enum { FORMS = sizeof forms / sizeof *forms, DIGITS_AND_TILDE = 4 };

/* Whether a character ends with the byte text[at]. */
static bool ends_character(const char *text, size_t at)
{
    int32_t code;
    for (size_t back = 1; back <= 3 && back <= at; back++)
        if (utf8_decode(text + at - back, back + 1, &code) == back + 1) return true;
    return false;
}

/* Where the mark begins whose last byte, a tilde, is text[tilde]; false: there is none. */
static bool mark_ending_at(const char *text, size_t tilde, size_t *at)
{
    for (int i = 0; i < FORMS; i++) {
        const size_t length = strlen(forms[i]);
        if (tilde + 1 < length || memcmp(text + tilde + 1 - length, forms[i], length)) continue;
        *at = tilde + 1 - length;
        if (length > 1 + DIGITS_AND_TILDE || !ends_character(text, *at)) return true;
    }
    return false;
}

enum paste_mark paste_mark_find(const char *text, size_t n, size_t from, size_t *at, size_t *length)
{
    for (const char *p = text + from; n > from && (p = memchr(p, '~', (size_t)(text + n - p))); p++) {
        const size_t tilde = (size_t)(p - text);
        if (!mark_ending_at(text, tilde, at)) continue;
        *length = tilde + 1 - *at;
        return p[-1] == '0' ? PASTE_MARK_BEGIN : PASTE_MARK_END;
    }
    return PASTE_MARK_NONE;
}

size_t paste_mark_partial(const char *text, size_t n)
{
    const size_t character = utf8_incomplete(text, n);
    for (size_t k = n < PASTE_MARK_MAX - 1 ? n : PASTE_MARK_MAX - 1; k > character; k--)
        for (int i = 0; i < FORMS; i++) {
            if (k >= strlen(forms[i]) || memcmp(text + n - k, forms[i], k)) continue;
            if (forms[i][0] != '\x9b' || !ends_character(text, n - k)) return k;
        }
    return character;
}
