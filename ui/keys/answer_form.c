#include "ui/keys/answer_form.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A cursor over the text: each step takes what it can and tells whether more of its kind could still come. */
struct reading {
    const char *text;
    size_t n, at;
};

static bool is_over(const struct reading *r)
{
    return r->at == r->n;
}

/* Takes the words; false: something else stands there. What is left of the text may be a part of them. */
static bool take(struct reading *r, const char *words)
{
    for (; *words && !is_over(r); words++, r->at++)
        if (r->text[r->at] != *words) return false;
    return true;
}

static size_t take_while(struct reading *r, int (*belongs)(int c), size_t most)
{
    size_t from = r->at;
    while (!is_over(r) && r->at - from < most && belongs((unsigned char)r->text[r->at])) r->at++;
    return r->at - from;
}

static int is_parameter(int c)
{
    return isdigit(c) || c == ';';
}

static enum answer_form of_report(struct reading *r)
{
    enum { LIMIT = 60 };
    if (is_over(r)) return ANSWER_FORM_LOOSE;
    char mark = r->text[r->at];
    if (mark != '?' && mark != '>') return ANSWER_FORM_NONE;
    r->at++;
    take_while(r, is_parameter, LIMIT);
    if (is_over(r)) return ANSWER_FORM_PART;
    if (!take(r, r->text[r->at] == '$' ? "$y" : "c")) return ANSWER_FORM_NONE;
    return r->text[r->at - 1] == '$' ? ANSWER_FORM_PART : ANSWER_FORM_WHOLE;
}

/* BEL, or Esc and a backslash, or either of 8-bit mode's forms of that. */
static enum answer_form of_end(struct reading *r)
{
    static const char *const ends[] = {"\007", "\033\\", "\x9c", "\xc2\x9c"};
    if (is_over(r)) return ANSWER_FORM_PART;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct reading end = *r;
        if (!take(&end, ends[i])) continue;
        bool whole = end.at - r->at == strlen(ends[i]);
        *r = end;
        return whole ? ANSWER_FORM_WHOLE : ANSWER_FORM_PART;
    }
    return ANSWER_FORM_NONE;
}

/* "11;rgb:1e1e/1e1e/1e1e", "4;0;rgba:...". False: it has not become clear that it is one; form stays. */
static bool of_colour(struct reading *r, enum answer_form *form)
{
    enum { PARTS = 4, DIGITS = 4, LIMIT = 12 };
    if (!take_while(r, is_parameter, LIMIT) || !take(r, "rgb") || is_over(r)) return false;
    if (r->text[r->at] == 'a') r->at++;
    *form = ANSWER_FORM_NONE;
    if (!take(r, ":")) return true;
    for (int part = 0; part < PARTS; part++) {
        bool digits = take_while(r, isxdigit, DIGITS);
        if (!digits || is_over(r) || r->text[r->at] != '/') break;
        r->at++;
    }
    *form = of_end(r);
    return true;
}

/* Any other string: whole once its end is there. */
static enum answer_form of_string(struct reading *r)
{
    for (; !is_over(r); r->at++) {
        unsigned char c = (unsigned char)r->text[r->at];
        if (c >= 0x20 && c != 0x7f && c != 0x9c && c != 0xc2) continue;
        struct reading end = *r;
        enum answer_form form = of_end(&end);
        if (form == ANSWER_FORM_NONE && c == 0xc2) continue;
        if (form != ANSWER_FORM_NONE) *r = end;
        return form == ANSWER_FORM_PART ? ANSWER_FORM_LOOSE : form;
    }
    return ANSWER_FORM_LOOSE;
}

enum answer_form answer_form(const char *text, size_t n, size_t *length)
{
    struct reading r = {text, n, 1}, colour;
    enum answer_form form = ANSWER_FORM_NONE;
    *length = 1;
    if (n == 1) return ANSWER_FORM_LOOSE;
    const char introducer = text[r.at++];
    colour = r;
    if (introducer == '[') {
        form = of_report(&r);
    } else if (introducer == ']' && of_colour(&colour, &form)) {
        r = colour;
    } else if (introducer && strchr("]P_^X", introducer)) {
        form = of_string(&r);
    }
    *length = r.at;
    return form;
}
