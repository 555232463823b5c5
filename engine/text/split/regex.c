#include "engine/text/split/regex.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

enum {
    SETS = 128,    /* in one expression */
    ITEMS = 256,   /* in all of its sets */
    DEPTH = 8,     /* of groups */
    STEPS = 20000, /* of parsing: what is repeated is parsed once for each copy */
    COPIES = 64,   /* the largest number in {n,m} */
    QUOTED = 200,  /* bytes of an expression in an error line */
};

enum operation {
    ONE,    /* a character of the set */
    FORK,   /* go on at `to`, else, with lower priority, at `other` */
    AHEAD,  /* the next character is one of the set */
    BARRED, /* it is none; so is the end of the text */
    FOUND,
};

struct state {
    enum operation operation;
    uint16_t to, other;
    uint16_t set;
};

/* Code points from first to last, or with one of the properties (unicode_properties), or with none of them. */
struct item {
    int32_t first, last; /* last < first: properties */
    uint32_t properties;
    bool none;
};

struct set {
    uint16_t begin, end; /* of its items */
    bool none;           /* what none of them has */
};

struct regex {
    struct state states[REGEX_STATES];
    struct set sets[SETS];
    struct item items[ITEMS];
    size_t state_count, set_count, item_count;
};

/* ---- Compiling ----------------------------------------------------------------------------------------------- */

struct parser {
    struct regex *r;
    const char *at, *end;
    int depth, steps;
    bool any_case;
    char last;           /* of the literals before this place in any case, else 0 */
    const char *refused; /* the part that is not understood, at `where` */
    const char *where;
};

static void refuse(struct parser *p, const char *what, const char *where)
{
    if (!p->refused) p->refused = what, p->where = where;
    p->at = p->end;
}

static bool next_is(struct parser *p, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n)) return false;
    p->at += n;
    return true;
}

static uint16_t emit(struct parser *p, enum operation operation, size_t set)
{
    struct regex *r = p->r;
    if (r->state_count == REGEX_STATES) {
        refuse(p, "it is too long", p->at);
        return 0;
    }
    uint16_t at = (uint16_t)r->state_count++;
    r->states[at] = (struct state){operation, (uint16_t)(at + 1), 0, (uint16_t)set};
    return at;
}

static void add_item(struct parser *p, struct item item)
{
    if (p->r->item_count == ITEMS)
        refuse(p, "its sets are too long", p->at);
    else
        p->r->items[p->r->item_count++] = item;
}

static void add_range(struct parser *p, int32_t first, int32_t last)
{
    add_item(p, (struct item){first, last, 0, false});
}

static void add_properties(struct parser *p, uint32_t properties, bool none)
{
    add_item(p, (struct item){1, 0, properties, none});
}

static size_t begin_set(struct parser *p)
{
    if (p->r->set_count == SETS) {
        refuse(p, "it has too many sets", p->at);
        return 0;
    }
    uint16_t at = (uint16_t)p->r->item_count;
    p->r->sets[p->r->set_count] = (struct set){at, at, false};
    return p->r->set_count++;
}

static void end_set(struct parser *p, size_t set, bool none)
{
    p->r->sets[set].end = (uint16_t)p->r->item_count;
    p->r->sets[set].none = none;
}

/* The name of \p{NAME}, p->at after its brace. */
static void parse_category(struct parser *p, bool none)
{
    const char *begin = p->at, *close = memchr(begin, '}', (size_t)(p->end - begin));
    if (close && close > begin && *begin == '^') none = !none, begin++;
    uint32_t properties = close ? unicode_category(begin, (size_t)(close - begin)) : 0;
    if (!properties) {
        refuse(p, "a property that is not known", p->at);
        return;
    }
    add_properties(p, properties, none);
    p->at = close + 1;
}

/* The escape after a backslash: a character, which is returned, or properties, which are added to the set: -1. */
static int32_t parse_escape(struct parser *p)
{
    static const char plain[] = "\\.+*?()[]{}|^$/-!\"#%&',:;<=>@_`~ ";
    const char *where = p->at - 1;
    char c = 0;
    if (p->at < p->end) c = *p->at++;
    switch (c) {
    case 'r':
        return '\r';
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'f':
        return '\f';
    case 'v':
        return '\v';
    case 's':
    case 'S':
        add_properties(p, UNICODE_WHITE_SPACE, c == 'S');
        return -1;
    case 'd':
    case 'D':
        add_properties(p, unicode_category("Nd", 2), c == 'D');
        return -1;
    case 'w':
    case 'W':
        add_properties(p,
                       unicode_category("L", 1) | unicode_category("M", 1) | unicode_category("Nd", 2) |
                           unicode_category("Pc", 2),
                       c == 'W');
        return -1;
    case 'p':
    case 'P':
        if (next_is(p, "{"))
            parse_category(p, c == 'P');
        else
            refuse(p, "an escape that is not known", where);
        return -1;
    default:
        if (c && strchr(plain, c)) return c;
        refuse(p, "an escape that is not known", where);
        return -1;
    }
}

