#include "ui/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/edit/chips.h"
#include "ui/edit/draft.h"
#include "ui/monitor/legend.h"
#include "ui/monitor/monitor.h"
#include "ui/popup.h"
#include "ui/preview/draw.h"
#include "ui/text/answers.h"
#include "ui/text/format.h"
#include "ui/text/lines.h"
#include "ui/text/state.h"

struct screen {
    struct transcript *transcript;
    struct answers *answers;
    struct monitor_state monitor;
    struct draft_state draft;
    struct layout layout;
};

struct screen *screen_new(void)
{
    struct screen *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->transcript = transcript_new();
    s->answers = answers_new();
    if (s->transcript && s->answers) return s;
    screen_free(s);
    return NULL;
}

void screen_free(struct screen *s)
{
    if (!s) return;
    transcript_free(s->transcript);
    answers_free(s->answers);
    draft_free(&s->draft);
    monitor_free(&s->monitor);
    free(s);
}

const struct layout *screen_layout(const struct screen *s) { return &s->layout; }
struct transcript *screen_transcript(struct screen *s) { return s->transcript; }

struct transcript *screen_scrolled(struct screen *s, const struct view **view, struct view *own)
{
    if (!(*view)->answers.n) return s->transcript;
    struct transcript *looked = answers_looked(s->answers, *view, own);
    *view = own;
    return looked;
}

static int bits(unsigned n)
{
    int count = 0;
    for (; n; n &= n - 1) count++;
    return count;
}


/* All lines of the message in one row. */
static void draw_queued(const char *text, struct canvas *canvas, int row, int col, int end)
{
    col = canvas_puts(canvas, row, col, end, "queued: ", STYLE_NOTICE);
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n");
        col = canvas_put(canvas, row, col, end, text, n, STYLE_QUIET);
        if (!text[n]) return;
        col = canvas_puts(canvas, row, col, end, " ", STYLE_QUIET);
        n++;
    }
}

/* A text of any length in rows that end above `row`; returns the row above it. Without a canvas it is only counted. */
static int draw_wrapped(const char *text, style_t style, struct canvas *canvas, int row, struct rect area)
{
    enum { LIMIT = 4 };
    struct lines lines = {0};
    lines_add(&lines, text, strlen(text), 0, style);
    lines_wrap(&lines, 0, area.cols, (struct lines_prefix){"", "  ", style}, LINES_WORDS);
    int n = (int)(lines.n < LIMIT ? lines.n : LIMIT), top = row - n + 1;
    for (int i = 0; canvas && i < n; i++)
        if (top + i >= area.row)
            lines_draw(&lines, (size_t)i, canvas, top + i, area.col, area.col + area.cols, NULL, 0);
    lines_free(&lines);
    return row - n;
}

static int notice_rows(const struct view *view, int cols)
{
    int row = 0;
    for (size_t i = 0; i < view->n_notices; i++)
        row = draw_wrapped(view->notices[i].text, STYLE_TEXT, NULL, row, (struct rect){0, 0, 1, cols});
    return -row;
}

static const style_t notice_styles[] = {STYLE_NOTICE, STYLE_WARN, STYLE_ERROR};

/* The part of an area that holds text. */
static struct rect text_part(const struct screen *s, struct rect area)
{
    if (area.cols > s->layout.text_cols) area.cols = s->layout.text_cols;
    return area;
}

/* The panel and the full form have a place of their own for the legend. */
static int rows_of_legend(const struct screen *s, const struct view *view)
{
    bool shown = s->layout.form == VIEW_FORM_STRIP && view->monitor.legend;
    return shown ? legend_rows(s->layout.notices.cols, legend_lost(&view->monitor), LEGEND_HIDE) : 0;
}

/* Notices, warnings that last, the queued message, the legend, the sentence: one row each, the last ones
 * first when rows lack. */
static void draw_notices(struct screen *s, const struct view *view, struct canvas *canvas)
{
    struct rect area = s->layout.notices;
    int row = area.row + area.rows - 1, end = area.col + area.cols;
    char text[STATE_SIZE];
    bool has_sentence = s->layout.form == VIEW_FORM_STRIP || s->layout.form == VIEW_FORM_FULL;
    bool sentence = s->layout.form == VIEW_FORM_PANEL || (state_matters(view) && !has_sentence);
    if (sentence && row >= area.row && view->answers.n)
        monitor_rule(view, canvas, (struct rect){row--, area.col, 1, area.cols}, state_sentence(text, view), STYLE_TEXT,
                     " ^X m ");
    else if (sentence && row >= area.row)
        canvas_puts(canvas, row--, area.col, end, state_sentence(text, view),
                    view->status.state == VIEW_FAILED || view->status.state == VIEW_FULL ? STYLE_ERROR : STYLE_NOTICE);
    if (view->draft.queued && row >= area.row) {
        draw_queued(view->draft.queued, canvas, row--, area.col, end);
    }
    for (size_t i = view->n_notices; i-- > 0 && row >= area.row;)
        row = draw_wrapped(view->notices[i].text, notice_styles[view->notices[i].level % 3], canvas, row,
                           text_part(s, area));
    for (int i = VIEW_WARNINGS - 1; i >= 0 && row >= area.row; i--)
        if (state_warning(text, view, i)) canvas_puts(canvas, row--, area.col, end, text, STYLE_WARN);
    int legend = rows_of_legend(s, view);
    if (legend && row - legend + 1 >= area.row)
        legend_draw(canvas, (struct rect){row - legend + 1, area.col, legend, area.cols}, legend_lost(&view->monitor),
                    LEGEND_HIDE);
}

