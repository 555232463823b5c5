#include "engine/text/jinja/syntax/lexer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/unicode.h"

enum { BRACKETS = 128 };

struct lexer {
    struct arena *a;
    const uint8_t *classes;
    const char *at, *end;
    int line;
    bool line_starting; /* what was read last ended with a line break */
    struct token *tokens;
    size_t n, room;
    char brackets[BRACKETS]; /* the closing ones that are waited for */
    int depth;
};

#define fail(l, ...) ((l)->a->trap->line = (l)->line, trap_fail((l)->a->trap, TDM_E_FORMAT, __VA_ARGS__))

static struct token *push(struct lexer *l, enum token_kind kind, const char *bytes, size_t n)
{
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 256;
        l->tokens = arena_grow(l->a, l->tokens, l->n * sizeof *l->tokens, room * sizeof *l->tokens);
        l->room = room;
    }
    l->tokens[l->n] = (struct token){.kind = kind, .line = l->line, .text = {bytes, n}};
    return &l->tokens[l->n++];
}

/* Goes to `to`, counting lines. */
static void advance(struct lexer *l, const char *to)
{
    if (to > l->at) l->line_starting = to[-1] == '\n';
    for (; l->at < to; l->at++) l->line += *l->at == '\n';
}

static bool starts(const struct lexer *l, const char *at, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(l->end - at) >= n && !memcmp(at, text, n);
}

/* Past the white space at `at`, as Python's \s has it. */
static const char *skip_space(const struct lexer *l, const char *at)
{
    size_t n;
    while (at < l->end && unicode_class(l->classes, at, (size_t)(l->end - at), &n) & UNICODE_STRIP) at += n;
    return at;
}

/* Past the end of a tag, `close` without its sign: its sign, and the white space or the line break behind it. NULL: it
 * does not stand here. */
static const char *past_close(const struct lexer *l, const char *at, const char *close, bool trims)
{
    char sign = at < l->end ? *at : 0;
    if ((sign == '-' || (sign == '+' && trims)) && starts(l, at + 1, close))
        return sign == '-' ? skip_space(l, at + 1 + strlen(close)) : at + 1 + strlen(close);
    if (!starts(l, at, close)) return NULL;
    at += strlen(close);
    return trims && at < l->end && *at == '\n' ? at + 1 : at;
}

/* The text from l->at to `to`, where a tag begins with this sign (0: none) or the template ends. */
static void push_data(struct lexer *l, const char *to, char sign, bool variable)
{
    size_t begin = 0, n = (size_t)(to - l->at);
    if (sign == '-') {
        unicode_strip(l->at, &begin, &n);
        if (begin >= n) n = 0;
    } else if (sign != '+' && !variable && to < l->end) {
        const char *line = memrchr(l->at, '\n', n);
        line = line ? line + 1 : l->at;
        if ((line > l->at || l->line_starting) && skip_space(l, line) >= to) n = (size_t)(line - l->at);
    }
    if (n) push(l, TOKEN_DATA, l->at, n);
}

/* ---- Inside of tags ------------------------------------------------------------------------------------------ */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
}

/* The digits of this base from `at` on, underscores between them. */
static const char *skip_digits(const struct lexer *l, const char *at, int base)
{
    while (at < l->end && (digit_of(*at) < base || (*at == '_' && at + 1 < l->end && digit_of(at[1]) < base))) at++;
    return at;
}

