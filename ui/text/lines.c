#include "ui/text/lines.h"

#include <stdlib.h>
#include <string.h>

void lines_free(struct lines *lines)
{
    free(lines->text);
    free(lines->runs);
    free(lines->line);
    free(lines->prefixes);
    memset(lines, 0, sizeof *lines);
}

/* Makes room for one more element than used; offsets are 32 bits, so no buffer grows past 2 GiB. */
static bool grow(struct lines *lines, void **array, size_t *cap, size_t used, size_t more, size_t size)
{
    if (lines->failed) return false;
    if (used + more <= *cap) return true;
    size_t want = *cap ? *cap * 2 : 64;
    while (want < used + more) want *= 2;
    void *bigger = want > (size_t)INT32_MAX / size ? NULL : realloc(*array, want * size);
    if (!bigger) {
        lines->failed = true;
        return false;
    }
    *array = bigger;
    *cap = want;
    return true;
}

struct lines_mark lines_mark(const struct lines *lines)
{
    return (struct lines_mark){lines->len, lines->n_runs, lines->n, lines->prefix_len};
}

void lines_cut(struct lines *lines, struct lines_mark mark)
{
    lines->len = mark.len;
    lines->n_runs = mark.n_runs;
    lines->n = mark.n;
    lines->prefix_len = mark.prefix_len;
}

static void add(struct lines *lines, const char *text, size_t len, size_t source, style_t style, bool made)
{
    if (len == 0) return;
    if (!grow(lines, (void **)&lines->text, &lines->cap, lines->len, len, 1)) return;
    if (!grow(lines, (void **)&lines->runs, &lines->cap_runs, lines->n_runs, 1, sizeof *lines->runs)) return;
    struct lines_run *last = lines->n_runs ? &lines->runs[lines->n_runs - 1] : NULL;
    bool joins = last && last->style == style && last->made == made &&
                 last->source + (made ? 0 : lines->len - last->from) == source;
    if (!joins) lines->runs[lines->n_runs++] = (struct lines_run){(uint32_t)lines->len, (uint32_t)source, style, made};
    memcpy(lines->text + lines->len, text, len);
    lines->len += len;
}

void lines_add(struct lines *lines, const char *text, size_t len, size_t source, style_t style)
{
    add(lines, text, len, source, style, false);
}

void lines_add_made(struct lines *lines, const char *text, size_t len, size_t source, style_t style)
{
    add(lines, text, len, source, style, true);
}

void lines_add_tabs(struct lines *lines, const char *text, size_t len, size_t source, style_t style)
{
    int col = 0;
    size_t start = 0;
    for (size_t at = 0; at < len;) {
        struct width_glyph glyph;
        size_t n = width_next(text + at, len - at, &glyph);
        if (text[at] == '\t') {
            static const char blanks[WIDTH_TAB + 1] = "        ";
            int stop = WIDTH_TAB - col % WIDTH_TAB;
            lines_add(lines, text + start, at - start, source + start, style);
            lines_add_made(lines, blanks, (size_t)stop, source + at, style);
            col += stop;
            start = at + n;
        } else if (text[at] == '\n') {
            col = 0;
        } else if (text[at] == '\r' && at + 1 < len && text[at + 1] == '\n') {
            lines_add(lines, text + start, at - start, source + start, style);
            start = at + n;
        }
        col += glyph.width;
        at += n;
    }
    lines_add(lines, text + start, len - start, source + start, style);
}

static void add_line(struct lines *lines, size_t from, size_t to, const char *prefix, style_t style)
{
    size_t len = strlen(prefix);
    if (!grow(lines, (void **)&lines->line, &lines->cap_lines, lines->n, 1, sizeof *lines->line)) return;
    if (!grow(lines, (void **)&lines->prefixes, &lines->prefix_cap, lines->prefix_len, len + 1, 1)) return;
    memcpy(lines->prefixes + lines->prefix_len, prefix, len);
    lines->line[lines->n++] =
        (struct lines_line){(uint32_t)from, (uint32_t)to, (uint32_t)lines->prefix_len, (uint32_t)len, style};
    lines->prefix_len += len;
}

