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
    buffer_free(&r->thought);
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
static size_t free_to_go(const struct buffer *held, const char *const *stops, bool *stopped)
{
    for (size_t at = 0; at < held->n; at++)
        if (stop_begins(stops, held->bytes + at, held->n - at, stopped)) return at;
    *stopped = false;
    return held->n;
}

/* Drops what the last call gave out; until then its piece points into the held text. */
static void drop(struct buffer *held, size_t *given)
{
    if (*given) memmove(held->bytes, held->bytes + *given, held->n - *given);
    held->n -= *given;
    *given = 0;
}

static void drop_given(struct reply *r)
{
    drop(&r->held, &r->given);
    drop(&r->thought, &r->thought_given);
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

/* Of the answer: what no stop string can begin in any more. */
static tdm_status push_answer(struct reply *r, struct span text, struct reply_piece *out, tdm_error *err)
{
    text = without_leading_space(r, text);
    if (!r->stops) {
        out->answer = text;
        return TDM_OK;
    }
    tdm_status status = buffer_append(&r->held, text.bytes, text.length, err);
    if (status) return status;
    r->given = free_to_go(&r->held, r->stops, &out->stopped);
    out->answer = (struct span){r->held.bytes, r->given};
    if (out->stopped) r->held.n = r->given;
    return TDM_OK;
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
    return push_answer(r, text, out, err);
}

tdm_status reply_push_text(struct reply *r, struct span text, bool thought, struct reply_piece *out, tdm_error *err)
{
    static const char *const ends[] = {"</think>", NULL};
    *out = (struct reply_piece){0};
    drop_given(r);
    if (thought) {
        out->thinking = text;
        r->thinking = false; /* the answer comes as such */
        r->skip_space = true;
        return TDM_OK;
    }
    if (!r->thinking) return push_answer(r, text, out, err);
    bool ended = false;
    tdm_status status = buffer_append(&r->thought, text.bytes, text.length, err);
    if (status) return status;
    r->thought_given = free_to_go(&r->thought, ends, &ended);
    out->thinking = (struct span){r->thought.bytes, r->thought_given};
    if (!ended) return TDM_OK;
    size_t answer = r->thought_given + strlen(ends[0]);
    r->thinking = false;
    r->skip_space = true;
    status = push_answer(r, (struct span){r->thought.bytes + answer, r->thought.n - answer}, out, err);
    r->thought_given = r->thought.n; /* all of it has gone one way or the other */
    return status;
}

tdm_status reply_finish(struct reply *r, struct reply_piece *out, tdm_error *err)
{
    *out = (struct reply_piece){0};
    drop_given(r);
    struct span text = detokenizer_finish(&r->detokenizer);
    if (r->thinking) {
        out->thinking = r->thought.n ? (struct span){r->thought.bytes, r->thought.n} : text;
        r->thought_given = r->thought.n;
        return TDM_OK;
    }
    tdm_status status = buffer_append(&r->held, text.bytes, text.length, err);
    if (status) return status;
    r->given = r->held.n;
    out->answer = (struct span){r->held.bytes, r->given};
    return TDM_OK;
}
