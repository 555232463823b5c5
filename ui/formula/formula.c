#include "ui/formula/formula.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "engine/base/utf8.h"
#include "ui/formula/names.h"

enum { LONGEST = 8 << 10, DEEPEST = 24 };

enum stop { AT_END, AT_BRACE, AT_CELL, AT_BRACKET }; /* where a list of atoms ends */

struct writer {
    const char *tex;
    size_t n, at;
    struct buffer *out;
    size_t floor;     /* of what is being written: nothing stands before it on its side */
    int depth, tight; /* within scripts, where no blanks are */
    enum { NO_BLANK, BLANK, SURE_BLANK } pending;
    enum { NOTHING, A_WORD, A_LARGE } applied; /* was written last, its scripts aside */
    bool display, failed;
};

static void atom(struct writer *w);

/* ---- Output ---- */

static void put(struct writer *w, const char *text, size_t n)
{
    w->failed = w->failed || buffer_append(w->out, text, n, NULL);
}

static void put_point(struct writer *w, uint32_t point)
{
    char text[4];
    put(w, text, utf8_encode(point, text));
}

static char last(const struct writer *w)
{
    return w->out->n > w->floor ? w->out->bytes[w->out->n - 1] : 0;
}

/* Where no blank is wanted: at a beginning, behind an opening bracket or another blank. */
static bool fresh(const struct writer *w)
{
    char c = last(w);
    return !c || strchr(" \n([{", c);
}

static void blank(struct writer *w)
{
    bool wanted = w->pending > (w->tight ? BLANK : NO_BLANK) && !fresh(w);
    w->pending = NO_BLANK;
    if (wanted) put(w, " ", 1);
}

static void insert(struct writer *w, size_t at, const char *text)
{
    size_t n = strlen(text), behind = w->out->n - at;
    put(w, text, n);
    if (w->failed) return;
    memmove(w->out->bytes + at + n, w->out->bytes + at, behind);
    memcpy(w->out->bytes + at, text, n);
}

static void enclose(struct writer *w, size_t from)
{
    insert(w, from, "(");
    put(w, ")", 1);
}

static size_t decode(const char *text, size_t n, int32_t *point)
{
    return utf8_decode(text, n, point);
}

static bool is_mark(int32_t point)
{
    return point >= 0x300 && utf8proc_category(point) == UTF8PROC_CATEGORY_MN;
}

static bool is_letter(int32_t point)
{
    utf8proc_category_t c = utf8proc_category(point);
    return c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LL || c == UTF8PROC_CATEGORY_LO;
}

/* What is written from there on is one thing, which needs no parentheses before another one (or, less strictly, none
 * behind one): a number, a letter with its scripts, f(x), dx. */
static bool is_one(const struct writer *w, size_t from, bool strictly)
{
    const char *text = w->out->bytes;
    int depth = 0, letters = 0, digits = 0;
    int32_t p, first = 0;
    for (size_t at = from; at < w->out->n; at += decode(text + at, w->out->n - at, &p)) {
        decode(text + at, w->out->n - at, &p);
        if (!first) first = p;
        if (p == '(' || p == '[')
            depth++;
        else if (p == ')' || p == ']')
            depth--;
        else if (depth > 0)
            continue;
        else if ((p >= '0' && p <= '9') || p == '.')
            digits++;
        else if (p >= 0 && is_letter(p))
            letters++;
        else if (p < 0x80 && p != '!')
            return false;
        else if (p < 0 ||
                 !(is_mark(p) || p == 0x221A || p == 0x2202 || p == 0x221E || p == 0x2032 ||
                   utf8proc_category(p) == UTF8PROC_CATEGORY_NO || utf8proc_category(p) == UTF8PROC_CATEGORY_LM))
            return false;
    }
    if (!strictly) return true;
    return letters + (digits > 0) <= 1 || (letters == 2 && !digits && first == 'd');
}

/* ---- Reading ---- */

