#include "ui/text/markdown.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buffer.h"
#include "engine/base/utf8.h"
#include "ui/formula/inert.h"

/* An open piece longer than this is closed at a line's end even within a block: time before beauty. */
enum { MAX_OPEN = 32 << 10 };

void markdown_start(struct markdown *md, struct lines *out, struct blocks_look look)
{
    *md = (struct markdown){.blocks = {.out = out, .look = look}};
    md->mark = lines_mark(out);
}

struct line {
    size_t from, to, next; /* to: without the newline */
    bool complete;
};

static struct line line_at(const char *text, size_t len, size_t at)
{
    const char *nl = memchr(text + at, '\n', len - at);
    size_t to = nl ? (size_t)(nl - text) : len;
    return (struct line){at, to, nl ? to + 1 : len, nl != NULL};
}

static bool is_blank(const char *text, struct line l)
{
    for (size_t i = l.from; i < l.to; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    return true;
}

/* Length of the fence that the line begins with, 0 for none. */
static int fence_of(const char *text, struct line l, char *fence, int *indent)
{
    size_t at = l.from;
    while (at < l.to && text[at] == ' ' && at - l.from < 4) at++;
    *indent = (int)(at - l.from);
    if (*indent > 3 || at >= l.to || (text[at] != '`' && text[at] != '~')) return 0;
    size_t n = at;
    while (n < l.to && text[n] == text[at]) n++;
    *fence = text[at];
    return n - at >= 3 && n - at < 1000 ? (int)(n - at) : 0;
}

/* The same where it can begin a code block. */
static int opening_fence(const char *text, struct line l, char *fence, int *indent)
{
    int n = fence_of(text, l, fence, indent);
    size_t info = l.from + (size_t)*indent + (size_t)n;
    return n && *fence == '`' && memchr(text + info, '`', l.to - info) ? 0 : n;
}

static bool opens_fence(struct markdown *md, const char *text, struct line l)
{
    char fence = 0;
    int indent, n = opening_fence(text, l, &fence, &indent);
    if (n == 0) return false;
    size_t info = l.from + (size_t)indent + (size_t)n, end = l.to;
    while (info < end && (text[info] == ' ' || text[info] == '\t')) info++;
    while (end > info && isspace((unsigned char)text[end - 1])) end--;
    size_t word = info;
    while (word < end && !isspace((unsigned char)text[word])) word++;
    md->fence = fence;
    md->fence_len = n;
    md->fence_indent = indent;
    md->language = highlight_find(text + info, word - info);
    md->state = (struct highlight_state){0};
    blocks_code_head(&md->blocks, text + info, word - info, l.from);
    return true;
}

static bool closes_fence(const struct markdown *md, const char *text, struct line l)
{
    char fence = 0;
    int indent, n = fence_of(text, l, &fence, &indent);
    if (n < md->fence_len || fence != md->fence) return false;
    l.from += (size_t)indent + (size_t)n;
    return is_blank(text, l);
}

/* A line of code, less the indent of its fence. */
static void code_line(struct markdown *md, const char *text, struct line l)
{
    size_t from = l.from;
    while (from < l.to && (int)(from - l.from) < md->fence_indent && text[from] == ' ') from++;
    blocks_code_line(&md->blocks, md->language, &md->state, text + from, l.to - from, from);
}

static bool starts_list(const char *text, struct line l)
{
    size_t at = l.from;
    while (at < l.to && text[at] == ' ' && at - l.from < 4) at++;
    if (at < l.to && (text[at] == '-' || text[at] == '*' || text[at] == '+'))
        return at + 1 == l.to || text[at + 1] == ' ' || text[at + 1] == '\t';
    size_t digits = at;
    while (at < l.to && isdigit((unsigned char)text[at])) at++;
    return at > digits && at < l.to && (text[at] == '.' || text[at] == ')');
}

/* The end of the first piece from `at` that nothing later can change; 0 when there is none yet. */
static size_t piece_end(const char *text, size_t len, size_t at)
{
    struct line l = line_at(text, len, at);
    bool list = starts_list(text, l), blank = false;
    size_t start = at;
    for (; at < len; at = l.next) {
        l = line_at(text, len, at);
        if (!l.complete && !(l.to > l.from && isalpha((unsigned char)text[l.from]))) break;
        if (is_blank(text, l)) {
            blank = true;
            continue;
        }
        bool edge = text[l.from] != ' ' && text[l.from] != '\t';
        char fence;
        int indent;
        if (at > start && edge && l.complete && fence_of(text, l, &fence, &indent)) return at;
        if (at > start && blank && edge && !(list && starts_list(text, l))) return at;
        if (at - start > MAX_OPEN) return at;
        blank = false;
    }
    /* One line without end: close it at a blank. */
    if (l.to - start > MAX_OPEN && l.from == start) {
        for (size_t i = start + MAX_OPEN; i < l.to; i++)
            if (text[i] == ' ') return i;
        if (l.to - start > 4 * MAX_OPEN) { /* not within a character */
            size_t i = start + MAX_OPEN;
            while (i < l.to && utf8_continues(text[i])) i++;
            return i;
        }
    }
    return 0;
}

/* Renders what is final from md->closed on. */
static void close_pieces(struct markdown *md, const char *text, size_t len)
{
    while (md->closed < len) {
        struct line l = line_at(text, len, md->closed);
        if (md->fence) {
            if (!l.complete) return;
            if (closes_fence(md, text, l)) {
                md->fence = 0;
                md->blocks.gap = true;
            } else {
                code_line(md, text, l);
            }
            md->closed = l.next;
        } else if (l.complete && is_blank(text, l)) {
            md->closed = l.next;
        } else if (l.complete && opens_fence(md, text, l)) {
            md->closed = l.next;
        } else {
            size_t end = piece_end(text, len, md->closed);
            if (end <= md->closed) return;
            blocks_render(&md->blocks, text + md->closed, end - md->closed, md->closed);
            md->closed = end;
        }
        md->mark = lines_mark(md->blocks.out);
    }
}

void markdown_update(struct markdown *md, const char *text, size_t len)
{
    lines_cut(md->blocks.out, md->mark);
    close_pieces(md, text, len);
    if (md->closed >= len) return;
    /* The open end: rendered, but the state before it is kept. */
    struct markdown before = *md;
    if (md->fence) {
        struct line l = line_at(text, len, md->closed);
        if (!closes_fence(md, text, l)) code_line(md, text, l);
    } else {
        blocks_render(&md->blocks, text + md->closed, len - md->closed, md->closed);
    }
    *md = before;
}

/* ---- Code blocks and links by number ---- */

struct find {
    int wanted, seen;
    bool inside;
    struct buffer text;
    bool failed;
};

static int find_enter(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct find *f = arg;
    (void)detail;
    if (type == MD_BLOCK_CODE) f->inside = ++f->seen == f->wanted;
    return 0;
}

static int find_leave(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct find *f = arg;
    (void)detail;
    if (type != MD_BLOCK_CODE || !f->inside) return 0;
    f->inside = false;
    return 1; /* found: parse no further */
}

static int find_span(MD_SPANTYPE type, void *detail, void *arg)
{
    (void)type, (void)detail, (void)arg;
    return 0;
}

static int find_no_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    (void)type, (void)detail, (void)arg;
    return 0;
}