static int32_t parse_character(struct parser *p)
{
    int32_t code;
    size_t n = utf8_decode(p->at, (size_t)(p->end - p->at), &code);
    if (code < 0)
        refuse(p, "a byte that is no UTF-8", p->at);
    else
        p->at += n;
    return code;
}

/* Letters whose other cases are several characters, or characters of which they are one, beside what is below. */
static bool folds_with(char before, char c)
{
    return (before == 'f' && (c == 'f' || c == 'i' || c == 'l')) || (before == 's' && (c == 's' || c == 't'));
}

static void add_literal(struct parser *p, int32_t code, const char *where)
{
    add_range(p, code, code);
    char last = p->last;
    p->last = 0;
    if (!p->any_case) return;
    char lower = (char)(code | 0x20);
    if (code >= 0x80)
        refuse(p, "a character in any case", where);
    else if (lower >= 'a' && lower <= 'z') {
        if (folds_with(last, lower)) refuse(p, "letters in any case that are one together", where);
        add_range(p, code ^ 0x20, code ^ 0x20);
        if (lower == 's') add_range(p, 0x17F, 0x17F);   /* long s */
        if (lower == 'k') add_range(p, 0x212A, 0x212A); /* the sign of kelvin */
        p->last = lower;
    }
}

/* After the opening bracket. */
static size_t parse_set(struct parser *p)
{
    const char *where = p->at - 1;
    size_t set = begin_set(p);
    bool none = next_is(p, "^"), empty = true;
    while (!p->refused && !next_is(p, "]")) {
        if (p->at == p->end || *p->at == '[' || (*p->at == '&' && p->end - p->at > 1 && p->at[1] == '&')) {
            refuse(p, "a set that is not understood", where);
            break;
        }
        const char *begin = p->at;
        int32_t first = next_is(p, "\\") ? parse_escape(p) : parse_character(p), last = first;
        empty = false;
        if (p->end - p->at > 1 && *p->at == '-' && p->at[1] != ']') {
            p->at++;
            last = next_is(p, "\\") ? parse_escape(p) : parse_character(p);
            if (first < 0 || last < first) refuse(p, "a range that is not understood", begin);
        }
        if (first >= 0 && first == last)
            add_literal(p, first, begin);
        else if (first >= 0 && p->any_case)
            refuse(p, "a range in any case", begin);
        else if (first >= 0)
            add_range(p, first, last);
        p->last = 0;
    }
    if (empty) refuse(p, "an empty set", where);
    end_set(p, set, none);
    return set;
}

/* One character: a literal, an escape or a set. */
static size_t parse_one(struct parser *p)
{
    const char *where = p->at;
    if (next_is(p, "[")) {
        p->last = 0;
        return parse_set(p);
    }
    size_t set = begin_set(p);
    bool none = false;
    if (next_is(p, "\\")) {
        int32_t code = parse_escape(p);
        if (code >= 0)
            add_literal(p, code, where);
        else
            p->last = 0;
    } else if (next_is(p, ".")) {
        add_range(p, '\n', '\n');
        none = true;
        p->last = 0;
    } else if (p->at == p->end || strchr("*+?{}^$)]|", *p->at)) {
        refuse(p, "a sign that is not understood", where);
    } else {
        add_literal(p, parse_character(p), where);
    }
    end_set(p, set, none);
    return set;
}

static bool parse_alternatives(struct parser *p);

/* Each of these says whether what it parsed can match nothing. */
static bool parse_group(struct parser *p, const char *where)
{
    bool any_case = p->any_case, nothing = true;
    enum operation operation = FOUND;
    if (next_is(p, "?:"))
        p->any_case = any_case;
    else if (next_is(p, "?i:"))
        p->any_case = true;
    else if (next_is(p, "?!"))
        operation = BARRED;
    else if (next_is(p, "?="))
        operation = AHEAD;
    else if (next_is(p, "?"))
        refuse(p, "a group that is not known", where);
    if (++p->depth > DEPTH) refuse(p, "its groups are too deep", where);
    p->last = 0;
    if (operation != FOUND) {
        size_t set = parse_one(p);
        emit(p, operation, set);
    } else if (!p->refused) {
        nothing = parse_alternatives(p);
    }
    if (!next_is(p, ")")) refuse(p, operation == FOUND ? "a group without its end" : "more than one character", where);
    p->depth--;
    p->any_case = any_case;
    p->last = 0;
    return nothing;
}