static bool at_end(const struct writer *w)
{
    return w->at >= w->n;
}

static char here(const struct writer *w)
{
    return at_end(w) ? 0 : w->tex[w->at];
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool skip_blanks(struct writer *w)
{
    size_t from = w->at;
    while (!at_end(w) && is_blank(here(w))) w->at++;
    return w->at > from;
}

/* The name of the command that begins at byte `at`, which is a backslash's. */
static size_t name_length(const struct writer *w, size_t at)
{
    size_t n = 0;
    while (at + 1 + n < w->n && is_alpha(w->tex[at + 1 + n])) n++;
    if (n || at + 1 >= w->n) return n;
    int32_t point;
    return decode(w->tex + at + 1, w->n - at - 1, &point);
}

static void list(struct writer *w, enum stop stop)
{
    if (++w->depth > DEEPEST) w->failed = true;
    while (!w->failed && !at_end(w)) {
        char c = here(w);
        if (c == '}' && stop == AT_BRACE) break;
        if (c == ']' && stop == AT_BRACKET) break;
        if (stop == AT_CELL) {
            size_t n = c == '\\' ? name_length(w, w->at) : 0;
            if (c == '&' || (n == 1 && w->tex[w->at + 1] == '\\') || (n == 3 && !memcmp(w->tex + w->at + 1, "end", 3)))
                break;
        }
        if (is_blank(c) || c == '~') {
            w->at++;
            if (w->pending == NO_BLANK) w->pending = BLANK;
        } else {
            atom(w);
        }
    }
    w->pending = NO_BLANK;
    w->applied = NOTHING;
    w->depth--;
}

static void expect(struct writer *w, char c)
{
    if (here(w) == c)
        w->at++;
    else
        w->failed = true;
}

/* The argument of a command or a script: a group, or one atom. Returns where it begins in the output. */
static size_t argument(struct writer *w)
{
    size_t from = w->out->n, floor = w->floor;
    w->pending = NO_BLANK;
    w->applied = NOTHING;
    w->floor = from;
    skip_blanks(w);
    if (here(w) == '{') {
        w->at++;
        skip_blanks(w);
        list(w, AT_BRACE);
        expect(w, '}');
    } else if (at_end(w) || strchr("}&^_", here(w))) {
        w->failed = true;
    } else if (++w->depth > DEEPEST) {
        w->failed = true;
    } else {
        atom(w);
        w->depth--;
    }
    w->floor = floor;
    w->pending = NO_BLANK;
    w->applied = NOTHING;
    return from;
}

/* A group whose contents are no formula: its bounds in the source. */
static bool raw_group(struct writer *w, size_t *from, size_t *to)
{
    skip_blanks(w);
    if (here(w) != '{') return false;
    *from = ++w->at;
    for (int depth = 1; !at_end(w); w->at++) {
        char c = here(w);
        if (c == '\\' && w->at + 1 < w->n)
            w->at++;
        else if (c == '{')
            depth++;
        else if (c == '}' && --depth == 0) {
            *to = w->at++;
            return true;
        }
    }
    w->failed = true;
    return false;
}

/* Takes what is written from `from` on away; the caller frees it. */
static char *cut(struct writer *w, size_t from)
{
    char *text = w->failed ? NULL : strndup(w->out->bytes + from, w->out->n - from);
    w->failed = w->failed || !text;
    w->out->n = from < w->out->n ? from : w->out->n;
    return text;
}

/* ---- Scripts ---- */

/* Raises or lowers what is written from there on: all of it, or none. */
static void shift(struct writer *w, size_t from, bool up)
{
    char *text = cut(w, from);
    size_t n = text ? strlen(text) : 0, points = 0;
    bool able = n > 0;
    int32_t p;
    for (size_t at = 0; at < n; points += !is_mark(p)) {
        at += decode(text + at, n - at, &p);
        able = able && p >= 0 && (up ? formula_raised((uint32_t)p) : formula_lowered((uint32_t)p));
    }
    for (size_t at = 0; able && at < n;) {
        at += decode(text + at, n - at, &p);
        put_point(w, up ? formula_raised((uint32_t)p) : formula_lowered((uint32_t)p));
    }
    if (!able && n) {
        bool enclosed = points == 1 || (text[0] == '(' && strchr(text, ')') == text + n - 1);
        put(w, up ? "^" : "_", 1);
        if (!enclosed) put(w, "(", 1);
        put(w, text, n);
        if (!enclosed) put(w, ")", 1);
    }
    free(text);
}

static void script(struct writer *w, bool up)
{
    int applied = w->applied;
    w->at++;
    w->tight++;
    size_t from = argument(w);
    w->tight--;
    shift(w, from, up);
    w->applied = applied;
}

/* ---- Commands ---- */

/* Does what follows directly stand beside what was written, as a factor? */
static bool factor_follows(const struct writer *w)
{
    char c = here(w);
    if (is_alpha(c) || (c >= '0' && c <= '9') || (c && strchr("({^!'", c)) || (unsigned char)c >= 0x80) return true;
    size_t n = c == '\\' ? name_length(w, w->at) : 0;
    const struct formula_name *name = n ? formula_name(w->tex + w->at + 1, n) : NULL;
    if (!name) return n > 0;
    switch (name->kind) {
    case FORMULA_LETTER:
    case FORMULA_FONT:
    case FORMULA_TEXT:
    case FORMULA_ACCENT:
    case FORMULA_ROOT:
    case FORMULA_FRACTION:
        return true;
    default:
        return false;
    }
}

static void fraction(struct writer *w)
{
    size_t before = w->out->n;
    int32_t p = 0;
    if (before > w->floor) decode(w->out->bytes + utf8_before(w->out->bytes, before), 4, &p);
    bool beside = p == ')' || (p >= '0' && p <= '9') || (p > 0 && (is_letter(p) || is_mark(p))) || p > 0x2070;
    size_t from = argument(w);
    if (!is_one(w, from, false)) enclose(w, from);
    put(w, "/", 1);
    from = argument(w);
    if (!is_one(w, from, true)) enclose(w, from);
    if (beside || factor_follows(w)) enclose(w, before);
}

static void root(struct writer *w)
{
    skip_blanks(w);
    if (here(w) == '[') {
        size_t from = w->out->n;
        w->at++;
        w->tight++;
        list(w, AT_BRACKET);
        w->tight--;
        expect(w, ']');
        char *index = cut(w, from);
        if (index && !strcmp(index, "3"))
            put(w, "\u221B", 3);
        else if (index && !strcmp(index, "4"))
            put(w, "\u221C", 3);
        else if (index) {
            put(w, index, strlen(index));
            shift(w, from, true);
            put(w, "\u221A", 3);
        }
        free(index);
    } else {
        put(w, "\u221A", 3);
    }
    size_t from = argument(w);
    if (!is_one(w, from, true)) enclose(w, from);
}

/* The mark behind each letter and digit of the argument. */
static void accent(struct writer *w, const char *mark)
{
    char *text = cut(w, argument(w));
    size_t n = text ? strlen(text) : 0;
    int32_t p, q;
    for (size_t at = 0, length; at < n; at += length) {
        length = decode(text + at, n - at, &p);
        put(w, text + at, length);
        if (at + length < n)
            decode(text + at + length, n - at - length, &q);
        else
            q = 0;
        if (text[at] != ' ' && !is_mark(q)) put(w, mark, strlen(mark));
    }
    free(text);
}

static void font(struct writer *w, char alphabet)
{
    char *text = cut(w, argument(w));
    size_t n = text ? strlen(text) : 0;
    int32_t p;
    for (size_t at = 0, length; at < n; at += length) {
        length = decode(text + at, n - at, &p);
        if (p > 0)
            put_point(w, formula_in_alphabet((uint32_t)p, alphabet));
        else
            put(w, text + at, length);
    }
    free(text);
}

/* Words: blanks count, and of a backslash before a sign only the sign is seen. */
static void text(struct writer *w)
{
    size_t from, to;
    if (here(w) == '*') w->at++;
    if (!raw_group(w, &from, &to)) {
        if (!w->failed) argument(w);
        return;
    }
    for (size_t at = from; at < to; at++) {
        if (w->tex[at] == '\\' && at + 1 < to && !is_alpha(w->tex[at + 1])) at++;
        put(w, is_blank(w->tex[at]) ? " " : w->tex + at, 1);
    }
}

static void negate(struct writer *w)
{
    size_t from = argument(w);
    put(w, "\u0338", 2);
    char *text = cut(w, from);
    char *composed = text ? (char *)utf8proc_NFC((const utf8proc_uint8_t *)text) : NULL;
    if (composed)
        put(w, composed, strlen(composed));
    else
        w->failed = true;
    free(composed);
    free(text);
}

static void over(struct writer *w, bool up)
{
    w->tight++;
    char *mark = cut(w, argument(w));
    w->tight--;
    argument(w);
    size_t from = w->out->n;
    if (mark) put(w, mark, strlen(mark));
    if (mark) shift(w, from, up);
    free(mark);
}

/* ---- Environments ---- */

struct environment {
    const char *name, *open, *close, *cell, *row;
    bool has_columns; /* a group that says how they are aligned */
};

static const struct environment *find_environment(const char *name, size_t n)
{
    static const struct environment rows[] = {
        {"matrix", "", "", ", ", "; ", false},
        {"smallmatrix", "", "", ", ", "; ", false},
        {"pmatrix", "(", ")", ", ", "; ", false},
        {"bmatrix", "[", "]", ", ", "; ", false},
        {"Bmatrix", "{", "}", ", ", "; ", false},
        {"vmatrix", "|", "|", ", ", "; ", false},
        {"Vmatrix", "\u2016", "\u2016", ", ", "; ", false},
        {"array", "", "", ", ", "; ", true},
        {"cases", "{ ", " }", ", ", "; ", false},
        {"dcases", "{ ", " }", ", ", "; ", false},
        {"rcases", "{ ", " }", ", ", "; ", false},
        {"aligned", "", "", " ", "\n", false},
        {"align", "", "", " ", "\n", false},
        {"alignedat", "", "", " ", "\n", true},
        {"alignat", "", "", " ", "\n", true},
        {"gathered", "", "", " ", "\n", false},
        {"gather", "", "", " ", "\n", false},
        {"split", "", "", " ", "\n", false},
        {"equation", "", "", " ", "\n", false},
        {"multline", "", "", " ", "\n", false},
        {"eqnarray", "", "", " ", "\n", false},
    };
    if (n && name[n - 1] == '*') n--;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == n && !memcmp(rows[i].name, name, n)) return &rows[i];
    return NULL;
}