static int preview_rows(const struct view *view)
{
    for (size_t i = 0; i < view->draft.n_attached; i++)
        if (view->draft.attached[i].n_pictures && view->options.pictures) return PREVIEW_ROWS;
    return 0;
}

/* Side by side, as many as there is room for. */
static void draw_previews(const struct view *view, struct canvas *canvas, struct rect area)
{
    enum { GAP = 2 };
    int col = area.col, end = area.col + area.cols, cols, rows;
    for (size_t i = 0; i < view->draft.n_attached; i++) {
        const struct view_attachment *a = &view->draft.attached[i];
        for (size_t k = 0; k < a->n_pictures; k++, col += cols + GAP) {
            preview_cells_of(&a->pictures[k], &view->options, area.cols, area.rows, &cols, &rows);
            if (col + cols > end) return;
            preview_draw(canvas, &a->pictures[k], &view->options, area.row + area.rows - rows, col, rows, cols, area);
        }
    }
}

static void draw_too_small(struct canvas *canvas)
{
    canvas_puts(canvas, 0, 0, canvas->cols, "too small: 20x5", STYLE_TEXT);
    if (canvas->rows > 1) canvas_puts(canvas, 1, 0, canvas->cols, "is the least", STYLE_TEXT);
}

/* Where popups open: everything above the chips and the rule of the input. */
static struct rect popup_area(const struct screen *s, const struct canvas *canvas)
{
    if (rect_empty(s->layout.rule)) return (struct rect){0, 0, canvas->rows - 1, canvas->cols}; /* there is no input */
    const struct rect *last = !rect_empty(s->layout.previews) ? &s->layout.previews
                              : rect_empty(s->layout.chips)   ? &s->layout.rule
                                                              : &s->layout.chips;
    return (struct rect){0, 0, last->row, s->layout.rule.cols};
}

int screen_item_at(const struct screen *s, const struct view *view, int row)
{
    if (rect_empty(s->layout.rule)) return -1;
    return popup_item_at(&view->popup, (struct rect){0, 0, s->layout.rule.row, s->layout.rule.cols}, row);
}

size_t screen_draft_at(const struct screen *s, const struct view *view, int row, int col)
{
    struct rect area = text_part(s, s->layout.input);
    bool inside = row >= area.row && row < area.row + area.rows && col >= area.col && col < area.col + area.cols;
    return inside ? draft_byte_at(&s->draft, view, area, row - area.row, col - area.col) : SIZE_MAX;
}

int screen_popup_page(const struct screen *s)
{
    int rows = rect_empty(s->layout.rule) ? s->layout.monitor.rows - 1 : popup_area(s, NULL).rows;
    return rows > 2 ? rows - 2 : rows > 1 ? rows : 1; /* without a border in two rows */
}

void screen_draw(struct screen *s, const struct view *view, struct canvas *canvas)
{
    canvas->ascii = view->options.ascii;
    canvas_clear(canvas);
    const int width = view->options.width;
    struct layout_request request = {
        .rows = canvas->rows,
        .cols = canvas->cols,
        .width = width,
        .input_rows = draft_rows(view, layout_text_cols(canvas->rows, canvas->cols, view->monitor.form, width)),
        .chips = view->draft.n_attached > 0,
        .preview_rows = preview_rows(view),
        .sentence = state_matters(view),
        .form = view->monitor.form,
        .inspect = view->monitor.inspect,
        .alone = view->monitor.alone,
    };
    s->layout = layout_compute(&request);
    request.notice_rows = notice_rows(view, s->layout.text_cols) + bits(view->status.warnings) +
                          (view->draft.queued != NULL) + rows_of_legend(s, view);
    s->layout = layout_compute(&request);
    if (s->layout.too_small) {
        draw_too_small(canvas);
        return;
    }
    const struct layout *l = &s->layout;
    bool ascii = view->options.ascii, across = l->separator.rows == 1;
    canvas_fill(canvas, l->separator, across ? (ascii ? '-' : 0x2500) : ascii ? '|' : 0x2502, STYLE_RULE);
    if (!view->monitor.alone) {
        if (view->n_turns == 0) popup_draw_card(view, canvas, text_part(s, l->transcript));
        if (view->answers.n)
            answers_draw(s->answers, view, canvas, l->transcript);
        else if (!rect_empty(l->transcript)) /* the transcript keeps its place */
            transcript_draw(s->transcript, view, canvas, text_part(s, l->transcript));
        bool lasts = !view->status.private_session && !view->popup.kind;
        canvas->lasting = lasts ? l->transcript.row + l->transcript.rows : 0;
        draw_notices(s, view, canvas);
        draft_draw(&s->draft, view, canvas, text_part(s, l->input));
        draft_draw_rule(&s->draft, view, canvas, l->rule);
        if (!rect_empty(l->previews)) draw_previews(view, canvas, text_part(s, l->previews));
        chips_draw(view, canvas, text_part(s, l->chips));
        state_draw_status(view, canvas, l->status);
    }
    monitor_draw(&s->monitor, view, l->form, canvas, l->monitor);
    popup_draw(view, canvas, popup_area(s, canvas));
}

int screen_timeout_ms(const struct screen *s, const struct view *view)
{
    int64_t next = monitor_next_ns(&s->monitor, view, s->layout.form);
    int64_t draft = draft_next_ns(&s->draft, view);
    if (draft < next) next = draft;
    if (s->layout.too_small || next == INT64_MAX) return -1;
    int64_t ms = (next - view->now_ns + 999999) / 1000000;
    return ms < 0 ? 0 : ms > 60000 ? 60000 : (int)ms;
}
