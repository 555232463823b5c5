#include "ui/edit/draft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/edit/rows.h"
#include "ui/text/format.h"

static const int64_t grow_every_ns = 100 * 1000000;

void draft_free(struct draft_state *state)
{
    free(state->text);
    memset(state, 0, sizeof *state);
}

/* ---- Wrapping ---- */

enum { INDENT = 2 }; /* columns of "> ", and blanks before the further rows */

struct spot {
    int row, col;
};

/* Walks over prompt and text; draws each glyph when there is a canvas. */
struct walk {
    struct canvas *canvas;
    struct rect area;
    int top;
    struct spot at, cursor;
    const struct spot *sought; /* NULL: nothing is */
    size_t found;              /* the byte there, or the last one before it */
};

int draft_columns(int cols) { return cols - INDENT > 2 ? cols - INDENT : 2; }

static void place(struct walk *w, const struct width_glyph *glyph, int width, style_t style)
{
    static const struct width_glyph blank = {{' '}, 1, 1};
    int row = w->at.row - w->top, end = w->area.col + w->area.cols;
    bool is_tab = glyph->width == 0;
    for (int i = 0; i < width; i += is_tab ? 1 : width)
        if (w->canvas && row >= 0 && row < w->area.rows)
            canvas_glyph(w->canvas, w->area.row + row, w->area.col + w->at.col + i, end, is_tab ? &blank : glyph,
                         style);
    w->at.col += width;
}

static void walk_prompt(struct walk *w, const char *prompt)
{
    struct width_glyph glyph;
    for (size_t at = 0, n = strlen(prompt); at < n;) {
        at += width_next(prompt + at, n - at, &glyph);
        if (glyph.width && w->at.col + glyph.width < w->area.cols) place(w, &glyph, glyph.width, STYLE_TEXT);
    }
}

static style_t style_at(const struct view *view, size_t at, size_t read)
{
    const struct view_draft *d = &view->draft;
    style_t style = view->browse ? STYLE_QUIET : at < read ? STYLE_READ : STYLE_TEXT;
    return at >= d->mark_from && at < d->mark_to ? style | STYLE_REVERSE : style;
}

/* Bytes [from, to) in the present row. */
static void walk_row(struct walk *w, const struct view *view, size_t from, size_t to, size_t read)
{
    const struct view_draft *d = &view->draft;
    struct width_glyph glyph;
    int width, columns = draft_columns(w->area.cols);
    for (size_t at = from; at < to;) {
        size_t n = rows_next(d->text, d->len, at, w->at.col - INDENT, columns, &glyph, &width);
        if (at <= d->cursor && d->cursor < at + n) w->cursor = w->at;
        if (w->sought && w->at.row == w->sought->row && w->at.col <= w->sought->col) w->found = at;
        if (width) place(w, &glyph, width, style_at(view, at, read));
        at += n;
    }
}

static void walk_text(struct walk *w, const struct view *view, size_t read)
{
    const struct view_draft *d = &view->draft;
    int columns = draft_columns(w->area.cols);
    walk_prompt(w, d->prompt ? d->prompt : "> ");
    for (size_t from = 0;;) {
        size_t to = rows_end(d->text, d->len, from, columns, w->at.col - INDENT);
        walk_row(w, view, from, to, read);
        bool line_over = to == d->len || d->text[to] == '\n';
        if (line_over && w->sought && w->at.row <= w->sought->row && w->at.col <= w->sought->col) w->found = to;
        /* The place behind a full row is the next row's first. */
        if (line_over && d->cursor == to)
            w->cursor = w->at.col - INDENT < columns ? w->at : (struct spot){w->at.row + 1, INDENT};
        if (to == d->len) return;
        from = to + line_over;
        w->at = (struct spot){w->at.row + 1, INDENT};
    }
}

/* Walks without drawing; returns the rows. */
static int measure(struct walk *w, const struct view *view, struct rect area)
{
    *w = (struct walk){.area = area};
    walk_text(w, view, 0);
    return (w->at.row > w->cursor.row ? w->at.row : w->cursor.row) + 1;
}

size_t draft_byte_at(const struct draft_state *s, const struct view *view, struct rect area, int row, int col)
{
    const struct spot sought = {row + s->top, col < INDENT ? INDENT : col};
    struct walk w = {.area = area, .sought = &sought};
    walk_text(&w, view, 0);
    return w.at.row < sought.row ? view->draft.len : w.found;
}

int draft_rows(const struct view *view, int cols)
{
    struct walk w;
    return measure(&w, view, (struct rect){0, 0, 1, cols > 4 ? cols : 4});
}

/* ---- What is read ---- */

/* The byte at or before `to` where a word of the text ends. */
static size_t word_end(const char *text, size_t len, size_t to)
{
    if (to >= len) return len;
    while (to > 0 && text[to] != ' ' && text[to] != '\n' && text[to - 1] != ' ' && text[to - 1] != '\n') to--;
    return to;
}

