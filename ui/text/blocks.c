#include "ui/text/blocks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "ui/formula/inert.h"
#include "ui/text/table.h"

enum { MAX_DEPTH = 32, PREFIX_BYTES = 160 };

enum container_kind { QUOTE, LIST, ITEM };

struct container {
    enum container_kind kind;
    bool tight, ordered;
    unsigned number;
    char marker[24]; /* of an item, until its first line is written; then its width in blanks */
    bool marked;
    bool fresh; /* nothing has been written in it yet */
    int width;
};

struct render {
    struct blocks *b;
    const struct inert *in; /* this piece */
    size_t len, source;
    struct container stack[MAX_DEPTH];
    int depth, dropped; /* containers deeper than the stack change nothing */
    struct lines *into; /* the output, or the table's cells */
    size_t leaf;        /* where the open leaf's text begins */
    bool leaf_open;
    bool line_over; /* a displayed formula was written: text goes on in the next line */
    style_t base;
    int em, strong, code, link, image, strike;
    char address[1024];
    size_t link_from;
    struct table table;
    bool in_table;
    /* code block */
    bool in_code;
    const struct highlight_language *language;
    struct highlight_state state;
    struct buffer pending; /* an unfinished line of code */
    size_t pending_source, pending_lead;
};

/* The byte of the document that a piece of text stands at; md4c hands out pointers into what it was given, or its own
 * constants. */
static size_t source_of(const struct render *r, const char *text)
{
    size_t place;
    if (inert_place(r->in, text, &place) && place < r->len) return r->source + place;
    return r->into && r->into->n_runs ? r->into->runs[r->into->n_runs - 1].source : r->source;
}

/* The prefix of the next line; `first` writes the markers of items that have none yet. */
static void make_prefix(struct render *r, char out[PREFIX_BYTES], bool first)
{
    size_t len = 0;
    out[0] = 0;
    for (int i = 0; i < r->depth; i++) {
        struct container *c = &r->stack[i];
        char piece[32] = "";
        if (c->kind == QUOTE)
            snprintf(piece, sizeof piece, "%s ", r->b->look.ascii ? "|" : "\xe2\x94\x82");
        else if (c->kind == ITEM && first && !c->marked)
            snprintf(piece, sizeof piece, "%s", c->marker);
        else if (c->kind == ITEM)
            snprintf(piece, sizeof piece, "%*s", c->width, "");
        if (len + strlen(piece) + 1 > PREFIX_BYTES || width_text(out, len) > r->b->look.width / 2) break;
        len += (size_t)snprintf(out + len, PREFIX_BYTES - len, "%s", piece);
    }
    if (first)
        for (int i = 0; i < r->depth; i++) r->stack[i].marked = true;
}

/* The blank line between two blocks, within the quotes and items that both are in. */
static void gap(struct render *r)
{
    /* Containers that have just been entered do not reach up to the line before them. */
    int depth = r->depth;
    while (depth && r->stack[depth - 1].fresh) depth--;
    for (int i = 0; i < r->depth; i++) r->stack[i].fresh = false;
    if (!r->b->gap) return;
    r->b->gap = false;
    if (r->b->out->n == 0) return;
    char prefix[PREFIX_BYTES];
    int all = r->depth;
    r->depth = depth;
    make_prefix(r, prefix, false);
    r->depth = all;
    for (size_t n = strlen(prefix); n && prefix[n - 1] == ' ';) prefix[--n] = 0;
    lines_wrap(r->b->out, r->b->out->len, r->b->look.width, (struct lines_prefix){prefix, prefix, STYLE_RULE},
               LINES_WORDS);
}

static bool in_tight_list(const struct render *r)
{
    for (int i = r->depth - 1; i >= 0; i--)
        if (r->stack[i].kind == LIST) return r->stack[i].tight;
    return false;
}

static void open_leaf(struct render *r, style_t base)
{
    gap(r);
    r->into = r->b->out;
    r->leaf = r->b->out->len;
    r->leaf_open = true;
    r->base = base;
}

static void close_leaf(struct render *r)
{
    if (!r->leaf_open) return;
    r->leaf_open = r->line_over = false;
    char first[PREFIX_BYTES], rest[PREFIX_BYTES];
    make_prefix(r, first, true);
    make_prefix(r, rest, false);
    lines_wrap(r->b->out, r->leaf, r->b->look.width, (struct lines_prefix){first, rest, STYLE_RULE}, LINES_WORDS);
}

/* ---- Code ---- */

struct code_line {
    struct lines *out;
    const char *line;
    size_t source;
};