static bool parse_atom(struct parser *p)
{
    const char *where = p->at;
    if (++p->steps > STEPS) refuse(p, "it is too long", where);
    if (next_is(p, "(")) return parse_group(p, where);
    size_t set = parse_one(p);
    emit(p, ONE, set);
    return false;
}

static int parse_number(struct parser *p)
{
    int n = 0;
    const char *begin = p->at;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && n <= COPIES) n = 10 * n + *p->at++ - '0';
    if (p->at == begin || n > COPIES) refuse(p, "a repetition that is not understood", begin);
    return n;
}

/* How often the atom before p->at is wanted; *most -1: any number of times; *all: no fewer than there are. False:
 * once. */
static bool parse_repetition(struct parser *p, int *least, int *most, bool *all)
{
    const char *where = p->at;
    bool counted = p->at < p->end && *p->at == '{';
    *least = *most = 1;
    if (next_is(p, "?"))
        *least = 0;
    else if (next_is(p, "*"))
        *least = 0, *most = -1;
    else if (next_is(p, "+"))
        *most = -1;
    else if (next_is(p, "{")) {
        *least = parse_number(p);
        *most = !next_is(p, ",") ? *least : p->at < p->end && *p->at == '}' ? -1 : parse_number(p);
        if (!next_is(p, "}") || !*most || (*most > 0 && *most < *least))
            refuse(p, "a repetition that is not understood", where);
    } else
        return false;
    *all = !counted && next_is(p, "+");
    if (p->at < p->end && strchr("?*+{", *p->at)) refuse(p, "a repetition that is not understood", where);
    return true;
}

/* An atom is parsed once to see what follows it, and then once for each copy of it. */
static bool parse_piece(struct parser *p)
{
    struct regex *r = p->r;
    struct parser before = *p;
    size_t states = r->state_count, sets = r->set_count, items = r->item_count;
    bool nothing = parse_atom(p);
    int least, most;
    bool all;
    const char *mark = p->at;
    if (p->refused || !parse_repetition(p, &least, &most, &all)) return nothing;
    const char *after = p->at;
    bool one = r->state_count == states + 1 && r->states[states].operation == ONE;
    if (nothing) refuse(p, "a repetition of what can be nothing", before.at);
    if (all && !one) refuse(p, "a possessive repetition of more than a character", mark);
    r->state_count = states, r->set_count = sets, r->item_count = items;
    p->last = 0;
    int copies = most < 0 ? (least ? least : 1) : most;
    uint16_t forks[COPIES + 1], last = 0;
    int fork_count = 0;
    for (int i = 0; i < copies && !p->refused; i++) {
        if (i >= least) forks[fork_count++] = emit(p, FORK, 0);
        last = (uint16_t)r->state_count;
        p->at = before.at;
        parse_atom(p);
        if (!p->refused && p->at != mark) refuse(p, "a repetition that is not understood", mark);
    }
    if (p->refused) return false;
    p->at = after;
    if (most < 0) {
        uint16_t back = emit(p, FORK, 0);
        r->states[back].to = last;
        r->states[back].other = (uint16_t)(back + 1);
    }
    /* After any number of them no further one may stand; in place of none, none. */
    uint16_t jump = all && most > 0 ? emit(p, FORK, 0) : 0, end = (uint16_t)r->state_count;
    if (all) emit(p, BARRED, r->states[last].set);
    if (jump) r->states[jump].to = r->states[jump].other = (uint16_t)r->state_count;
    for (int i = 0; i < fork_count; i++) r->states[forks[i]].other = end;
    return least == 0;
}

static bool parse_alternatives(struct parser *p)
{
    uint16_t ends[REGEX_STATES];
    size_t end_count = 0;
    bool nothing = false;
    for (bool more = true; more && !p->refused;) {
        uint16_t fork = emit(p, FORK, 0);
        bool all = true;
        p->last = 0;
        while (!p->refused && p->at < p->end && *p->at != '|' && *p->at != ')') all &= parse_piece(p);
        nothing |= all;
        more = next_is(p, "|");
        if (p->refused) break;
        if (more && end_count < REGEX_STATES) ends[end_count++] = emit(p, FORK, 0);
        /* The last alternative has no other: its fork goes one way. */
        p->r->states[fork].other = more ? (uint16_t)p->r->state_count : p->r->states[fork].to;
    }
    for (size_t i = 0; i < end_count; i++)
        p->r->states[ends[i]].to = p->r->states[ends[i]].other = (uint16_t)p->r->state_count;
    return nothing;
}