void lines_wrap(struct lines *lines, size_t from, int width, struct lines_prefix prefix, enum lines_fit fit)
{
    const char *start = prefix.first;
    size_t end = lines->len, line = from, at = from;
    size_t brk = 0, brk_to = 0; /* where the next line would begin, and where this one would end */
    int indent = width_text(prefix.first, strlen(prefix.first)), col = 0;
    bool wide_before = false;
    while (at < end) {
        struct width_glyph glyph;
        size_t n = width_next(lines->text + at, end - at, &glyph);
        char c = lines->text[at];
        if (c == '\n') {
            add_line(lines, line, at, start, prefix.style);
            at += n;
            line = at;
            goto next_line;
        }
        bool wide = glyph.width == 2;
        if (fit == LINES_WORDS && at > line && (wide || wide_before) && c != ' ' && !width_sticks(glyph.point[0])) {
            brk = at;
            brk_to = at;
        }
        int room = width - indent > 2 ? width - indent : 2;
        if (col + glyph.width > room && !(fit == LINES_WORDS && c == ' ') && at > line) {
            size_t to = at, next = at;
            if (brk > line) {
                next = brk;
                to = brk_to;
            }
            add_line(lines, line, to, start, prefix.style);
            line = at = next;
            goto next_line;
        }
        if (fit == LINES_WORDS && c == ' ') {
            if (brk != at || brk <= line) brk_to = at; /* a run of blanks: the line ends before its first */
            brk = at + n;
        }
        wide_before = wide;
        col += glyph.width;
        at += n;
        continue;
    next_line:
        start = prefix.rest;
        indent = width_text(start, strlen(start));
        col = 0;
        brk = brk_to = 0;
        wide_before = false;
    }
    while (fit == LINES_WORDS && end > line && lines->text[end - 1] == ' ') end--;
    add_line(lines, line, end, start, prefix.style);
}

void lines_one(struct lines *lines, const char *text, style_t style, int width, bool right)
{
    char pad[512];
    size_t len = strlen(text), from = lines->len;
    len = width_fit(text, len, width);
    int blanks = right ? width - width_text(text, len) : 0;
    if (blanks < 0) blanks = 0;
    if (blanks > (int)sizeof pad - 1) blanks = (int)sizeof pad - 1;
    memset(pad, ' ', (size_t)blanks);
    pad[blanks] = 0;
    lines_add(lines, text, len, 0, style);
    add_line(lines, from, lines->len, pad, STYLE_TEXT);
}

/* The run that holds byte `at` of the text. */
static size_t find_run(const struct lines *lines, size_t at)
{
    size_t low = 0, high = lines->n_runs;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (lines->runs[mid].from <= at)
            low = mid;
        else
            high = mid;
    }
    return low;
}

void lines_copy(struct lines *lines, const struct lines *other, size_t from, size_t to)
{
    if (other->n_runs == 0) return;
    size_t run = find_run(other, from);
    for (size_t at = from; at < to;) {
        while (run + 1 < other->n_runs && other->runs[run + 1].from <= at) run++;
        size_t stop = run + 1 < other->n_runs ? other->runs[run + 1].from : other->len;
        if (stop > to) stop = to;
        const struct lines_run *r = &other->runs[run];
        add(lines, other->text + at, stop - at, r->source + (r->made ? 0 : at - r->from), r->style, r->made);
        at = stop;
    }
}

size_t lines_source(const struct lines *lines, size_t i)
{
    if (i >= lines->n || lines->n_runs == 0) return 0;
    const struct lines_run *run = &lines->runs[find_run(lines, lines->line[i].from)];
    size_t at = lines->line[i].from;
    return run->source + (at > run->from && !run->made ? at - run->from : 0);
}

size_t lines_at_source(const struct lines *lines, size_t source)
{
    size_t low = 0, high = lines->n;
    while (low + 1 < high) {
        size_t mid = low + (high - low) / 2;
        if (lines_source(lines, mid) <= source)
            low = mid;
        else
            high = mid;
    }
    return low;
}

void lines_draw(const struct lines *lines, size_t i, struct canvas *canvas, int row, int col, int end,
                const struct lines_match *matches, size_t n_matches)
{
    if (i >= lines->n) return;
    const struct lines_line *line = &lines->line[i];
    col = canvas_put(canvas, row, col, end, lines->prefixes + line->prefix, line->prefix_len, line->prefix_style);
    if (lines->n_runs == 0) return;
    size_t run = find_run(lines, line->from), m = 0;
    for (size_t at = line->from; at < line->to && col < end;) {
        while (run + 1 < lines->n_runs && lines->runs[run + 1].from <= at) run++;
        while (m < n_matches && matches[m].to <= at) m++;
        size_t stop = run + 1 < lines->n_runs ? lines->runs[run + 1].from : lines->len;
        style_t style = lines->runs[run].style;
        if (stop > line->to) stop = line->to;
        if (m < n_matches && at >= matches[m].from) {
            style = matches[m].style;
            if (stop > matches[m].to) stop = matches[m].to;
        } else if (m < n_matches && stop > matches[m].from) {
            stop = matches[m].from;
        }
        col = canvas_put(canvas, row, col, end, lines->text + at, stop - at, style);
        at = stop;
    }
}