static void emit_code(void *arg, size_t from, size_t to, style_t style)
{
    struct code_line *c = arg;
    lines_add_tabs(c->out, c->line + from, to - from, c->source + from, style);
}

static void code_head(struct blocks *b, const char *indent, const char *language, size_t len, size_t source)
{
    char text[80], name[40] = "";
    size_t keep = 0;
    while (keep < len && keep < sizeof name - 1 && language[keep] != ' ') keep++;
    memcpy(name, language, keep);
    snprintf(text, sizeof text, "[%d]%s%s", ++b->code_blocks, keep ? " " : "", name);
    size_t from = b->out->len;
    lines_add_made(b->out, text, strlen(text), source, STYLE_QUIET);
    lines_wrap(b->out, from, b->look.width, (struct lines_prefix){indent, indent, STYLE_RULE}, LINES_HARD);
}

/* lead: blanks before the line that its source has in another form (tabs). */
static void code_line(struct blocks *b, const char *indent, const struct highlight_language *language,
                      struct highlight_state *state, size_t lead, const char *line, size_t len, size_t source)
{
    size_t from = b->out->len;
    while (lead--) lines_add_made(b->out, " ", 1, source, STYLE_TEXT);
    if (len && line[len - 1] == '\r') len--;
    highlight_line(language, state, line, len, emit_code, &(struct code_line){b->out, line, source});
    lines_wrap(b->out, from, b->look.width, (struct lines_prefix){indent, indent, STYLE_RULE}, LINES_HARD);
}

void blocks_code_head(struct blocks *b, const char *language, size_t len, size_t source)
{
    struct render r = {.b = b};
    gap(&r);
    code_head(b, "  ", language, len, source);
}

void blocks_code_line(struct blocks *b, const struct highlight_language *language, struct highlight_state *state,
                      const char *line, size_t len, size_t source)
{
    code_line(b, "    ", language, state, 0, line, len, source);
}

static void flush_code_line(struct render *r)
{
    char indent[PREFIX_BYTES + 4];
    make_prefix(r, indent, false);
    strcat(indent, "    ");
    code_line(r->b, indent, r->language, &r->state, r->pending_lead, r->pending.bytes, r->pending.n, r->pending_source);
    r->pending_lead = 0;
    buffer_clear(&r->pending);
}

/* ours: of the text itself. */
static void code_text(struct render *r, const char *text, size_t len, size_t source, bool ours)
{
    for (size_t i = 0; i < len; i++) {
        if (!ours && text[i] == ' ' && r->pending.n == 0) { /* md4c's own blanks for an indent */
            r->pending_lead++;
            r->pending_source = source;
            continue;
        }
        if (text[i] == '\n') {
            flush_code_line(r);
            continue;
        }
        if (r->pending.n == 0) r->pending_source = source + i;
        if (buffer_append(&r->pending, text + i, 1, NULL)) {
            r->b->out->failed = true;
            return;
        }
    }
}

/* ---- md4c's callbacks ---- */

static void push(struct render *r, struct container c)
{
    if (r->depth == MAX_DEPTH) {
        r->dropped++;
        return;
    }
    c.fresh = true;
    r->stack[r->depth++] = c;
}

static void pop(struct render *r)
{
    if (r->dropped)
        r->dropped--;
    else if (r->depth)
        r->depth--;
}