static int find_no_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *arg)
{
    (void)type, (void)text, (void)len, (void)arg;
    return 0;
}

static int find_link(MD_SPANTYPE type, void *detail, void *arg)
{
    struct find *f = arg;
    if ((type != MD_SPAN_A && type != MD_SPAN_IMG) || ++f->seen != f->wanted) return 0;
    const MD_ATTRIBUTE *to =
        type == MD_SPAN_A ? &((MD_SPAN_A_DETAIL *)detail)->href : &((MD_SPAN_IMG_DETAIL *)detail)->src;
    buffer_reserve(&f->text, to->size, NULL);
    buffer_append(&f->text, to->text, to->size, NULL);
    return 1; /* found: parse no further */
}

static int find_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE len, void *arg)
{
    struct find *f = arg;
    (void)type;
    if (!f->inside || f->failed) return 0;
    f->failed = buffer_append(&f->text, text, len, NULL) != TDM_OK;
    return 0;
}

static void parse(const char *text, size_t len, const MD_PARSER *parser, struct find *f)
{
    struct inert in;
    if (len >= INT_MAX / 2 || !inert_open(&in, text, len)) return;
    inert_parse(&in, parser, f);
    inert_close(&in);
}

int markdown_open_fence(const char *text, size_t len, char *fence)
{
    struct markdown open = {0};
    for (size_t at = 0; at < len;) {
        struct line l = line_at(text, len, at);
        if (!open.fence_len)
            open.fence_len = opening_fence(text, l, &open.fence, &open.fence_indent);
        else if (closes_fence(&open, text, l))
            open.fence_len = 0;
        at = l.next;
    }
    *fence = open.fence;
    return open.fence_len;
}

char *markdown_code_block(const char *text, size_t len, int n, size_t *out_len)
{
    static const MD_PARSER parser = {.flags = INERT_DIALECT,
                                     .enter_block = find_enter,
                                     .leave_block = find_leave,
                                     .enter_span = find_span,
                                     .leave_span = find_span,
                                     .text = find_text};
    struct find f = {.wanted = n};
    parse(text, len, &parser, &f);
    if (f.seen < n || f.failed) {
        buffer_free(&f.text);
        return NULL;
    }
    *out_len = f.text.n;
    return f.text.bytes ? f.text.bytes : calloc(1, 1);
}

char *markdown_link(const char *text, size_t len, int n)
{
    static const MD_PARSER parser = {.flags = INERT_DIALECT,
                                     .enter_block = find_no_block,
                                     .leave_block = find_no_block,
                                     .enter_span = find_link,
                                     .leave_span = find_span,
                                     .text = find_no_text};
    struct find f = {.wanted = n};
    parse(text, len, &parser, &f);
    return f.text.bytes;
}