static void read_number(struct lexer *l)
{
    const char *begin = l->at, *at = skip_digits(l, begin, 10);
    int base = 10;
    bool real = false, attribute = l->n && l->tokens[l->n - 1].kind == TOKEN_OPERATOR && begin[-1] == '.';
    if (*begin == '0' && begin + 1 < l->end && begin[1] && strchr("bBoOxX", begin[1])) {
        base = (begin[1] | 32) == 'x' ? 16 : (begin[1] | 32) == 'o' ? 8 : 2;
        begin += 2;
        at = skip_digits(l, begin, base);
    } else if (!attribute) {
        if (at + 1 < l->end && *at == '.' && digit_of(at[1]) < 10) {
            real = true;
            at = skip_digits(l, at + 1, 10);
        }
        const char *e = at < l->end && (*at | 32) == 'e' ? at + 1 : NULL;
        if (e && e < l->end && (*e == '+' || *e == '-')) e++;
        if (e && e < l->end && digit_of(*e) < 10) {
            real = true;
            at = skip_digits(l, e, 10);
        }
    }
    char *digits = arena_take(l->a, (size_t)(at - begin) + 1), *to = digits;
    for (const char *c = begin; c < at; c++)
        if (*c != '_') *to++ = *c;
    *to = 0;
    struct token *token = push(l, real ? TOKEN_FLOAT : TOKEN_INTEGER, begin, (size_t)(at - begin));
    errno = 0;
    if (real)
        token->real = strtod(digits, NULL);
    else
        token->integer = strtoll(digits, NULL, base);
    if (!*digits || (!real && errno)) fail(l, "expected a number of 64 bits, found '%s'", digits);
    advance(l, at);
}

/* What Python's unicode-escape makes of a backslash and what follows, from `at` on behind the backslash. */
static const char *read_escape(struct lexer *l, const char *at, const char *end, char **to)
{
    static const char from[] = "abfnrtv\\'\"", meaning[] = "\a\b\f\n\r\t\v\\'\"";
    char c = *at++;
    const char *simple = c ? strchr(from, c) : NULL;
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (simple) {
        *(*to)++ = meaning[simple - from];
        return at;
    }
    if (c == '\n') return at;
    if (digit_of(c) < 8) {
        at--;
        for (int i = 0; i < 3 && at < end && digit_of(*at) < 8; i++) code = code * 8 + (uint32_t)digit_of(*at++);
    } else if (digits) {
        for (int i = 0; i < digits; i++) {
            if (at == end || digit_of(*at) > 15) fail(l, "expected %d hexadecimal digits behind \\%c", digits, c);
            code = code << 4 | (uint32_t)digit_of(*at++);
        }
        /* Python keeps halves of surrogate pairs, which can't be written as UTF-8 then. */
        if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) fail(l, "there is no character \\%c%x", c, code);
    } else {
        *(*to)++ = '\\';
        *(*to)++ = c;
        return at;
    }
    *to += utf8_encode(code, *to);
    return at;
}

static void read_string(struct lexer *l)
{
    char quote = *l->at;
    const char *begin = l->at + 1, *at = begin;
    while (at < l->end && *at != quote) at += *at == '\\' && at + 1 < l->end ? 2 : 1;
    if (at >= l->end) fail(l, "expected the end of a string");
    char *text = arena_take(l->a, (size_t)(at - begin) + 1), *to = text;
    for (const char *c = begin; c < at;) {
        if (*c == '\\')
            c = read_escape(l, c + 1, at, &to);
        else
            *to++ = *c++;
    }
    push(l, TOKEN_STRING, text, (size_t)(to - text));
    advance(l, at + 1);
}

static void read_operator(struct lexer *l)
{
    static const char *const operators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                            "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    static const char open[] = "([{", close[] = ")]}";
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!starts(l, l->at, operators[i])) continue;
        char c = *l->at;
        if (strchr(open, c)) {
            if (l->depth == BRACKETS) fail(l, "more than %d brackets in each other", BRACKETS);
            l->brackets[l->depth++] = close[strchr(open, c) - open];
        } else if (strchr(close, c) && (!l->depth || l->brackets[--l->depth] != c)) {
            fail(l, "unexpected '%c'", c);
        }
        push(l, TOKEN_OPERATOR, l->at, strlen(operators[i]));
        advance(l, l->at + strlen(operators[i]));
        return;
    }
    fail(l, "unexpected character '%c'", *l->at);
}