static void start_item(struct render *r, const MD_BLOCK_LI_DETAIL *detail)
{
    struct container *list = r->depth ? &r->stack[r->depth - 1] : NULL;
    struct container item = {.kind = ITEM};
    /* The outermost list stands two columns in; the inner ones under their item's text. */
    const char *in = r->depth <= 1 ? "  " : "";
    if (detail->is_task)
        snprintf(item.marker, sizeof item.marker, "%s[%c] ", in, detail->task_mark == ' ' ? ' ' : 'x');
    else if (list && list->kind == LIST && list->ordered)
        snprintf(item.marker, sizeof item.marker, "%s%u. ", in, list->number++);
    else
        snprintf(item.marker, sizeof item.marker, "%s- ", in);
    item.width = width_text(item.marker, strlen(item.marker));
    push(r, item);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct render *r = arg;
    if (type != MD_BLOCK_TR && type != MD_BLOCK_TH && type != MD_BLOCK_TD) close_leaf(r);
    switch (type) {
    case MD_BLOCK_QUOTE: push(r, (struct container){.kind = QUOTE, .marked = true}); break;
    case MD_BLOCK_UL:
        push(r, (struct container){.kind = LIST, .tight = ((MD_BLOCK_UL_DETAIL *)detail)->is_tight, .marked = true});
        break;
    case MD_BLOCK_OL:
        push(r, (struct container){.kind = LIST,
                                   .tight = ((MD_BLOCK_OL_DETAIL *)detail)->is_tight,
                                   .ordered = true,
                                   .number = ((MD_BLOCK_OL_DETAIL *)detail)->start,
                                   .marked = true});
        break;
    case MD_BLOCK_LI: start_item(r, detail); break;
    case MD_BLOCK_HR: {
        open_leaf(r, STYLE_RULE);
        char prefix[PREFIX_BYTES];
        make_prefix(r, prefix, false);
        for (int n = r->b->look.width - width_text(prefix, strlen(prefix)); n > 0; n--)
            lines_add_made(r->b->out, r->b->look.ascii ? "-" : "\xe2\x94\x80", r->b->look.ascii ? 1 : 3,
                           source_of(r, NULL), STYLE_RULE);
        close_leaf(r);
        break;
    }
    case MD_BLOCK_H:
        open_leaf(r, STYLE_HEADING | (((MD_BLOCK_H_DETAIL *)detail)->level == 1 ? STYLE_UNDERLINE : 0));
        break;
    case MD_BLOCK_P: open_leaf(r, STYLE_TEXT); break;
    case MD_BLOCK_CODE: {
        const MD_ATTRIBUTE *lang = &((MD_BLOCK_CODE_DETAIL *)detail)->lang;
        char indent[PREFIX_BYTES + 2];
        gap(r);
        make_prefix(r, indent, true);
        strcat(indent, "  ");
        code_head(r->b, indent, lang->text ? lang->text : "", lang->size, source_of(r, NULL));
        r->in_code = true;
        r->language = lang->text ? highlight_find(lang->text, lang->size) : NULL;
        r->state = (struct highlight_state){0};
        break;
    }
    case MD_BLOCK_TABLE:
        gap(r);
        table_free(&r->table);
        r->table.cols = ((MD_BLOCK_TABLE_DETAIL *)detail)->col_count;
        r->in_table = true;
        r->into = &r->table.text;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: {
        MD_ALIGN align = ((MD_BLOCK_TD_DETAIL *)detail)->align;
        table_cell_start(&r->table, align == MD_ALIGN_RIGHT    ? TABLE_RIGHT
                                    : align == MD_ALIGN_CENTER ? TABLE_CENTER
                                                               : TABLE_LEFT);
        r->base = type == MD_BLOCK_TH ? STYLE_TEXT | STYLE_BOLD : STYLE_TEXT;
        break;
    }
    default: break;
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct render *r = arg;
    (void)detail;
    switch (type) {
    case MD_BLOCK_LI: {
        close_leaf(r);
        struct container *item = &r->stack[r->depth ? r->depth - 1 : 0];
        if (!r->dropped && r->depth && item->kind == ITEM && !item->marked) { /* an item without text */
            open_leaf(r, STYLE_TEXT);
            close_leaf(r);
        }
        pop(r);
        r->b->gap = !in_tight_list(r);
        return 0;
    }
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
    case MD_BLOCK_QUOTE:
        close_leaf(r);
        pop(r);
        break;
    case MD_BLOCK_CODE:
        if (r->pending.n || r->pending_lead) flush_code_line(r);
        r->in_code = false;
        break;
    case MD_BLOCK_TABLE: {
        char first[PREFIX_BYTES], rest[PREFIX_BYTES];
        make_prefix(r, first, true);
        make_prefix(r, rest, false);
        table_draw(&r->table, r->b->out, r->b->look.width, (struct lines_prefix){first, rest, STYLE_RULE},
                   r->b->look.ascii);
        table_free(&r->table);
        r->in_table = false;
        r->into = r->b->out;
        break;
    }
    case MD_BLOCK_P:
    case MD_BLOCK_H:
    case MD_BLOCK_HR: close_leaf(r); break;
    default: return 0;
    }
    r->b->gap = !in_tight_list(r);
    return 0;
}

static style_t current_style(const struct render *r)
{
    style_t style = r->base;
    if (r->link) style = STYLE_LINK;
    if (r->code) style = STYLE_CODE;
    if (r->em) style |= STYLE_ITALIC;
    if (r->strong) style |= STYLE_BOLD;
    if (r->strike) style |= STYLE_STRIKE;
    return style;
}

static void put(struct render *r, const char *text, size_t len, size_t source, style_t style)
{
    if (!r->in_table && !r->leaf_open) open_leaf(r, STYLE_TEXT); /* the text of a tight item has no paragraph */
    lines_add(r->into, text, len, source, style);
}

/* Text that the source does not hold like this. */
static void put_made(struct render *r, const char *text, size_t len, size_t source, style_t style)
{
    if (!r->in_table && !r->leaf_open) open_leaf(r, STYLE_TEXT);
    lines_add_made(r->into, text, len, source, style);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct render *r = arg;
    switch (type) {
    case MD_SPAN_EM: r->em++; break;
    case MD_SPAN_STRONG: r->strong++; break;
    case MD_SPAN_CODE:
        r->code++;
        if (!r->b->look.colour) put_made(r, "`", 1, source_of(r, NULL), current_style(r));
        break;
    case MD_SPAN_DEL:
        r->strike++;
        if (!r->b->look.strikes) put_made(r, "~~", 2, source_of(r, NULL), current_style(r));
        break;
    case MD_SPAN_A:
    case MD_SPAN_IMG: {
        const MD_ATTRIBUTE *to = type == MD_SPAN_A ? &((MD_SPAN_A_DETAIL *)detail)->href
                                                   : &((MD_SPAN_IMG_DETAIL *)detail)->src;
        size_t n = to->size < sizeof r->address - 1 ? to->size : sizeof r->address - 1;
        if (n) memcpy(r->address, to->text, n);
        r->address[n] = 0;
        r->link++;
        put_made(r, type == MD_SPAN_IMG ? "image: " : "", type == MD_SPAN_IMG ? 7 : 0, source_of(r, NULL), STYLE_QUIET);
        r->link_from = r->into ? r->into->len : 0;
        break;
    }
    default: break;
    }
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct render *r = arg;
    (void)detail;
    switch (type) {
    case MD_SPAN_EM: r->em--; break;
    case MD_SPAN_STRONG: r->strong--; break;
    case MD_SPAN_CODE:
        if (!r->b->look.colour) put_made(r, "`", 1, source_of(r, NULL), current_style(r));
        r->code--;
        break;
    case MD_SPAN_DEL:
        if (!r->b->look.strikes) put_made(r, "~~", 2, source_of(r, NULL), current_style(r));
        r->strike--;
        break;
    case MD_SPAN_A:
    case MD_SPAN_IMG: {
        const char *bare = strncmp(r->address, "mailto:", 7) == 0 ? r->address + 7 : r->address;
        size_t n = strlen(bare), shown = r->into ? r->into->len - r->link_from : 0;
        r->link--;
        if (n && !(shown == n && memcmp(r->into->text + r->link_from, bare, n) == 0)) {
            size_t source = source_of(r, NULL);
            put_made(r, " (", 2, source, STYLE_QUIET);
            put_made(r, r->address, strlen(r->address), source, STYLE_QUIET);
            put_made(r, ")", 1, source, STYLE_QUIET);
        }
        break;
    }
    default: break;
    }
    return 0;
}

size_t blocks_entity(const char *text, size_t len, char out[4])
{
    static const struct {
        const char *name, *as;
    } names[] = {{"&amp;", "&"},   {"&lt;", "<"},       {"&gt;", ">"},      {"&quot;", "\""},     {"&apos;", "'"},
                 {"&nbsp;", " "},  {"&copy;", "\xc2\xa9"}, {"&deg;", "\xc2\xb0"}, {"&times;", "\xc3\x97"},
                 {"&mdash;", "\xe2\x80\x94"}, {"&ndash;", "\xe2\x80\x93"}, {"&hellip;", "\xe2\x80\xa6"},
                 {"&rarr;", "\xe2\x86\x92"},  {"&larr;", "\xe2\x86\x90"},  {"&le;", "\xe2\x89\xa4"},
                 {"&ge;", "\xe2\x89\xa5"},    {"&ne;", "\xe2\x89\xa0"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == len && memcmp(names[i].name, text, len) == 0) {
            memcpy(out, names[i].as, strlen(names[i].as));
            return strlen(names[i].as);
        }
    if (len > 3 && len < 12 && text[1] == '#') {
        char digits[12] = "";
        bool hex = text[2] == 'x' || text[2] == 'X';
        memcpy(digits, text + 2 + hex, len - 3 - hex);
        unsigned long p = strtoul(digits, NULL, hex ? 16 : 10);
        if (p > 0 && p < 0x110000 && !(p >= 0xD800 && p < 0xE000) && p != '\n' && p != '\t')
            return (size_t)width_put((uint32_t)p, out);
    }
    return 0;
}

static void entity(struct render *r, const char *text, size_t len)
{
    char character[4];
    size_t n = blocks_entity(text, len, character), source = source_of(r, text);
    if (n) put_made(r, character, n, source, current_style(r));
    else put(r, text, len, source, current_style(r));
}

/* Tabs and newlines within a leaf are blanks. */
static void plain(struct render *r, const char *text, size_t len, size_t source)
{
    for (; len && r->line_over && (*text == ' ' || *text == '\t'); text++, source++) len--;
    if (len && r->line_over) put_made(r, "\n", 1, source, STYLE_TEXT);
    if (len) r->line_over = false;
    for (size_t at = 0; at < len;) {
        size_t n = 0;
        while (at + n < len && text[at + n] != '\t' && text[at + n] != '\n') n++;
        if (n) put(r, text + at, n, source + at, current_style(r));
        at += n;
        if (at < len) put(r, " ", 1, source + at, current_style(r)), at++;
    }
}

/* The rows of a displayed formula stand in lines of their own, two columns in. */
static void formula_rows(struct render *r, const char *text, size_t n, size_t source)
{
    for (size_t at = 0, end; at < n; at = end + 1) {
        const char *newline = memchr(text + at, '\n', n - at);
        end = newline ? (size_t)(newline - text) : n;
        put_made(r, at ? "\n  " : "  ", at ? 3 : 2, source, current_style(r));
        put_made(r, text + at, end - at, source, current_style(r));
    }
}

static void formula(struct render *r, const struct inert_formula *f)
{
    struct buffer made = {0};
    const char *text = r->in->text + f->from;
    size_t n = f->to - f->from, source = r->source + f->from;
    bool rows = f->display && !r->in_table, readable = !r->b->look.ascii && inert_write(r->in, f, &made);
    const struct lines *out = r->b->out;
    bool within = r->leaf_open && out->len > r->leaf && out->text[out->len - 1] != '\n';
    if (within && (rows || r->line_over)) put_made(r, "\n", 1, source, STYLE_TEXT);
    r->line_over = false;
    if (!readable) {
        while (n && text[n - 1] == '\n') n--;
        for (size_t at = 0, length; at < n; at += length + 1) { /* as it is written, with its lines */
            const char *newline = rows ? memchr(text + at, '\n', n - at) : NULL;
            length = newline ? (size_t)(newline - text) - at : n - at;
            plain(r, text + at, length, source + at);
            if (newline) put(r, "\n", 1, source + at + length, current_style(r));
        }
    } else if (rows) {
        formula_rows(r, made.bytes, made.n, source);
    } else {
        for (size_t i = 0; i < made.n; i++)
            if (made.bytes[i] == '\n') made.bytes[i] = ' ';
        put_made(r, made.bytes, made.n, source, current_style(r));
    }
    buffer_free(&made);
    r->line_over = rows && !f->open;
}

/* A piece of the text, with the formulas in it. */
static void text_with_formulas(struct render *r, size_t at, size_t to)
{
    while (at < to) {
        size_t begin;
        const struct inert_formula *f = inert_next(r->in, at, to, &begin);
        plain(r, r->in->text + at, begin - at, r->source + at);
        if (!f) return;
        if (begin == f->from) formula(r, f);
        at = f->to;
    }
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *arg)
{
    struct render *r = arg;
    size_t at, source = source_of(r, text);
    bool ours = inert_place(r->in, text, &at);
    if (ours) { /* never beyond the piece */
        if (at >= r->len) return 0;
        if (len > r->len - at) len = (MD_SIZE)(r->len - at);
    }
    if (r->in_code) {
        code_text(r, text, len, source, ours);
        return 0;
    }
    switch (type) {
    case MD_TEXT_SOFTBR: /* models end the lines of poems and addresses so, and mean it */
    case MD_TEXT_BR:
        put(r, r->in_table ? " " : "\n", 1, source_of(r, NULL), current_style(r));
        r->line_over = false;
        break;
    case MD_TEXT_ENTITY: entity(r, text, len); break;
    default:
        if (ours)
            text_with_formulas(r, at, at + len);
        else
            plain(r, text, len, source);
    }
    return 0;
}

void blocks_render(struct blocks *b, const char *text, size_t len, size_t source)
{
    static const MD_PARSER parser = {
        .flags = INERT_DIALECT,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = on_text,
    };
    struct inert in;
    if (len >= INT_MAX / 2 || !inert_open(&in, text, len)) {
        b->out->failed = true;
        return;
    }
    struct render r = {.b = b, .in = &in, .len = len, .source = source, .into = b->out};
    if (inert_parse(&in, &parser, &r) != 0) b->out->failed = true;
    close_leaf(&r);
    table_free(&r.table);
    buffer_free(&r.pending);
    inert_close(&in);
}
