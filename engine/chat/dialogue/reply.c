#include "engine/chat/dialogue/reply.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/size.h"

/* A mark by its ids: only the model writes its first one. */
static bool has_ids(const struct reply *r, const tdm_ids *mark)
{
    return mark->n && tokenizer_is_added(r->tokenizer, mark->ids[0]);
}

static const char *opens_of(const struct reply *r)
{
    return r->facts->opens ? r->facts->opens : "<think>";
}

static const char *closes_of(const struct reply *r)
{
    return r->facts->closes ? r->facts->closes : "</think>";
}

/* NULL: marks alone tell thinking and answer apart. */
static const struct template_channels *channels_of(const struct reply *r)
{
    return r->facts->channels.answer ? &r->facts->channels : NULL;
}

void reply_init(struct reply *r, const struct tokenizer *t, const struct template_facts *facts,
                enum reply_beginning beginning, const char *const *stops)
{
    *r = (struct reply){.tokenizer = t, .facts = facts, .stops = stops};
    r->thinking = beginning == REPLY_THINKS;
    r->opens = beginning == REPLY_MAY_THINK;
    r->by_text = !has_ids(r, &facts->open_ids) || !has_ids(r, &facts->close_ids);
    r->header = facts->channels.answer && r->opens;
    r->thought_before = r->thinking;
    detokenizer_init(&r->detokenizer, t, true);
}

