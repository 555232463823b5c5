#include "engine/chat/reply.h"

#include <stdlib.h>
#include <string.h>

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
    free(r->held);
    *r = (struct reply){0};
}

static tdm_status hold(struct reply *r, struct span text, tdm_error *err)
{
    uint64_t need;
    if (!size_add(r->held_count, text.length, &need)) return error_set(err, TDM_E_NOMEM, "reply too long");
    if (need > r->held_room) {
        size_t room = need < 256 ? 256 : 2 * need;
        char *grown = realloc(r->held, room);
        if (!grown) return error_set(err, TDM_E_NOMEM, "no memory for a reply's text of %zu bytes", room);
        r->held = grown;
        r->held_room = room;
    }
    if (text.length) memcpy(r->held + r->held_count, text.bytes, text.length);
    r->held_count = need;
    return TDM_OK;
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
    for (size_t at = 0; at < r->held_count; at++)
        if (stop_begins(r->stops, r->held + at, r->held_count - at, stopped)) return at;
    *stopped = false;
    return r->held_count;
}

/* Drops what the last call gave out; until then its piece points into the held text. */
static void drop_given(struct reply *r)
{
    if (r->given) memmove(r->held, r->held + r->given, r->held_count - r->given);
    r->held_count -= r->given;
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
    status = hold(r, text, err);
    if (status) return status;
    r->given = free_to_go(r, &out->stopped);
    out->answer = (struct span){r->held, r->given};
    if (out->stopped) r->held_count = r->given;
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
    tdm_status status = hold(r, text, err);
    if (status) return status;
    r->given = r->held_count;
    out->answer = (struct span){r->held, r->given};
    return TDM_OK;
}
