#include "src/server/refusal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/base/harmless.h"
#include "engine/base/utf8.h"
#include "engine/json/json.h"

enum {
    DEEPEST = 4, /* objects and lists around the words */
    MAX_OF_LIST = 3,
};

struct words {
    char *text; /* REFUSAL_ROOM bytes */
    size_t n;
    bool blank; /* white space waits for what follows it */
    bool full;
};

static void put(struct words *w, const char *text, size_t n)
{
    size_t more = w->blank && w->n ? 1 : 0;
    w->full |= w->n + more + n >= REFUSAL_ROOM;
    if (w->full) return;
    if (more) w->text[w->n++] = ' ';
    memcpy(w->text + w->n, text, n);
    w->n += n;
    w->blank = false;
}

/* ---- Text and pages ---------------------------------------------------------------------------------------------- */

/* Whole characters, runs of white space as one blank. */
static void put_text(struct words *w, struct span text)
{
    for (size_t at = 0, n; at < text.length; at += n) {
        int32_t code;
        n = utf8_decode(text.bytes + at, text.length - at, &code);
        if (code == ' ' || (code >= '\t' && code <= '\r'))
            w->blank = true;
        else
            put(w, code <= 0 ? "?" : text.bytes + at, n); /* one byte of each character that can't stand in a line */
    }
}

static bool begins(const char *at, const char *end, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(end - at) >= n && !strncasecmp(at, text, n);
}

/* The first place of the text at or behind `at`; NULL: there is none. */
static const char *find(const char *at, const char *end, const char *text)
{
    while (at < end && !begins(at, end, text)) at++;
    return at < end ? at : NULL;
}

/* Adds the text between tags, without scripts, styles and comments. */
static void put_page(struct words *w, const char *at, const char *end)
{
    static const struct {
        const char *from, *to;
    } hidden[] = {{"<!--", "-->"}, {"<script", "</script"}, {"<style", "</style"}, {"<head", "</head"}};
    while (at < end) {
        const char *tag = memchr(at, '<', (size_t)(end - at)), *to = NULL;
        put_text(w, (struct span){at, (size_t)((tag ? tag : end) - at)});
        w->blank = true;
        if (!tag) return;
        for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
            if (begins(tag, end, hidden[i].from)) to = find(tag, end, hidden[i].to);
        to = memchr(to ? to : tag, '>', (size_t)(end - (to ? to : tag)));
        if (!to) return;
        at = to + 1;
    }
}

/* Does a text look like a page? */
static bool is_page(struct span text)
{
    size_t at = 0;
    while (at < text.length && strchr(" \t\r\n", text.bytes[at])) at++;
    return at + 1 < text.length && text.bytes[at] == '<' &&
           (isalpha((unsigned char)text.bytes[at + 1]) || text.bytes[at + 1] == '!' || text.bytes[at + 1] == '?');
}