/* A separator of cells or rows; blanks that stand there already are enough. */
static void separate(struct writer *w, const char *by)
{
    if (*by == ' ' && fresh(w)) return;
    put(w, by, strlen(by));
}

static void environment(struct writer *w)
{
    size_t from, to, floor = w->floor, end;
    if (!raw_group(w, &from, &to)) {
        w->failed = true;
        return;
    }
    const struct environment *e = find_environment(w->tex + from, to - from);
    size_t columns_from, columns_to;
    w->failed = w->failed || !e || (e->has_columns && !raw_group(w, &columns_from, &columns_to));
    if (w->failed) return;
    blank(w);
    put(w, e->open, strlen(e->open));
    w->floor = end = w->out->n;
    for (;;) {
        size_t row = w->out->n;
        list(w, AT_CELL);
        if (w->out->n > row) end = w->out->n;
        if (w->failed || at_end(w)) break;
        if (here(w) == '&') {
            w->at++;
            separate(w, e->cell);
            continue;
        }
        if (w->tex[w->at + 1] != '\\') break;
        w->at += 2; /* a row's end, and perhaps how much room is below it */
        size_t room = w->at;
        while (room < w->n && is_blank(w->tex[room])) room++;
        if (room < w->n && w->tex[room] == '[' && memchr(w->tex + room, ']', w->n - room))
            w->at = (size_t)((const char *)memchr(w->tex + room, ']', w->n - room) - w->tex) + 1;
        separate(w, *e->row == '\n' && !w->display ? "; " : e->row);
    }
    w->out->n = end < w->out->n ? end : w->out->n; /* a last row without contents */
    size_t name = from, length = to - from;
    if (w->failed || at_end(w)) {
        w->failed = true;
        return;
    }
    w->at += 4;
    w->failed = !raw_group(w, &from, &to) || to - from != length || memcmp(w->tex + from, w->tex + name, length);
    put(w, e->close, strlen(e->close));
    w->floor = floor;
}

