#include "ui/formula/inert.h"

#include <stdlib.h>
#include <string.h>

#include "ui/formula/formula.h"

enum {
    CODE = 1,           /* in place of each byte of code, while formulas are looked for */
    LONGEST = 8 << 10,  /* of a formula */
    LONGEST_OPEN = 2000 /* of one whose end has not come */
};

static char *copy_of(const char *text, size_t len)
{
    char *copy = malloc(len + 1 + INERT_PAD);
    if (!copy) return NULL;
    for (size_t i = 0; i < len; i++) copy[i] = text[i] ? text[i] : 0x1A;
    copy[len] = '\n';
    memset(copy + len + 1, 0, INERT_PAD);
    return copy;
}

/* ---- Code ---- */

struct code {
    const struct inert *in;
    char *text;
    bool block;
};

static int code_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    (void)detail;
    if (type == MD_BLOCK_CODE) ((struct code *)arg)->block ^= true;
    return 0;
}

static int no_span(MD_SPANTYPE type, void *detail, void *arg)
{
    (void)type, (void)detail, (void)arg;
    return 0;
}

static int code_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE n, void *arg)
{
    struct code *c = arg;
    size_t place;
    if ((!c->block && type != MD_TEXT_CODE) || !inert_place(c->in, text, &place) || place >= c->in->len) return 0;
    memset(c->text + place, CODE, n < c->in->len - place ? n : c->in->len - place);
    return 0;
}

/* ---- Formulas ---- */

enum end { DOLLAR, DOLLARS, PARENTHESIS, BRACKET, ENDS };

struct search {
    const char *text; /* with CODE in place of code */
    size_t len;
    size_t clear_from[ENDS], clear_to[ENDS]; /* no end of this kind stands there, and no end of a paragraph */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char at(const struct search *s, size_t i)
{
    return i < s->len ? s->text[i] : '\n';
}

/* Does a blank line begin behind the newline at `i`? */
static bool ends_paragraph(const struct search *s, size_t i)
{
    size_t next = i + 1;
    while (next < s->len &&
           (s->text[next] == ' ' || s->text[next] == '\t' || s->text[next] == '\r' || s->text[next] == '>'))
        next++;
    return next < s->len ? s->text[next] == '\n' : false;
}

/* Where an end stands from `i` on; s->len: nowhere in this paragraph. *reaches_end: the text ends with the paragraph.
 */
static size_t find_end(struct search *s, size_t i, enum end kind, bool *reaches_end)
{
    static const char *const ends[] = {"$", "$$", "\\)", "\\]"};
    const char *end = ends[kind];
    size_t n = strlen(end), from = i;
    bool known = i >= s->clear_from[kind] && i < s->clear_to[kind];
    if (known) i = s->clear_to[kind];
    *reaches_end = i >= s->len;
    for (; i < s->len && i - from < LONGEST; i++) {
        if (s->len - i >= n && !memcmp(s->text + i, end, n)) return i;
        if (s->text[i] == CODE || (s->text[i] == '\n' && ends_paragraph(s, i))) break;
        if (s->text[i] == '\\' && (*end != '\\' || at(s, i + 1) == '\\')) i++;
        *reaches_end = i + 1 >= s->len;
    }
    if (!known) s->clear_from[kind] = from;
    s->clear_to[kind] = i;
    *reaches_end = *reaches_end && s->len - from < LONGEST_OPEN;
    return s->len;
}

/* Only marks of lists and quotes stand before it in its line. */
static bool begins_line(const struct search *s, size_t i, bool *quoted)
{
    size_t line = i;
    *quoted = false;
    while (line > 0 && s->text[line - 1] != '\n') line--;
    for (size_t k = line; k < i && strchr(" \t>", s->text[k]); k++) *quoted = *quoted || s->text[k] == '>';
    while (line < i && (strchr(" \t>-*+.)", s->text[line]) || is_digit(s->text[line]))) line++;
    return line == i;
}

/* "[1]" and "[2, 3]" with backslashes are marks of sources. */
static bool is_reference(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_digit(text[i]) && !strchr(" ,-", text[i])) return false;
    return true;
}

/* "5, then 100 " between two dollar signs is a price and words, not a formula. */
static bool is_price(const char *text, size_t n)
{
    if (!is_digit(text[0])) return false;
    for (size_t i = 1; i + 2 < n; i++)
        if (text[i] == ' ' && is_letter(text[i + 1]) && is_letter(text[i + 2])) return true;
    return false;
}

/* The formula that begins at `i`, if there is one. */
static bool find_formula(struct search *s, size_t i, struct inert_formula *f)
{
    char c = at(s, i), c2 = at(s, i + 1);
    bool first, reaches_end;
    *f = (struct inert_formula){.from = i, .mark = 2, .display = c2 == '$' || c2 == '['};
    first = begins_line(s, i, &f->quoted);
    if (c == '$' && c2 != '$') {
        f->mark = 1;
        if (is_blank(c2) || (i && (is_letter(s->text[i - 1]) || is_digit(s->text[i - 1])))) return false;
        size_t end = find_end(s, i + 1, DOLLAR, &reaches_end), n = end - i - 1;
        if (end == s->len || n == 0 || is_blank(s->text[end - 1])) return false;
        char last = s->text[end - 1], next = at(s, end + 1);
        if (is_digit(next) || next == '$' || is_price(s->text + i + 1, n)) return false;
        if (is_letter(next) && !is_letter(last) && !is_digit(last) && !strchr(")}", last)) return false;
        f->to = end + 1;
        return true;
    }
    enum end kind = c == '$' ? DOLLARS : c2 == '(' ? PARENTHESIS : BRACKET;
    size_t end = find_end(s, i + 2, kind, &reaches_end), n = end - i - 2;
    if (end == s->len) {
        f->to = s->len;
        f->open = true;
        return reaches_end && s->len > i + 2 && (c != '$' || first);
    }
    if (n == 0 || (c2 == '[' && !first && is_reference(s->text + i + 2, n))) return false;
    f->to = end + 2;
    return true;
}