/* A page's title says what it is about, as a rule; its text, where it has none. */
static void put_any(struct words *w, struct span text)
{
    const char *end = text.bytes + text.length;
    if (!is_page(text)) {
        put_text(w, text);
        return;
    }
    const char *title = find(text.bytes, end, "<title");
    const char *from = title ? memchr(title, '>', (size_t)(end - title)) : NULL;
    const char *to = from ? find(from, end, "</title") : NULL;
    if (to) put_text(w, (struct span){from + 1, (size_t)(to - from - 1)});
    if (!w->n) put_page(w, text.bytes, end);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static bool put_value(struct words *w, json_object *o, int depth);

static bool put_member(struct words *w, json_object *o, const char *key, int depth)
{
    return put_value(w, json_get(o, key), depth + 1);
}

/* FastAPI: the field that is refused. */
static void put_place(struct words *w, json_object *o)
{
    json_object *loc = json_member(o, "loc", JSON_ARRAY);
    struct span last = json_span_of(json_at(loc, json_length(loc) - 1));
    if (!last.bytes || !strcmp(last.bytes, "body")) return;
    put_text(w, last);
    if (w->n) put(w, ":", 1);
    w->blank = true;
}

static bool put_object(struct words *w, json_object *o, int depth)
{
    static const char *const keys[] = {"message",       "error",     "detail",      "details", "msg",
                                       "error_message", "error_msg", "description", "reason",  "title",
                                       "errors",        "type",      "code",        "status"};
    size_t before = w->n;
    put_place(w, o);
    size_t placed = w->n;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (put_member(w, o, keys[i], depth)) return true;
    if (w->n == placed) w->n = before;
    return false;
}

static bool put_list(struct words *w, json_object *o, int depth)
{
    size_t n = json_length(o), said = 0;
    for (size_t i = 0; i < n && said < MAX_OF_LIST; i++) {
        size_t before = w->n;
        if (said) put(w, ";", 1);
        w->blank = said > 0;
        if (put_value(w, json_at(o, i), depth + 1))
            said++;
        else
            w->n = before;
    }
    return said > 0;
}

static bool put_value(struct words *w, json_object *o, int depth)
{
    size_t before = w->n;
    char number[32];
    if (depth > DEEPEST) return false;
    switch (json_kind_of(o)) {
    case JSON_STRING:
        put_any(w, json_span_of(o));
        return w->n > before;
    case JSON_OBJECT:
        return put_object(w, o, depth);
    case JSON_ARRAY:
        return put_list(w, o, depth);
    case JSON_INT:
        put(w, number, (size_t)snprintf(number, sizeof number, "%lld", (long long)json_int_of(o)));
        return w->n > before;
    default:
        return false;
    }
}

/* Does the member report an error? Some servers send null, false or "" with every answer, too. */
static bool is_told(json_object *o, const char *key)
{
    json_object *member = json_get(o, key);
    switch (json_kind_of(member)) {
    case JSON_NULL:
        return false;
    case JSON_STRING:
        return json_span_of(member).length > 0;
    case JSON_ARRAY:
        return json_length(member) > 0;
    case JSON_OBJECT:
        return true;
    default:
        return json_truth_of(member);
    }
}

static bool says(json_object *o, const char *key, const char *word)
{
    const char *text = json_text(o, key, NULL);
    return text && !strcasecmp(text, word);
}

/* Where there is neither a reply nor a word `error`, these are words of an error. */
static bool is_instead(json_object *o)
{
    static const char *const keys[] = {"detail", "errors", "error_message", "error_msg", "msg"};
    if (json_has(o, "choices") || json_has(o, "content")) return false;
    if (says(o, "object", "error") || says(o, "type", "error") || says(o, "status", "error")) return true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_told(o, keys[i])) return true;
    return json_text(o, "message", NULL) && is_told(o, "message");
}

bool refusal_of(json_object *o, char out[REFUSAL_ROOM])
{
    struct words w = {.text = out};
    if (json_length(o)) return refusal_of(json_at(o, 0), out);
    if (!json_is(o, JSON_OBJECT)) return false;
    bool error = is_told(o, "error");
    if (!error && !is_instead(o)) return false;
    bool said = error ? put_member(&w, o, "error", 0) || put_object(&w, o, 0) : put_object(&w, o, 0);
    if (said)
        out[w.n] = 0;
    else
        snprintf(out, REFUSAL_ROOM, "an error without a message");
    harmless_line(out);
    return true;
}

bool refusal_read(struct span body, char out[REFUSAL_ROOM])
{
    struct words w = {.text = out};
    json_object *o = NULL;
    bool is_json = !json_parse(&o, "", body.bytes, body.length, JSON_MENDED, NULL);
    bool said = refusal_of(o, out);
    if (!said && is_json) put_value(&w, o, 0);
    if (!said && !is_json && !span_is(body, "null")) put_any(&w, body);
    if (w.n) {
        out[w.n] = 0;
        harmless_line(out);
    }
    json_free(o);
    return said || w.n;
}

bool refusal_is_page(struct span body, char out[REFUSAL_ROOM])
{
    if (!is_page(body)) return false;
    if (!refusal_read(body, out)) snprintf(out, REFUSAL_ROOM, "without words");
    return true;
}

enum { SOONEST_S = 1 }; /* a server that says 'at once' each time would be asked without end */

/* The word in any case. */
static bool has_word(struct span text, const char *word)
{
    size_t n = strlen(word);
    for (size_t at = 0; at + n <= text.length; at++)
        if (!strncasecmp(text.bytes + at, word, n)) return true;
    return false;
}

bool refusal_is_loading(const refusal_answer *a)
{
    return a->status == 503 && (a->loads || a->retry_after_s >= 0 || has_word(a->body, "loading"));
}

int refusal_wait_s(const refusal_answer *a, int tries, int waited_s)
{
    if (a->status == 429)
        return tries < REFUSAL_TRIES && a->retry_after_s >= 0 && a->retry_after_s <= REFUSAL_BUSY_S ? a->retry_after_s
                                                                                                    : -1;
    if (!refusal_is_loading(a)) return -1;
    int wait = a->retry_after_s < 0 ? REFUSAL_LOADING_S : a->retry_after_s < SOONEST_S ? SOONEST_S : a->retry_after_s;
    return wait <= REFUSAL_MAX_S && waited_s <= REFUSAL_MAX_S - wait ? wait : -1;
}