/* ---- Atoms ---- */

/* As it is written; of its groups the contents are written as formulas. */
static void unknown(struct writer *w, const char *name, size_t n)
{
    blank(w);
    put(w, name - 1, n + 1);
    while (here(w) == '{') {
        put(w, "{", 1);
        argument(w);
        put(w, "}", 1);
    }
    if (is_blank(here(w))) w->pending = SURE_BLANK;
}

static void relation(struct writer *w, const char *as)
{
    bool first = fresh(w) && last(w) != ' ';
    if (!w->tight && !fresh(w)) put(w, " ", 1);
    put(w, as, strlen(as));
    w->pending = first ? NO_BLANK : BLANK;
}

static void end_row(struct writer *w)
{
    w->pending = NO_BLANK;
    if (w->display && !w->tight)
        put(w, "\n", 1);
    else
        put(w, "; ", 2);
}

/* What a command writes between its neighbours; before it: the blank that was wanted. */
static void known(struct writer *w, const struct formula_name *name)
{
    size_t from, to;
    blank(w);
    switch (name->kind) {
    case FORMULA_LETTER:
        put(w, name->as, strlen(name->as));
        break;
    case FORMULA_WORD:
        put(w, name->as, strlen(name->as));
        w->applied = A_WORD;
        break;
    case FORMULA_LARGE:
        put(w, name->as, strlen(name->as));
        w->applied = A_LARGE;
        break;
    case FORMULA_ACCENT:
        accent(w, name->as);
        break;
    case FORMULA_FONT:
        font(w, name->as[0]);
        break;
    case FORMULA_TEXT:
        text(w);
        if (name->as[0]) w->applied = A_WORD;
        break;
    case FORMULA_FRACTION:
        fraction(w);
        break;
    case FORMULA_BINOMIAL:
        put(w, "C(", 2);
        argument(w);
        put(w, ", ", 2);
        argument(w);
        put(w, ")", 1);
        break;
    case FORMULA_ROOT:
        root(w);
        break;
    case FORMULA_OVER:
        over(w, true);
        break;
    case FORMULA_UNDER:
        over(w, false);
        break;
    case FORMULA_BRACE:
        from = argument(w);
        if (!is_one(w, from, true)) enclose(w, from);
        break;
    case FORMULA_BOX:
        put(w, "[", 1);
        argument(w);
        put(w, "]", 1);
        break;
    case FORMULA_MOD:
        put(w, fresh(w) ? "(mod " : " (mod ", fresh(w) ? 5 : 6);
        argument(w);
        put(w, ")", 1);
        break;
    case FORMULA_NOT:
        negate(w);
        break;
    case FORMULA_TAG:
        if (here(w) == '*') w->at++;
        put(w, "  (", 3);
        argument(w);
        put(w, ")", 1);
        break;
    case FORMULA_LABEL:
        w->failed = !raw_group(w, &from, &to);
        break;
    case FORMULA_BEGIN:
        environment(w);
        break;
    default:
        w->failed = true; /* an \end without its beginning */
    }
}