static size_t shown_read(struct draft_state *s, const struct view *view)
{
    const struct view_draft *d = &view->draft;
    size_t same = 0, read = d->read_bytes < d->len ? d->read_bytes : d->len;
    while (same < s->len && same < d->len && s->text[same] == d->text[same]) same++;
    if (s->shown > same) s->shown = same;
    if (d->len > s->cap) {
        char *bigger = realloc(s->text, d->len * 2);
        if (bigger) {
            s->text = bigger;
            s->cap = d->len * 2;
        }
    }
    s->len = d->len <= s->cap ? d->len : s->cap;
    if (s->len) memcpy(s->text, d->text, s->len);
    if (d->mark != VIEW_MARK_READY) read = word_end(d->text, d->len, read);
    if (read > s->shown && (s->grown_ns == 0 || view->now_ns - s->grown_ns >= grow_every_ns)) {
        s->shown = read;
        s->grown_ns = view->now_ns;
    }
    return s->shown;
}

int64_t draft_next_ns(const struct draft_state *s, const struct view *view)
{
    const struct view_draft *d = &view->draft;
    size_t read = d->read_bytes < d->len ? d->read_bytes : d->len;
    if (d->mark != VIEW_MARK_READY && d->len) read = word_end(d->text, d->len, read);
    return read > s->shown ? s->grown_ns + grow_every_ns : INT64_MAX;
}

void draft_draw(struct draft_state *s, const struct view *view, struct canvas *canvas, struct rect area)
{
    if (rect_empty(area)) return;
    size_t read = shown_read(s, view);
    if (view->options.draft_marks != VIEW_DRAFT_FULL) read = 0;
    struct walk measured;
    s->rows = measure(&measured, view, area);
    s->shown_rows = area.rows;
    if (s->top > s->rows - area.rows) s->top = s->rows - area.rows;
    if (s->top < 0) s->top = 0;
    if (measured.cursor.row < s->top) s->top = measured.cursor.row;
    if (measured.cursor.row >= s->top + area.rows) s->top = measured.cursor.row - area.rows + 1;
    struct walk w = {.canvas = canvas, .area = area, .top = s->top};
    walk_text(&w, view, read);
    canvas->cursor_row = area.row + w.cursor.row - s->top;
    canvas->cursor_col = area.col + (w.cursor.col < area.cols ? w.cursor.col : area.cols - 1);
}

/* ---- The rule ---- */

static void mark_text(char out[FORMAT_SIZE], const struct view *view)
{
    static const char *const marks[] = {[VIEW_MARK_NONE] = "",
                                        [VIEW_MARK_AFTER_REPLY] = "[waits for reply]",
                                        [VIEW_MARK_FOLLOWING] = "[reading]",
                                        [VIEW_MARK_READY] = "[ready]",
                                        [VIEW_MARK_QUEUED] = "[queued]",
                                        [VIEW_MARK_TOO_LONG] = "[too long]",
                                        [VIEW_MARK_OFF] = "[off]",
                                        [VIEW_MARK_NOT_READ] = "[not read]",
                                        [VIEW_MARK_AGAIN] = "[draft is read again]",
                                        [VIEW_MARK_RUNS] = "[Enter runs]",
                                        [VIEW_MARK_RUNNING] = "[running]",
                                        [VIEW_MARK_SENDS] = "[sent once read]"};
    char n[FORMAT_SIZE];
    if (view->draft.mark == VIEW_MARK_TO_READ)
        snprintf(out, FORMAT_SIZE, "[%.20s to read]", format_count(n, view->draft.to_read));
    else
        snprintf(out, FORMAT_SIZE, "%s", (size_t)view->draft.mark <= VIEW_MARK_SENDS ? marks[view->draft.mark] : "");
    bool of_reading = view->draft.mark <= VIEW_MARK_AGAIN;
    if (view->options.draft_marks == VIEW_DRAFT_OFF && of_reading) out[0] = 0;
}

/* "lines 54-61 of 61" before the mark, which begins at `mark`, where the draft is longer than its area. Returns the
 * column where the hints end. */
static int draw_place(const struct draft_state *s, struct canvas *canvas, struct rect area, int mark)
{
    char text[FORMAT_SIZE];
    int end = mark < area.col + area.cols - 2 ? mark : area.col + area.cols - 2;
    if (s->rows <= s->shown_rows) return mark;
    int n = snprintf(text, sizeof text, " lines %d-%d of %d ", s->top + 1, s->top + s->shown_rows, s->rows);
    if (end - n < area.col + 2) return mark;
    canvas_puts(canvas, area.row, end - n, end, text, STYLE_STATUS);
    return end - n;
}

/* Why the draft gets no tint while a reply is written, before the mark and beside the first hints. Returns the column
 * where the hints end. */
static int draw_reason(const struct view *view, struct canvas *canvas, struct rect area, int end)
{
    static const char text[] = " reply is read first ";
    enum { FIRST_HINTS = 27, N = sizeof text - 1 };
    if (view->draft.mark != VIEW_MARK_AFTER_REPLY || !view->draft.len || end - N < area.col + FIRST_HINTS) return end;
    if (view->options.draft_marks != VIEW_DRAFT_FULL) return end;
    canvas_puts(canvas, area.row, end - N, end, text, STYLE_QUIET);
    return end - N;
}

