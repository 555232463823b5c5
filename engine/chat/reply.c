#include "engine/chat/reply.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/size.h"

void reply_init(struct reply *r, const struct tokenizer *t, bool thinking, const char *const *stops)
{
    *r = (struct reply){.tokenizer = t, .thinking = thinking, .stops = stops};
    r->think_end = tokenizer_find(t, "</think>");
    detokenizer_init(&r->detokenizer, t, true);
}

void reply_free(struct reply *r)
{
    detokenizer_free(&r->detokenizer);
    buffer_free(&r->held);
    *r = (struct reply){0};
}

/* Does a stop string begin at text[0..n)? `whole`: all of one is there; else the text may be the beginning of one. */
static bool stop_begins(const char *const *stops, const char *text, size_t n, bool *whole)
{
    bool begins = false;
    *whole = false;
    for (; *stops && !*whole; stops++) {
        size_t length = strlen(*stops);
        if (length == 0 || memcmp(text, *stops, n < length ? n : length)) continue;
        begins = true;
        *whole = length <= n;
    }
    return begins;
}

/* Bytes of the held text that come before any stop string or possible beginning of one; stopped: one was met. */
static size_t free_to_go(const struct reply *r, bool *stopped)
{
    for (size_t at = 0; at < r->held.n; at++)
        if (stop_begins(r->stops, r->held.bytes + at, r->held.n - at, stopped)) return at;
    *stopped = false;
    return r->held.n;
}

/* Drops what the last call gave out; until then its piece points into the held text. */
static void drop_given(struct reply *r)
{
    if (r->given) memmove(r->held.bytes, r->held.bytes + r->given, r->held.n - r->given);
    r->held.n -= r->given;
    r->given = 0;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct span without_leading_space(struct reply *r, struct span text)
{
    while (r->skip_space && text.length && is_space(*text.bytes)) text.bytes++, text.length--;
    if (text.length) r->skip_space = false;
    return text;
}

tdm_status reply_push(struct reply *r, tdm_id id, struct reply_piece *out, tdm_error *err)
{
    *out = (struct reply_piece){0};
    drop_given(r);
    if (r->thinking && id == r->think_end) {
        out->thinking = detokenizer_finish(&r->detokenizer);
        r->thinking = false;
        r->skip_space = true;
        return TDM_OK;
    }
    struct span text;
    tdm_status status = detokenizer_push(&r->detokenizer, id, &text, err);
    if (status) return status;
    if (r->thinking) {
        out->thinking = text;
        return TDM_OK;
    }
    text = without_leading_space(r, text);
    if (!r->stops) {
        out->answer = text;
        return TDM_OK;
    }
    status = buffer_append(&r->held, text.bytes, text.length, err);
    if (status) return status;
    r->given = free_to_go(r, &out->stopped);
    out->answer = (struct span){r->held.bytes, r->given};
    if (out->stopped) r->held.n = r->given;
    return TDM_OK;
}

tdm_status reply_finish(struct reply *r, struct reply_piece *out, tdm_error *err)
{
    *out = (struct reply_piece){0};
    drop_given(r);
    struct span text = detokenizer_finish(&r->detokenizer);
    if (r->thinking) {
        out->thinking = text;
        return TDM_OK;
    }
    tdm_status status = buffer_append(&r->held, text.bytes, text.length, err);
    if (status) return status;
    r->given = r->held.n;
    out->answer = (struct span){r->held.bytes, r->given};
    return TDM_OK;
}