static void command(struct writer *w)
{
    const char *start = w->tex + w->at + 1;
    size_t n = name_length(w, w->at);
    const struct formula_name *name = n ? formula_name(start, n) : NULL;
    int applied = w->applied, before = (int)w->pending, behind = NO_BLANK;
    w->at += 1 + n;
    if (n == 1 && *start == '\\') {
        end_row(w);
        return;
    }
    w->applied = NOTHING;
    if (!name) {
        if (applied) w->pending = SURE_BLANK;
        unknown(w, start, n);
        return;
    }
    bool letters = is_alpha(*start), near = name->kind == FORMULA_LEFT || name->kind == FORMULA_SIZE;
    if (letters && name->kind != FORMULA_RELATION && skip_blanks(w) && here(w) && strchr("+-=<>", here(w)))
        behind = BLANK;
    if (near) {
        w->applied = applied;
        if (name->kind == FORMULA_LEFT && *start == 'r') w->pending = NO_BLANK;
        if (name->kind == FORMULA_LEFT && here(w) == '.') w->at++;
        return;
    }
    if (name->kind == FORMULA_SPACE) {
        w->pending = NO_BLANK;
        put(w, name->as, w->tight || fresh(w) ? 0 : strlen(name->as));
        return;
    }
    if (name->kind == FORMULA_RELATION) {
        relation(w, name->as);
        return;
    }
    int32_t p = 0;
    if (w->out->n > w->floor) decode(w->out->bytes + utf8_before(w->out->bytes, w->out->n), 4, &p);
    bool beside = name->kind == FORMULA_WORD && p > 0 && (is_letter(p) || (p >= '0' && p <= '9') || p == ')');
    if (applied || beside) before = SURE_BLANK;
    w->pending = before;
    known(w, name);
    if (w->pending == NO_BLANK) w->pending = behind;
}