void reply_free(struct reply *r)
{
    detokenizer_free(&r->detokenizer);
    buffer_free(&r->held);
    buffer_free(&r->thought);
    buffer_free(&r->name);
    buffer_free(&r->marked);
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
static size_t free_to_go(struct span held, const char *const *stops, bool *stopped)
{
    for (size_t at = 0; at < held.length; at++)
        if (stop_begins(stops, held.bytes + at, held.length - at, stopped)) return at;
    *stopped = false;
    return held.length;
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
    if (!r->stops && !channels_of(r)) {
        out->answer = text;
        return TDM_OK;
    }
    tdm_status status = buffer_append(&r->held, text.bytes, text.length, err);
    if (status) return status;
    r->given = r->stops ? free_to_go((struct span){r->held.bytes, r->held.n}, r->stops, &out->stopped) : r->held.n;
    out->answer = (struct span){r->held.bytes, r->given};
    if (out->stopped) r->held.n = r->given;
    return TDM_OK;
}

/* What has come since the reply began is in `thought`: whether it begins with the mark; *known: that is certain. */
static bool begins_to_think(struct reply *r, bool *known)
{
    const char *opening = opens_of(r);
    size_t at = 0, length = strlen(opening);
    while (at < r->thought.n && is_space(r->thought.bytes[at])) at++;
    size_t there = r->thought.n - at < length ? r->thought.n - at : length;
    bool alike = !there || !memcmp(r->thought.bytes + at, opening, there);
    *known = !alike || there == length;
    if (!alike || !*known) return false;
    at += length;
    memmove(r->thought.bytes, r->thought.bytes + at, r->thought.n -= at);
    return true;
}

/* Passes on the thinking up to where the mark of its end may begin, and the text behind that mark as the answer's. */
static tdm_status push_thought(struct reply *r, struct reply_piece *out, tdm_error *err)
{
    const char *const ends[] = {closes_of(r), NULL};
    bool ended = false;
    struct span all = without_leading_space(r, (struct span){r->thought.bytes, r->thought.n});
    size_t skipped = r->thought.n - all.length;
    if (skipped) memmove(r->thought.bytes, r->thought.bytes + skipped, r->thought.n = all.length);
    r->thought_given = free_to_go((struct span){r->thought.bytes, r->thought.n}, ends, &ended);
    out->thinking = (struct span){r->thought.bytes, r->thought_given};
    if (!ended) return TDM_OK;
    size_t answer = r->thought_given + strlen(ends[0]);
    r->thinking = false;
    r->skip_space = true;
    tdm_status status =
        push_answer(r, (struct span){r->thought.bytes + answer, r->thought.n - answer}, out, err);
    r->thought_given = r->thought.n; /* all of it has gone one way or the other */
    return status;
}

/* Text among which marks may be, while it thinks or may begin to. */
static tdm_status push_marked(struct reply *r, struct span text, struct reply_piece *out, tdm_error *err)
{
    tdm_status status = buffer_append(&r->thought, text.bytes, text.length, err);
    if (status) return status;
    if (!r->thinking) {
        bool known;
        r->thinking = r->skip_space = begins_to_think(r, &known);
        r->opens = !known;
        if (r->opens) return TDM_OK;
    }
    if (r->thinking) return push_thought(r, out, err);
    r->thought_given = r->thought.n;
    return push_answer(r, (struct span){r->thought.bytes, r->thought.n}, out, err);
}

/* ---- Messages of channels ---------------------------------------------------------------------------------------- */

enum { HEADER_MAX = 64 }; /* bytes; what is longer is no header */

/* Text of the message that goes on. */
static tdm_status push_message(struct reply *r, struct span text, struct reply_piece *out, tdm_error *err)
{
    if (!r->thinking) return push_answer(r, text, out, err);
    text = without_leading_space(r, text);
    tdm_status status = buffer_append(&r->thought, text.bytes, text.length, err);
    r->thought_given = r->thought.n;
    out->thinking = (struct span){r->thought.bytes, r->thought.n};
    return status;
}

/* Text between marks. */
static tdm_status push_between(struct reply *r, struct span text, struct reply_piece *out, tdm_error *err)
{
    if (r->header && r->opens && text.length) r->header = r->opens = false; /* it writes no channels */
    if (!r->header) return push_message(r, text, out, err);
    tdm_status status = buffer_append(&r->name, text.bytes, text.length, err);
    if (status || r->name.n <= HEADER_MAX) return status;
    r->header = false;
    return push_message(r, (struct span){r->name.bytes, r->name.n}, out, err);
}

/* The header has ended. A message without a channel is for the user. */
static tdm_status begin_message(struct reply *r, struct reply_piece *out, tdm_error *err)
{
    const char *answer = r->facts->channels.answer;
    size_t at = 0, n = strlen(answer);
    while (at < r->name.n && is_space(r->name.bytes[at])) at++;
    bool same = r->name.n - at >= n && !memcmp(r->name.bytes + at, answer, n);
    bool answers = !r->named || (same && (r->name.n - at == n || is_space(r->name.bytes[at + n])));
    r->header = r->skip_space = false;
    r->thinking = !answers;
    tdm_status status = TDM_OK;
    if (r->thinking && r->thought_before) status = push_message(r, (struct span){"\n\n", 2}, out, err);
    r->thought_before |= r->thinking;
    r->skip_space = true;
    return status;
}

static tdm_status push_mark(struct reply *r, enum template_mark mark, struct reply_piece *out, tdm_error *err)
{
    r->opens = false;
    if (mark == MARK_TEXT) return r->header ? begin_message(r, out, err) : TDM_OK;
    struct span rest = detokenizer_finish(&r->detokenizer);
    tdm_status status = r->header ? TDM_OK : push_message(r, rest, out, err);
    out->ended = mark == MARK_END && !r->header && !r->thinking;
    r->header = true;
    r->named = mark == MARK_NAME;
    buffer_clear(&r->name);
    return status;
}

static tdm_status push_channel_id(struct reply *r, tdm_id id, struct reply_piece *out, tdm_error *err)
{
    struct span text;
    for (int i = 0; i < TEMPLATE_MARKS; i++)
        if (channels_of(r)->id[i] == id) return push_mark(r, (enum template_mark)i, out, err);
    tdm_status status = detokenizer_push(&r->detokenizer, id, &text, err);
    return status ? status : push_between(r, text, out, err);
}

/* Text in which the marks are spelled. */
static tdm_status push_channel_text(struct reply *r, struct span text, struct reply_piece *out, tdm_error *err)
{
    char *const *marks = channels_of(r)->mark;
    tdm_status status = buffer_append(&r->marked, text.bytes, text.length, err);
    size_t at = 0;
    for (bool whole = true; whole && !status && !out->ended && !out->stopped;) {
        struct span rest = {r->marked.bytes + at, r->marked.n - at};
        size_t n = free_to_go(rest, (const char *const *)marks, &whole);
        status = push_between(r, (struct span){rest.bytes, n}, out, err);
        at += n;
        for (int i = 0; i < TEMPLATE_MARKS && whole && !status && !out->stopped; i++) {
            size_t length = strlen(marks[i]);
            if (r->marked.n - at < length || memcmp(r->marked.bytes + at, marks[i], length)) continue;
            status = push_mark(r, (enum template_mark)i, out, err);
            at += length;
            break;
        }
    }
    if (out->ended || out->stopped) at = r->marked.n; /* nothing of it is shown */
    drop(&r->marked, &at);
    return status;
}

/* What has been held back, for it was no mark. */
static tdm_status finish_channels(struct reply *r, struct reply_piece *out, tdm_error *err)
{
    struct span rest = detokenizer_finish(&r->detokenizer);
    tdm_status status = push_between(r, (struct span){r->marked.bytes, r->marked.n}, out, err);
    if (!status && !r->header) status = push_message(r, rest, out, err);
    buffer_clear(&r->marked);
    r->given = r->held.n;
    out->answer = (struct span){r->held.bytes, r->given};
    return status;
}

/* ---- What comes -------------------------------------------------------------------------------------------------- */

/* Appends the text of one id, where it isn't a mark's. */
static tdm_status push_id(struct reply *r, tdm_id id, struct reply_piece *out, tdm_error *err)
{
    struct span text;
    tdm_status status = detokenizer_push(&r->detokenizer, id, &text, err);
    if (status) return status;
    if (r->by_text && (r->thinking || r->opens)) return push_marked(r, text, out, err);
    return push_message(r, text, out, err);
}

/* The text that looked like a mark is not one. */
static tdm_status push_matched(struct reply *r, const tdm_ids *mark, struct reply_piece *out, tdm_error *err)
{
    size_t n = r->matched;
    tdm_status status = TDM_OK;
    r->matched = 0;
    for (size_t i = 0; i < n && !status; i++) status = push_id(r, mark->ids[i], out, err);
    return status;
}

tdm_status reply_push(struct reply *r, tdm_id id, struct reply_piece *out, tdm_error *err)
{
    *out = (struct reply_piece){0};
    drop_given(r);
    if (channels_of(r)) return push_channel_id(r, id, out, err);
    if (r->by_text || (!r->thinking && !r->opens)) return push_id(r, id, out, err);
    const tdm_ids *mark = r->thinking ? &r->facts->close_ids : &r->facts->open_ids;
    tdm_status status = mark->ids[r->matched] == id ? TDM_OK : push_matched(r, mark, out, err);
    if (status) return status;
    if (mark->ids[r->matched] != id) {
        r->opens = false;
        return push_id(r, id, out, err);
    }
    if (++r->matched < mark->n) return TDM_OK;
    r->matched = 0;
    r->opens = false;
    if (r->thinking) {
        struct span rest = detokenizer_finish(&r->detokenizer);
        status = buffer_append(&r->thought, rest.bytes, rest.length, err);
        r->thought_given = r->thought.n;
        out->thinking = (struct span){r->thought.bytes, r->thought.n};
    }
    r->thinking = !r->thinking;
    r->skip_space = true;
    return status;
}

tdm_status reply_push_text(struct reply *r, struct span text, bool thought, struct reply_piece *out, tdm_error *err)
{
    *out = (struct reply_piece){0};
    drop_given(r);
    if (thought) {
        out->thinking = text;
        r->thinking = r->opens = r->header = false; /* the answer comes as such */
        r->skip_space = true;
        return TDM_OK;
    }
    if (channels_of(r)) return push_channel_text(r, text, out, err);
    return r->thinking || r->opens ? push_marked(r, text, out, err) : push_answer(r, text, out, err);
}

tdm_status reply_finish(struct reply *r, struct reply_piece *out, tdm_error *err)
{
    *out = (struct reply_piece){0};
    drop_given(r);
    if (channels_of(r)) return finish_channels(r, out, err);
    struct span text = detokenizer_finish(&r->detokenizer);
    if (r->thinking) {
        out->thinking = r->thought.n ? (struct span){r->thought.bytes, r->thought.n} : text;
        r->thought_given = r->thought.n;
        return TDM_OK;
    }
    tdm_status status = r->opens ? buffer_append(&r->held, r->thought.bytes, r->thought.n, err) : TDM_OK;
    if (!status) status = buffer_append(&r->held, text.bytes, text.length, err);
    if (status) return status;
    buffer_clear(&r->thought);
    r->given = r->held.n;
    out->answer = (struct span){r->held.bytes, r->given};
    return TDM_OK;
}