/* From behind a tag's opening to behind its end. */
static void read_tag(struct lexer *l, bool variable)
{
    const char *close = variable ? "}}" : "%}";
    for (;;) {
        const char *past = l->depth ? NULL : past_close(l, l->at, close, !variable);
        if (past) {
            push(l, variable ? TOKEN_VARIABLE_END : TOKEN_BLOCK_END, l->at, 0);
            advance(l, past);
            return;
        }
        const char *word = skip_space(l, l->at);
        if (word > l->at) {
            advance(l, word);
            continue;
        }
        if (l->at == l->end) fail(l, "expected '%s', found the template's end", close);
        size_t n;
        if (digit_of(*l->at) < 10) {
            read_number(l);
            continue;
        }
        while (word < l->end && unicode_class(l->classes, word, (size_t)(l->end - word), &n) & UNICODE_WORD) word += n;
        if (word > l->at) {
            push(l, TOKEN_NAME, l->at, (size_t)(word - l->at));
            advance(l, word);
        } else if (*l->at == '"' || *l->at == '\'') {
            read_string(l);
        } else {
            read_operator(l);
        }
    }
}

/* ---- Between tags -------------------------------------------------------------------------------------------- */

static void read_comment(struct lexer *l)
{
    const char *at = l->at;
    for (; at < l->end; at++) {
        const char *past = past_close(l, at, "#}", true);
        if (!past) continue;
        advance(l, past);
        return;
    }
    fail(l, "expected '#}', found the template's end");
}

/* Behind `{%` and its sign: behind the tag of this one word, or NULL where it isn't. */
static const char *past_word(const struct lexer *l, const char *at, const char *word, bool trims)
{
    at = skip_space(l, at);
    if (!starts(l, at, word)) return NULL;
    at = skip_space(l, at + strlen(word));
    if (trims) return past_close(l, at, "%}", true);
    if (starts(l, at, "-%}")) return skip_space(l, at + 3);
    return starts(l, at, "%}") ? at + 2 : NULL;
}

static void read_raw(struct lexer *l)
{
    for (const char *at = l->at; (at = memmem(at, (size_t)(l->end - at), "{%", 2)); at += 2) {
        char sign = at + 2 < l->end && (at[2] == '-' || at[2] == '+') ? at[2] : 0;
        const char *past = past_word(l, at + 2 + (sign != 0), "endraw", true);
        if (!past) continue;
        push_data(l, at, sign, false);
        advance(l, past);
        return;
    }
    fail(l, "expected endraw, found the template's end");
}

struct token *lexer_tokens(struct arena *a, struct span source)
{
    struct lexer l = {.a = a, .classes = unicode_classes(), .line = 1, .line_starting = true};
    /* Line ends are \n, and the last one goes. */
    char *text = arena_take(a, source.length + 1);
    size_t n = 0;
    for (size_t i = 0; i < source.length; i++) {
        text[n++] = source.bytes[i] == '\r' ? '\n' : source.bytes[i];
        if (source.bytes[i] == '\r' && i + 1 < source.length && source.bytes[i + 1] == '\n') i++;
    }
    if (n && text[n - 1] == '\n') n--;
    text[n] = 0;
    l.at = text;
    l.end = text + n;
    while (l.at < l.end) {
        const char *tag = l.at;
        while ((tag = memchr(tag, '{', (size_t)(l.end - tag))) &&
               !(tag + 1 < l.end && (tag[1] == '%' || tag[1] == '{' || tag[1] == '#')))
            tag++;
        if (!tag) {
            push_data(&l, l.end, 0, false);
            break;
        }
        char kind = tag[1], sign = tag + 2 < l.end && (tag[2] == '-' || tag[2] == '+') ? tag[2] : 0;
        push_data(&l, tag, sign, kind == '{');
        const char *inside = tag + 2 + (sign != 0), *raw = kind == '%' ? past_word(&l, inside, "raw", false) : NULL;
        advance(&l, raw ? raw : inside);
        if (raw) {
            read_raw(&l);
        } else if (kind == '#') {
            read_comment(&l);
        } else {
            push(&l, kind == '%' ? TOKEN_BLOCK_BEGIN : TOKEN_VARIABLE_BEGIN, tag, 2);
            read_tag(&l, kind == '{');
        }
    }
    push(&l, TOKEN_END, l.end, 0);
    return l.tokens;
}
