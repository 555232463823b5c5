#include "src/server/joined.h"

#include <stdbool.h>
#include <string.h>

#include "engine/base/utf8.h"

enum { HALF = 3 }; /* bytes of half a pair: ED A0 80 to ED AF BF the first, ED B0 80 to ED BF BF the second */

/* How many bytes of such a half begin at the text, 0 to HALF. */
static size_t half_length(const char *text, size_t n, bool second)
{
    const unsigned char *s = (const unsigned char *)text;
    if (!n || s[0] != 0xED) return 0;
    if (n > 1 && (s[1] & 0xF0) != (second ? 0xB0 : 0xA0)) return 0;
    return n < HALF ? n : utf8_continues(text[2]) ? HALF : 0;
}

static uint32_t ten_bits(const char *half)
{
    return (uint32_t)(half[1] & 0x0F) << 6 | (uint32_t)(half[2] & 0x3F);
}

/* The character at the text: its length, 0 if more of it may follow, and what stands for it, *out_n bytes. */
static size_t character(const char *text, size_t n, bool last, char out[4], size_t *out_n)
{
    int32_t code;
    size_t length = utf8_decode(text, n, &code), first = half_length(text, n, false);
    size_t alone = half_length(text, n, true); /* a second half without its first */
    if (code >= 0) {
        memcpy(out, text, *out_n = length);
        return length;
    }
    if (first == HALF) {
        size_t second = half_length(text + HALF, n - HALF, true);
        if (second == HALF) {
            *out_n = utf8_encode(0x10000 + (ten_bits(text) << 10 | ten_bits(text + HALF)), out);
            return HALF + HALF;
        }
        if (!last && second == n - HALF) return 0;
        length = HALF;
    } else if (alone == HALF) {
        length = HALF;
    } else if (!last && (first || alone || utf8_incomplete(text, n) == n)) {
        return 0;
    }
    *out_n = utf8_encode(0xFFFD, out);
    return length;
}

static tdm_status add(joined *j, const char *text, size_t n, bool last, struct buffer *out, tdm_error *err)
{
    if (!(j->n + n)) return TDM_OK;
    /* Every byte that is no part of a character becomes three. */
    tdm_status status = buffer_reserve(out, 3 * (j->n + n), err);
    while (!status && j->n + n) {
        /* What is held goes on with as much of the text as the longest character takes. */
        char joint[sizeof j->held + 2 * HALF], whole[4];
        size_t held = j->n, more = n < 2 * HALF ? n : 2 * HALF, out_n;
        memcpy(joint, j->held, held);
        if (more) memcpy(joint + held, text, more);
        size_t used = character(joint, held + more, last, whole, &out_n);
        if (!used) { /* it is at its end, and short: else it would have been decided */
            memcpy(j->held, joint, j->n = held + more);
            return TDM_OK;
        }
        memcpy(out->bytes + out->n, whole, out_n);
        out->n += out_n;
        j->n = used < held ? held - used : 0;
        memmove(j->held, joint + used, j->n);
        if (used > held) text += used - held, n -= used - held;
    }
    if (!status) out->bytes[out->n] = 0;
    return status;
}

tdm_status joined_add(joined *j, const char *text, size_t n, struct buffer *out, tdm_error *err)
{
    return add(j, text, n, false, out, err);
}

tdm_status joined_end(joined *j, struct buffer *out, tdm_error *err)
{
    return add(j, "", 0, true, out, err);
}