enum { HINT = 32 };

/* What can be done with several answers; returns how many hints that are. */
static int answers_hints(const struct view_answers *a, char parts[2][HINT], const char **hints)
{
    enum view_turn_state looked = a->turns[a->looked].state;
    int n = 0;
    snprintf(parts[0], HINT, "^X 1-%zu look", a->n);
    snprintf(parts[1], HINT, "^X k stop %zu", a->looked + 1);
    hints[n++] = parts[0];
    if (looked == VIEW_TURN_ANSWERING || looked == VIEW_TURN_THINKING) hints[n++] = parts[1];
    if (a->writing) hints[n++] = "^C stop all";
    return n;
}

void draft_draw_rule(const struct draft_state *s, const struct view *view, struct canvas *canvas, struct rect area)
{
    const struct view_draft *d = &view->draft;
    int col = area.col, end = area.col + area.cols;
    char mark[FORMAT_SIZE], first[64];
    if (rect_empty(area)) return;
    canvas_fill(canvas, area, view->options.ascii ? '-' : 0x2500, STYLE_RULE);
    mark_text(mark, view);
    int mark_col = end - 2 - (int)strlen(mark);
    if (mark[0] && mark_col > col)
        canvas_puts(canvas, area.row, mark_col, end, mark,
                    d->mark == VIEW_MARK_TOO_LONG || d->mark == VIEW_MARK_NOT_READ ? STYLE_WARN
                    : d->mark == VIEW_MARK_READY || d->mark == VIEW_MARK_RUNS      ? STYLE_STATE
                                                                                   : STYLE_STATUS);
    int hints_end = draw_reason(view, canvas, area, draw_place(s, canvas, area, mark[0] ? mark_col : end));
    const char *hints[10];
    size_t marked = 0;
    char parts[2][HINT];
    int n = 0;
    for (size_t i = 0; i < d->n_attached; i++)
        if (d->attached[i].marked) marked = i + 1;
    if (view->browse) {
        const char *const browse[] = {"BROWSE", "j k move", "[ ] turn", "/ search", "y copy", "Enter back"};
        const char *const found[] = {"BROWSE", first, "n N next", "y copy", "Enter back", "/ search"};
        snprintf(first, sizeof first, "hit %zu of %zu", view->hit, view->hits);
        for (size_t i = 0; i < sizeof browse / sizeof *browse; i++) hints[n++] = (view->hit ? found : browse)[i];
    } else if (view->monitor.inspect) {
        static const char *const inspect[] = {"INSPECT", "Left Right move", "Esc ends", "typing drafts"};
        for (size_t i = 0; i < sizeof inspect / sizeof *inspect; i++) hints[n++] = inspect[i];
    } else if (d->editing) {
        snprintf(first, sizeof first, "editing turn %d: Enter branches, Ctrl-C leaves", d->editing);
        hints[n++] = first;
    } else if (d->compacts && !d->streaming) {
        hints[n++] = "Enter compacts";
        hints[n++] = "Ctrl-C leaves";
        hints[n++] = "^X ^E editor";
    } else if (view->answers.n && d->mark != VIEW_MARK_RUNS && d->mark != VIEW_MARK_RUNNING) {
        snprintf(first, sizeof first, d->len || d->streaming ? "Enter replies to %zu" : "Enter takes %zu",
                 view->answers.looked + 1);
        hints[n++] = first;
        n += answers_hints(&view->answers, parts, hints + n);
        hints[n++] = "F1 keys";
    } else {
        bool full = view->monitor.form == VIEW_FORM_FULL, running = d->mark == VIEW_MARK_RUNNING;
        if (marked) snprintf(first, sizeof first, "Backspace takes %zu back", marked);
        hints[n++] = marked                      ? first
                     : d->mark == VIEW_MARK_RUNS ? "a blank first: text"
                     : d->streaming              ? "Enter queues"
                                                 : "Enter sends";
        bool stops = running || d->mark == VIEW_MARK_SENDS;
        if (stops) hints[n++] = "^C stop";
        if (!full) hints[n++] = "^J newline";
        if (d->streaming && !stops) hints[n++] = "^C stop";
        if (d->n_attached) hints[n++] = "^X a attachments";
        if (full) { /* the full form has the screen, and no letters of its own */
            hints[n++] = "^X v live/turn";
            hints[n++] = "^X i inspect";
            hints[n++] = "Esc leaves";
        }
        hints[n++] = "^X more";
        hints[n++] = "F1 keys";
    }
    if (d->mode) hints[n++] = d->mode;
    col += 2;
    for (int i = 0; i < n; i++) {
        int need = 1 + (int)strlen(hints[i]) + 1;
        if (col + need > hints_end - 1) break;
        if (i) col--; /* two blanks between hints, one before the line goes on */
        canvas_puts(canvas, area.row, col, end, i ? "  " : " ", STYLE_RULE);
        col = canvas_puts(canvas, area.row, col + (i ? 2 : 1), end, hints[i], i ? STYLE_QUIET : STYLE_STATUS);
        col = canvas_puts(canvas, area.row, col, end, " ", STYLE_RULE);
    }
}