static void primes(struct writer *w)
{
    static const char *const as[] = {"\u2032", "\u2033", "\u2034"};
    size_t n = 0;
    while (here(w) == '\'' && n < 3) w->at++, n++;
    put(w, as[n - 1], 3);
}

static void atom(struct writer *w)
{
    char c = here(w);
    int32_t point;
    if (c == '^' || c == '_') {
        w->pending = NO_BLANK;
        script(w, c == '^');
    } else if (c == '{') {
        size_t floor = w->floor;
        if (w->applied) w->pending = SURE_BLANK;
        blank(w);
        w->at++;
        skip_blanks(w);
        list(w, AT_BRACE);
        expect(w, '}');
        w->floor = floor;
    } else if (c == '}') {
        w->failed = true;
    } else if (c == '\\') {
        command(w);
    } else if (c == '\'') {
        primes(w);
    } else if (c == '&') { /* a place to align at */
        w->at++;
        if (w->pending == NO_BLANK) w->pending = BLANK;
    } else {
        if (w->applied && !(strchr(")],.;:|", c) || (c == '(' && w->applied == A_WORD))) w->pending = SURE_BLANK;
        if (strchr(")],.;", c)) w->pending = NO_BLANK;
        w->applied = NOTHING;
        blank(w);
        size_t n = decode(w->tex + w->at, w->n - w->at, &point);
        put(w, w->tex + w->at, n);
        w->at += n;
    }
}

bool formula_write(const char *tex, size_t n, bool display, struct buffer *out)
{
    size_t from = out->n;
    struct writer w = {.tex = tex, .n = n, .out = out, .floor = from, .display = display, .failed = n > LONGEST};
    if (!w.failed) {
        skip_blanks(&w);
        list(&w, AT_END);
    }
    while (!w.failed && out->n > from && strchr(" \n", out->bytes[out->n - 1])) out->n--;
    if (w.failed) out->n = from;
    if (out->bytes) out->bytes[out->n] = 0;
    return out->n > from;
}
