#include "ui/draw/layout.h"

enum { RULE_ROWS = 1, CHIP_ROWS = 1, STATUS_ROWS = 1, STRIP_ROWS = 4, LINE_ROWS = 1, LEAST_PREVIEW = 3 };

static int at_most(int a, int b) { return a < b ? a : b; }
static int at_least(int a, int b) { return a > b ? a : b; }

/* Whether a form leaves room for the transcript beside an input of the given rows. */
static bool fits(enum view_form form, int rows, int cols, int input)
{
    int left = rows - RULE_ROWS - STATUS_ROWS - input;
    switch (form) {
    case VIEW_FORM_LINE: return cols >= 40 && left - LINE_ROWS >= LAYOUT_TRANSCRIPT_ROWS;
    case VIEW_FORM_STRIP: return cols >= 40 && left - STRIP_ROWS >= LAYOUT_TRANSCRIPT_ROWS;
    case VIEW_FORM_PANEL: return cols >= LAYOUT_PANEL_COLS + 1 + 40 && left >= LAYOUT_TRANSCRIPT_ROWS;
    case VIEW_FORM_FULL:
        return left >= LAYOUT_FULL_ROWS + RULE_ROWS + LAYOUT_FULL_TRANSCRIPT;
    default: return true;
    }
}

static enum view_form choose(enum view_form wish, int rows, int cols, int input)
{
    if (wish != VIEW_FORM_AUTO && fits(wish, rows, cols, input)) return wish;
    if (cols >= 112 && rows >= 30 && fits(VIEW_FORM_PANEL, rows, cols, input)) return VIEW_FORM_PANEL;
    if (rows >= 22 && fits(VIEW_FORM_STRIP, rows, cols, input)) return VIEW_FORM_STRIP;
    if (rows >= 14 && fits(VIEW_FORM_LINE, rows, cols, input)) return VIEW_FORM_LINE;
    return VIEW_FORM_OFF;
}

static int limited(int cols, int width) { return width > 0 ? at_most(cols, width) : cols; }

/* Columns beside the panel. */
static int beside_panel(int cols, int width) { return limited(cols - LAYOUT_PANEL_COLS - 1, width); }

int layout_left_cols(int rows, int cols, enum view_form form, int width)
{
    cols = at_most(cols, LAYOUT_MAX_COLS);
    return choose(form, rows, cols, 1) == VIEW_FORM_PANEL ? beside_panel(cols, width) : cols;
}

int layout_text_cols(int rows, int cols, enum view_form form, int width)
{
    return limited(layout_left_cols(rows, cols, form, width), width);
}

bool layout_form_fits(int rows, int cols, enum view_form form)
{
    return fits(form, rows, cols, 1);
}

enum view_form layout_next_form(int rows, int cols, enum view_form drawn)
{
    for (int i = 1; i <= 5; i++) {
        enum view_form form = (enum view_form)(VIEW_FORM_OFF + (drawn - VIEW_FORM_OFF + i) % 5);
        if (fits(form, rows, cols, 1)) return form;
    }
    return VIEW_FORM_OFF;
}

struct layout layout_compute(const struct layout_request *request)
{
    struct layout l = {0};
    int rows = at_most(request->rows, LAYOUT_MAX_ROWS), cols = at_most(request->cols, LAYOUT_MAX_COLS);
    if (rows < LAYOUT_MIN_ROWS || cols < LAYOUT_MIN_COLS) {
        l.too_small = true;
        l.form = VIEW_FORM_OFF;
        return l;
    }
    int input = at_most(at_least(request->input_rows, 1), at_least(rows / 3, 1));
    bool whole = request->alone || request->inspect;
    l.form = whole ? VIEW_FORM_FULL : choose(request->form, rows, cols, input);
    if (request->alone) {
        l.monitor = (struct rect){0, 0, rows, cols};
        return l;
    }
    int left_cols = cols;
    if (l.form == VIEW_FORM_PANEL) {
        left_cols = beside_panel(cols, request->width);
        l.monitor = (struct rect){0, left_cols + 1, rows - STATUS_ROWS, cols - left_cols - 1};
        l.separator = (struct rect){0, left_cols, rows - STATUS_ROWS, 1};
    }
    l.text_cols = limited(left_cols, request->width);
    int bottom = rows - STATUS_ROWS;
    l.status = (struct rect){bottom, 0, STATUS_ROWS, cols};
    bottom -= input;
    l.input = (struct rect){bottom, 0, input, left_cols};
    bottom -= RULE_ROWS;
    l.rule = (struct rect){bottom, 0, RULE_ROWS, left_cols};
    if (request->chips) {
        bottom -= CHIP_ROWS;
        l.chips = (struct rect){bottom, 0, CHIP_ROWS, left_cols};
    }
    int preview = at_most(request->preview_rows, bottom - STRIP_ROWS - LAYOUT_TRANSCRIPT_ROWS);
    if (preview >= LEAST_PREVIEW && l.form != VIEW_FORM_FULL) {
        bottom -= preview;
        l.previews = (struct rect){bottom, 0, preview, left_cols};
    }
    int strip = l.form == VIEW_FORM_STRIP ? STRIP_ROWS : l.form == VIEW_FORM_LINE ? LINE_ROWS : 0;
    if (strip) {
        bottom -= strip;
        l.monitor = (struct rect){bottom, 0, strip, cols};
    }
    /* The strip's rule and the full form carry the sentence; the panel gives it a row, others only when it matters. */
    bool has_sentence = l.form == VIEW_FORM_STRIP || l.form == VIEW_FORM_FULL;
    bool sentence = l.form == VIEW_FORM_PANEL || (request->sentence && !has_sentence);
    int notices = at_least(request->notice_rows, 0) + sentence;
    notices = at_most(notices, at_least(bottom - 1, 0) / 2);
    bottom -= notices;
    l.notices = (struct rect){bottom, 0, notices, left_cols};
    if (l.form == VIEW_FORM_FULL) {
        /* A third is for the conversation, and what notices leave of its six rows. */
        int talk = whole ? 0 : at_most(at_least(bottom / 3, LAYOUT_FULL_TRANSCRIPT), at_least(bottom - 2, 0));
        l.monitor = (struct rect){0, 0, talk ? bottom - talk - RULE_ROWS : bottom, cols};
        if (talk) l.separator = (struct rect){l.monitor.rows, 0, RULE_ROWS, cols};
        l.transcript = (struct rect){bottom - talk, 0, talk, cols};
        return l;
    }
    l.transcript = (struct rect){0, 0, bottom, left_cols};
    return l;
}
