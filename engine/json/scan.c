#include "engine/json/scan.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"

#define DEPTH_MAX 64

void jsonscan_open(struct jsonscan *j, const char *name, const char *bytes, size_t n, tdm_error *err)
{
    *j = (struct jsonscan){.name = name, .begin = bytes, .at = bytes, .end = bytes + n, .wrong = "",
                           .err = err};
    if (n >= 3 && !memcmp(bytes, "\xEF\xBB\xBF", 3)) j->at += 3; /* the mark of the order of bytes */
}

void jsonscan_close(struct jsonscan *j)
{
    free(j->decoded);
    j->decoded = NULL;
}

void jsonscan_fail(struct jsonscan *j, const char *expected)
{
    if (j->status) return;
    size_t offset = (size_t)(j->at - j->begin);
    if (j->at == j->end)
        j->status = error_set(j->err, TDM_E_FORMAT, "%s: byte %zu: %sexpected %s, found the end", j->name, offset,
                              j->wrong, expected);
    else
        j->status = error_set(j->err, TDM_E_FORMAT, "%s: byte %zu: %sexpected %s, found '%c'", j->name, offset,
                              j->wrong, expected, *j->at >= 0x20 && *j->at < 0x7F ? *j->at : '?');
    j->at = j->end;
}

void jsonscan_no_memory(struct jsonscan *j)
{
    if (j->status) return;
    j->status = error_set(j->err, TDM_E_NOMEM, "%s: out of memory", j->name);
    j->at = j->end;
}

static void skip_space(struct jsonscan *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t')) j->at++;
}

char jsonscan_peek(struct jsonscan *j)
{
    skip_space(j);
    return j->at < j->end ? *j->at : 0;
}

static bool expect(struct jsonscan *j, char c, const char *what)
{
    if (jsonscan_peek(j) != c || j->at == j->end) {
        jsonscan_fail(j, what);
        return false;
    }
    j->at++;
    return true;
}

static void enter(struct jsonscan *j, char bracket, const char *what)
{
    if (!expect(j, bracket, what)) return;
    if (j->depth == DEPTH_MAX - 1) {
        jsonscan_fail(j, "less nesting");
        return;
    }
    j->started &= ~(1ull << ++j->depth);
}

/* Steps over the comma before another entry; false at the closing bracket. */
static bool another(struct jsonscan *j, char bracket, const char *what)
{
    if (j->status) return false;
    if (jsonscan_peek(j) == bracket) {
        j->at++;
        j->depth--;
        return false;
    }
    uint64_t bit = 1ull << j->depth;
    if (j->started & bit && !expect(j, ',', what)) return false;
    j->started |= bit;
    return true;
}

void jsonscan_object(struct jsonscan *j)
{
    enter(j, '{', "an object");
}

bool jsonscan_member(struct jsonscan *j, struct span *key)
{
    if (!another(j, '}', "',' or '}'")) return false;
    *key = jsonscan_string(j);
    return !j->status && expect(j, ':', "':'");
}

void jsonscan_array(struct jsonscan *j)
{
    enter(j, '[', "an array");
}

bool jsonscan_element(struct jsonscan *j)
{
    return another(j, ']', "',' or ']'");
}

static bool four_digits(struct jsonscan *j, uint32_t *code)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = j->at < j->end ? *j->at : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            jsonscan_fail(j, "four hexadecimal digits");
            return false;
        }
        value = value << 4 | (uint32_t)digit;
        j->at++;
    }
    *code = value;
    return true;
}

/* One escape after its backslash. A surrogate without its other half becomes U+FFFD, or stays one. */
static char *escape(struct jsonscan *j, char *to)
{
    static const char from[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    char c = j->at < j->end ? *j->at : 0;
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        j->at++;
        *to++ = meaning[simple - from];
        return to;
    }
    if (c != 'u') {
        jsonscan_fail(j, "an escape");
        return to;
    }
    j->at++;
    uint32_t code, low;
    if (!four_digits(j, &code)) return to;
    if (code >= 0xD800 && code < 0xDC00 && j->end - j->at >= 2 && j->at[0] == '\\' && j->at[1] == 'u') {
        const char *again = j->at;
        j->at += 2;
        if (!four_digits(j, &low)) return to;
        if (low >= 0xDC00 && low < 0xE000)
            code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
        else
            j->at = again;
    }
    if (code >= 0xD800 && code < 0xE000 && !j->halves) code = 0xFFFD;
    return to + utf8_encode((uint32_t)code, to);
}

