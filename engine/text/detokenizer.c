#include "engine/text/detokenizer.h"

#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

static const char replacement[] = "\xEF\xBF\xBD";

void detokenizer_init(struct detokenizer *d, const struct tokenizer *t, bool skip_special)
{
    *d = (struct detokenizer){.tokenizer = t, .skip_special = skip_special};
}

void detokenizer_free(struct detokenizer *d)
{
    free(d->buffer);
    *d = (struct detokenizer){0};
}

/* The length of the longest beginning of a well-formed character at text, at least 1: what one U+FFFD replaces. */
static size_t broken_length(const char *text, size_t n)
{
    size_t length = 1;
    for (size_t try = 2; try <= 3 && try <= n; try++)
        if (utf8_incomplete(text, try) == try) length = try;
    return length;
}

/* Room for the held bytes and n more, each of which may become a replacement. */
static tdm_status reserve(struct detokenizer *d, size_t n, tdm_error *err)
{
    size_t need = (n + sizeof d->held) * 4;
    if (need <= d->room) return TDM_OK;
    char *larger = realloc(d->buffer, need);
    if (!larger) return error_set(err, TDM_E_NOMEM, "no memory to decode a token");
    d->buffer = larger;
    d->room = need;
    return TDM_OK;
}

/* The input, held bytes first, is laid out at the end of the buffer and rewritten to its front; the front cannot
 * overtake it, since a byte never grows to more than three. */
tdm_status detokenizer_push(struct detokenizer *d, tdm_id id, struct span *text, tdm_error *err)
{
    *text = (struct span){"", 0};
    if (d->skip_special && tokenizer_is_special(d->tokenizer, id)) return TDM_OK;
    struct span bytes = tokenizer_bytes(d->tokenizer, id);
    tdm_status status = reserve(d, bytes.length, err);
    if (status) return status;
    if (!d->begun && bytes.length) {
        bool blank = tokenizer_begins_blank(d->tokenizer) && bytes.bytes[0] == ' ';
        bytes = (struct span){bytes.bytes + blank, bytes.length - blank};
        d->begun = true;
    }
    size_t n = d->held_count + bytes.length;
    char *from = d->buffer + d->room - n, *to = d->buffer;
    memcpy(from, d->held, d->held_count);
    memcpy(from + d->held_count, bytes.bytes, bytes.length);
    size_t keep = utf8_incomplete(from, n);
    const char *end = from + n - keep;
    while (from < end) {
        int32_t code;
        size_t length = utf8_decode(from, (size_t)(end - from), &code);
        if (code >= 0) {
            memmove(to, from, length);
            to += length;
        } else {
            length = broken_length(from, (size_t)(end - from));
            memcpy(to, replacement, 3);
            to += 3;
        }
        from += length;
    }
    memcpy(d->held, end, keep);
    d->held_count = keep;
    *text = (struct span){d->buffer, (size_t)(to - d->buffer)};
    return TDM_OK;
}

struct span detokenizer_finish(struct detokenizer *d)
{
    bool held = d->held_count > 0;
    d->held_count = 0;
    return held ? (struct span){replacement, 3} : (struct span){"", 0};
}