static bool keep(struct inert *in, struct inert_formula f)
{
    if (in->n == in->room) {
        size_t room = in->room ? 2 * in->room : 8;
        struct inert_formula *larger = realloc(in->formula, room * sizeof *larger);
        if (!larger) return false;
        in->formula = larger;
        in->room = room;
    }
    in->formula[in->n++] = f;
    return true;
}

/* ---- Addresses and stars ---- */

/* Behind the address of a link, or one that stands in the text, which begins at `i`; `i`: there is none. */
static size_t behind_address(const struct search *s, size_t i)
{
    char c = s->text[i];
    size_t end = i;
    if (c == ']' && at(s, i + 1) == '(')
        while (end < s->len && s->text[end] != ')' && s->text[end] != '\n') end++;
    else if (c == ':' && at(s, i + 1) == '/' && at(s, i + 2) == '/')
        while (end < s->len && !is_blank(s->text[end]) && s->text[end] != '>') end++;
    return end;
}

static bool is_product_side(char c)
{
    return is_letter(c) || is_digit(c) || c == ')' || c == ']';
}

/* A star between two letters, digits or closing brackets is no emphasis, unless one before it in its line may begin
 * some. */
static bool is_product(const struct search *s, size_t i)
{
    enum { FAR = 200 };
    if (s->text[i] != '*' || i == 0 || i + 1 >= s->len) return false;
    char before = s->text[i - 1], behind = s->text[i + 1];
    if (!is_product_side(before)) return false;
    if (!(is_letter(behind) || is_digit(behind))) return false;
    for (size_t k = i - 1; k > 0 && i - k < FAR && s->text[k] != '\n'; k--)
        if (s->text[k - 1] == '*') return k > 1 && is_product_side(s->text[k - 2]);
    return true;
}

static bool mask(struct inert *in, struct search *s)
{
    struct inert_formula f;
    for (size_t i = 0; i < s->len;) {
        char c = s->text[i], c2 = at(s, i + 1);
        size_t address = behind_address(s, i);
        if (address > i) {
            i = address;
        } else if ((c == '$' || (c == '\\' && (c2 == '(' || c2 == '['))) && find_formula(s, i, &f)) {
            if (!keep(in, f)) return false;
            memset(in->masked + f.from, '$', f.to - f.from);
            i = f.to;
        } else if (c == '$' && c2 == '$') {
            i += 2;
        } else if (is_product(s, i)) {
            in->masked[i++] = ',';
        } else {
            i += c == '\\' ? 2 : 1;
        }
    }
    return true;
}

/* Whether there is anything to look for. */
static bool is_suspect(const char *text, size_t len)
{
    struct search s = {.text = text, .len = len};
    for (size_t i = 0; i < len; i++)
        if (text[i] == '$' || (text[i] == '\\' && i + 1 < len && strchr("([", text[i + 1])) || is_product(&s, i))
            return true;
    return false;
}

bool inert_open(struct inert *in, const char *text, size_t len)
{
    static const MD_PARSER parser = {.flags = INERT_DIALECT,
                                     .enter_block = code_block,
                                     .leave_block = code_block,
                                     .enter_span = no_span,
                                     .leave_span = no_span,
                                     .text = code_text};
    *in = (struct inert){.text = copy_of(text, len), .masked = copy_of(text, len), .len = len};
    bool good = in->text && in->masked;
    if (good && is_suspect(text, len)) {
        struct code c = {.in = in, .text = copy_of(text, len)};
        struct search s = {.text = c.text, .len = len};
        good = c.text && !inert_parse(in, &parser, &c) && mask(in, &s);
        free(c.text);
    }
    if (!good) inert_close(in);
    return good;
}

void inert_close(struct inert *in)
{
    free(in->text);
    free(in->masked);
    free(in->formula);
    *in = (struct inert){0};
}

int inert_parse(const struct inert *in, const MD_PARSER *parser, void *arg)
{
    return md_parse(in->masked, (MD_SIZE)in->len + 1, parser, arg);
}

bool inert_place(const struct inert *in, const char *handed, size_t *place)
{
    if (handed < in->masked || handed >= in->masked + in->len + 1 + INERT_PAD) return false;
    *place = (size_t)(handed - in->masked);
    return true;
}

const struct inert_formula *inert_next(const struct inert *in, size_t from, size_t to, size_t *begin)
{
    size_t low = 0, high = in->n;
    while (low < high) { /* the first one that ends behind `from` */
        size_t middle = (low + high) / 2;
        if (in->formula[middle].to <= from)
            low = middle + 1;
        else
            high = middle;
    }
    bool met = low < in->n && in->formula[low].from < to;
    *begin = !met ? to : in->formula[low].from > from ? in->formula[low].from : from;
    return met ? &in->formula[low] : NULL;
}

bool inert_write(const struct inert *in, const struct inert_formula *f, struct buffer *out)
{
    if (f->open) return false;
    const char *tex = in->text + f->from + f->mark;
    size_t n = f->to - f->from - 2 * f->mark;
    if (!f->quoted) return formula_write(tex, n, f->display, out);
    struct buffer bare = {0};
    bool good = true;
    for (size_t i = 0; good && i < n; i++) {
        good = !buffer_append(&bare, tex + i, 1, NULL);
        while (tex[i] == '\n' && i + 1 < n && strchr(" >", tex[i + 1])) i++;
    }
    good = good && formula_write(bare.bytes, bare.n, f->display, out);
    buffer_free(&bare);
    return good;
}
