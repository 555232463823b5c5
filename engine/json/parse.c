/* A whole JSON text as json-c's objects. scan.h reads the text: json-c's own parser crashes or loses a part of the text
 * when it gets no memory. Each allocation that json-c makes here is checked. */
#include "engine/json/json.h"

#include <errno.h>
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/utf8.h"
#include "engine/json/scan.h"

struct parser {
    struct jsonscan scan;
    json_strings strings;
    struct buffer word; /* a number, a key or a mended string, terminated */
};

static bool value(struct parser *t, json_object **out);

/* What json-c made, or the error that it could not. */
static bool made(struct parser *t, const void *what)
{
    if (!what) jsonscan_no_memory(&t->scan);
    return what != NULL;
}

static bool keep_word(struct parser *t, const char *bytes, size_t n)
{
    buffer_clear(&t->word);
    bool kept = !buffer_reserve(&t->word, n, NULL);
    if (kept && n) memcpy(t->word.bytes, bytes, n);
    if (kept) t->word.bytes[t->word.n = n] = 0;
    return made(t, kept ? t : NULL);
}

static bool is_utf8(struct span s)
{
    int32_t code = 0;
    for (size_t at = 0; at < s.length && code >= 0;) at += utf8_decode(s.bytes + at, s.length - at, &code);
    return code >= 0;
}

static bool mend(struct parser *t, struct span *s)
{
    buffer_clear(&t->word);
    if (!made(t, buffer_reserve(&t->word, 3 * s->length, NULL) ? NULL : t)) return false;
    *s = (struct span){t->word.bytes, utf8_mend(s->bytes, s->length, t->word.bytes)};
    return true;
}

static bool text(struct parser *t, struct span *out)
{
    const char *from = t->scan.at;
    *out = jsonscan_string(&t->scan);
    bool strict = t->strings == JSON_UTF8 || t->strings == JSON_MENDED;
    if (!t->scan.status && strict && !is_utf8(*out)) {
        if (t->strings == JSON_MENDED) return mend(t, out);
        t->scan.at = from;
        jsonscan_fail(&t->scan, "a string of UTF-8");
    }
    return !t->scan.status;
}

static bool string(struct parser *t, json_object **out)
{
    struct span s;
    if (!text(t, &s)) return false;
    if (s.length > INT32_MAX) {
        jsonscan_fail(&t->scan, "a string below 2 GB");
        return false;
    }
    return made(t, *out = json_object_new_string_len(s.bytes, (int)s.length));
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static const char *digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

/* The end of a number that begins here, by the grammar of JSON; `from`: it is none. */
static const char *number_end(const char *from, const char *end, bool *real)
{
    const char *at = from + (from < end && *from == '-'), *first = at;
    *real = false;
    at = digits(at, end);
    if (at == first || (*first == '0' && at - first > 1)) return from;
    if (at < end && *at == '.') {
        const char *fraction = at + 1;
        *real = true;
        if ((at = digits(fraction, end)) == fraction) return from;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        *real = true;
        if (++at < end && (*at == '+' || *at == '-')) at++;
        const char *exponent = at;
        if ((at = digits(exponent, end)) == exponent) return from;
    }
    return at;
}

/* The length of a number that JSON doesn't know. */
static size_t not_finite(const char *at, size_t n)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) <= n && !memcmp(at, words[i], strlen(words[i]))) return strlen(words[i]);
    return 0;
}

static json_object *integer(const char *word)
{
    errno = 0;
    int64_t value = strtoll(word, NULL, 10);
    if (errno == ERANGE && word[0] != '-') return json_object_new_uint64(strtoull(word, NULL, 10));
    return json_object_new_int64(value);
}

static bool number(struct parser *t, json_object **out)
{
    struct jsonscan *j = &t->scan;
    bool real = false;
    size_t n = not_finite(j->at, (size_t)(j->end - j->at));
    const char *end = n ? j->at + n : number_end(j->at, j->end, &real);
    if (end == j->at) {
        jsonscan_fail(j, "a value");
        return false;
    }
    if (!keep_word(t, j->at, (size_t)(end - j->at))) return false;
    j->at = end;
    const char *word = t->word.bytes;
    return made(t, *out = n || real ? json_object_new_double_s(strtod(word, NULL), word) : integer(word));
}

/* ---- Containers -------------------------------------------------------------------------------------------------- */

static bool object(struct parser *t, json_object **out)
{
    struct jsonscan *j = &t->scan;
    struct span key;
    if (!made(t, *out = json_object_new_object())) return false;
    jsonscan_object(j);
    while (jsonscan_member(j, &key)) {
        char *name = strndup(key.bytes, key.length); /* the word is overwritten by what is inside */
        json_object *member = NULL;
        bool good = made(t, name) && value(t, &member);
        if (good && json_object_object_add(*out, name, member)) good = made(t, NULL);
        free(name);
        if (good) continue;
        json_object_put(member);
        break;
    }
    return !j->status;
}

static bool array(struct parser *t, json_object **out)
{
    struct jsonscan *j = &t->scan;
    if (!made(t, *out = json_object_new_array())) return false;
    jsonscan_array(j);
    while (jsonscan_element(j)) {
        json_object *element = NULL;
        if (value(t, &element) && json_object_array_add(*out, element)) made(t, NULL);
        if (!j->status) continue;
        json_object_put(element);
        break;
    }
    return !j->status;
}

/* On failure too *out is the caller's to free. */
static bool value(struct parser *t, json_object **out)
{
    struct jsonscan *j = &t->scan;
    char c = jsonscan_peek(j);
    *out = NULL;
    if ((c == '{' || c == '[') && j->depth == JSON_DEEPEST) jsonscan_fail(j, "less nesting");
    if (j->status) return false;
    switch (c) {
    case '{':
        return object(t, out);
    case '[':
        return array(t, out);
    case '"':
        return string(t, out);
    case 't':
    case 'f':
        *out = json_object_new_boolean(jsonscan_boolean(j));
        return made(t, *out) && !j->status;
    case 'n':
        if (!jsonscan_null(j)) jsonscan_fail(j, "a value");
        return !j->status;
    default:
        return number(t, out);
    }
}

tdm_status json_parse(json_object **out, const char *name, const char *bytes, size_t n, json_strings strings,
                      tdm_error *err)
{
    struct parser t = {.strings = strings};
    *out = NULL;
    jsonscan_open(&t.scan, name, bytes, n, err);
    t.scan.wrong = "not valid JSON: ";
    t.scan.raw_controls = true;
    t.scan.halves = strings == JSON_PIECES;
    if (value(&t, out) && !*out) jsonscan_fail(&t.scan, "a value that is not null");
    jsonscan_finish(&t.scan);
    tdm_status status = t.scan.status;
    jsonscan_close(&t.scan);
    buffer_free(&t.word);
    if (!status) return TDM_OK;
    json_object_put(*out);
    *out = NULL;
    return status;
}