static bool allowed(const struct jsonscan *j)
{
    return j->raw_controls || (unsigned char)*j->at >= 0x20;
}

struct span jsonscan_string(struct jsonscan *j)
{
    struct span empty = {"", 0};
    if (j->status || !expect(j, '"', "a string")) return empty;
    const char *begin = j->at;
    while (j->at < j->end && *j->at != '"' && *j->at != '\\' && allowed(j)) j->at++;
    if (j->at < j->end && *j->at == '"') return (struct span){begin, (size_t)(j->at++ - begin)};

    if (!j->decoded && !(j->decoded = malloc((size_t)(j->end - j->begin)))) {
        jsonscan_no_memory(j);
        return empty;
    }
    char *start = j->decoded + j->decoded_used, *to = start;
    memcpy(to, begin, (size_t)(j->at - begin));
    to += j->at - begin;
    while (!j->status) {
        if (j->at == j->end || !allowed(j)) {
            jsonscan_fail(j, "the end of a string");
            return empty;
        }
        char c = *j->at++;
        if (c == '"') break;
        if (c == '\\')
            to = escape(j, to);
        else
            *to++ = c;
    }
    if (j->status) return empty;
    j->decoded_used += (size_t)(to - start);
    return (struct span){start, (size_t)(to - start)};
}

int64_t jsonscan_integer(struct jsonscan *j)
{
    bool negative = jsonscan_peek(j) == '-';
    if (negative) j->at++;
    const char *begin = j->at;
    int64_t value = 0;
    for (; j->at < j->end && *j->at >= '0' && *j->at <= '9' && j->at - begin < 18; j->at++)
        value = value * 10 + *j->at - '0';
    char next = j->at < j->end ? *j->at : 0;
    if (j->at == begin || (next >= '0' && next <= '9') || next == '.' || next == 'e' || next == 'E') {
        jsonscan_fail(j, "an integer");
        return 0;
    }
    return negative ? -value : value;
}

static bool word(struct jsonscan *j, const char *text)
{
    size_t n = strlen(text);
    jsonscan_peek(j);
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, text, n)) return false;
    j->at += n;
    return true;
}

bool jsonscan_boolean(struct jsonscan *j)
{
    if (word(j, "true")) return true;
    if (!word(j, "false")) jsonscan_fail(j, "true or false");
    return false;
}

bool jsonscan_null(struct jsonscan *j)
{
    return word(j, "null");
}

static void skip_number(struct jsonscan *j)
{
    const char *begin = j->at;
    while (j->at < j->end && *j->at && strchr("+-.0123456789eE", *j->at)) j->at++;
    if (j->at == begin) jsonscan_fail(j, "a value");
}

/* Steps over one value without recursion: containers are entered and left until the depth is as before. */
void jsonscan_skip(struct jsonscan *j)
{
    int depth = j->depth;
    uint64_t objects = 0; /* bit d: the container at depth d is an object */
    do {
        struct span key;
        if (j->depth > depth) {
            bool more = objects >> j->depth & 1 ? jsonscan_member(j, &key) : jsonscan_element(j);
            if (!more) continue;
        }
        char c = jsonscan_peek(j);
        if (c == '{') {
            jsonscan_object(j);
            objects |= 1ull << j->depth;
        } else if (c == '[') {
            jsonscan_array(j);
            objects &= ~(1ull << j->depth);
        } else if (c == '"') {
            jsonscan_string(j);
        } else if (!word(j, "true") && !word(j, "false") && !word(j, "null")) {
            skip_number(j);
        }
    } while (!j->status && j->depth > depth);
}

void jsonscan_finish(struct jsonscan *j)
{
    if (j->status) return;
    if (jsonscan_peek(j) || j->at != j->end) jsonscan_fail(j, "the end");
}