tdm_status regex_compile(struct regex **out, const char *name, struct span expression, tdm_error *err)
{
    struct regex *r = *out = calloc(1, sizeof *r);
    if (!r) return error_set(err, TDM_E_NOMEM, "%s: no memory for an expression", name);
    struct parser p = {.r = r, .at = expression.bytes, .end = expression.bytes + expression.length};
    bool nothing = parse_alternatives(&p);
    if (p.at < p.end) refuse(&p, "a sign that is not understood", p.at);
    if (nothing) refuse(&p, "it can match nothing", expression.bytes);
    emit(&p, FOUND, 0);
    if (!p.refused) return TDM_OK;
    regex_free(r);
    *out = NULL;
    return error_set(err, TDM_E_UNSUPPORTED, "%s: the expression to split by, at byte %zu: %s: \"%.*s\"", name,
                     (size_t)(p.where - expression.bytes), p.refused,
                     (int)(expression.length < QUOTED ? expression.length : QUOTED), expression.bytes);
}

void regex_free(struct regex *r)
{
    free(r);
}

/* ---- Searching ----------------------------------------------------------------------------------------------- */

/* The character at a place of the text. */
struct character {
    int32_t code; /* -1: invalid */
    uint32_t properties;
    size_t length; /* 0: there is none */
};

static struct character character_at(const char *text, size_t n, size_t at)
{
    struct character c = {.code = -1};
    if (at >= n) return c;
    c.length = utf8_decode(text + at, n - at, &c.code);
    c.properties = unicode_properties(c.code);
    return c;
}

static bool is_in(const struct regex *r, const struct set *set, const struct character *c)
{
    for (size_t i = set->begin; i < set->end; i++) {
        const struct item *item = &r->items[i];
        bool has = item->last >= item->first ? c->code >= item->first && c->code <= item->last
                                             : !(c->properties & item->properties) == item->none;
        if (has) return !set->none;
    }
    return set->none;
}

/* Adds a state, and in place of one that reads no character those that it leads to, by their priority. */
static void add(const struct regex *r, struct regex_work *work, struct regex_list *list, uint16_t state, size_t begin,
                const struct character *next)
{
    while (work->seen[state] != work->round) {
        work->seen[state] = work->round;
        const struct state *s = &r->states[state];
        switch (s->operation) {
        case FORK:
            add(r, work, list, s->to, begin, next);
            state = s->other;
            continue;
        case AHEAD:
            work->ended |= !next->length;
            if (!next->length || !is_in(r, &r->sets[s->set], next)) return;
            break;
        case BARRED:
            work->ended |= !next->length;
            if (next->length && is_in(r, &r->sets[s->set], next)) return;
            break;
        default:
            list->threads[list->count].state = state;
            list->threads[list->count++].begin = begin;
            return;
        }
        state = s->to;
    }
}

static void next_round(struct regex_work *work)
{
    if (++work->round) return;
    memset(work->seen, 0, sizeof work->seen);
    work->round = 1;
}

bool regex_search(const struct regex *r, struct regex_work *work, const char *text, size_t n, size_t from,
                  struct regex_match *match)
{
    struct regex_list *now = &work->lists[0], *then = &work->lists[1];
    struct character c = character_at(text, n, from);
    bool found = false;
    size_t at = from;
    now->count = 0;
    work->ended = false;
    next_round(work);
    add(r, work, now, 0, at, &c);
    for (;;) {
        struct character next = character_at(text, n, at + c.length);
        then->count = 0;
        next_round(work);
        for (size_t i = 0; i < now->count; i++) {
            const struct state *s = &r->states[now->threads[i].state];
            if (s->operation == FOUND) {
                *match = (struct regex_match){.begin = now->threads[i].begin, .end = at};
                found = true;
                break;
            }
            if (c.length && is_in(r, &r->sets[s->set], &c)) add(r, work, then, s->to, now->threads[i].begin, &next);
        }
        if (!c.length || (found && !then->count)) break;
        at += c.length;
        c = next;
        if (!found && c.length) add(r, work, then, 0, at, &c);
        struct regex_list *swapped = now;
        now = then;
        then = swapped;
    }
    match->read = work->ended ? n + 1 : at + (c.length ? c.length : 1);
    return found;
}
