/* The layout at every size: inside the screen, no overlap, rows of the transcript first. */
#include "tests/check.h"

#include "ui/draw/layout.h"

static void check_one(const struct layout_request *q)
{
    struct layout l = layout_compute(q);
    bool small = q->rows < LAYOUT_MIN_ROWS || q->cols < LAYOUT_MIN_COLS;
    CHECK_INT(small, l.too_small);
    struct rect parts[] = {l.transcript, l.monitor, l.separator, l.notices, l.rule, l.input, l.status};
    enum { N = sizeof parts / sizeof *parts };
    for (int i = 0; i < N; i++) {
        if (!rect_inside(parts[i], q->rows, q->cols)) CHECK_FAIL("%dx%d: part %d is outside", q->cols, q->rows, i);
        for (int j = i + 1; j < N; j++)
            if (rect_overlap(parts[i], parts[j])) CHECK_FAIL("%dx%d: parts %d and %d", q->cols, q->rows, i, j);
    }
    if (small) return;
    CHECK(l.form != VIEW_FORM_AUTO);
    if (l.form == VIEW_FORM_FULL) return;
    CHECK(!rect_empty(l.transcript) && !rect_empty(l.input) && !rect_empty(l.status) && !rect_empty(l.rule));
    CHECK(l.input.rows <= (q->rows / 3 > 1 ? q->rows / 3 : 1));
    if (l.form != VIEW_FORM_OFF && q->notice_rows == 0 && l.transcript.rows + l.notices.rows < LAYOUT_TRANSCRIPT_ROWS)
        CHECK_FAIL("%dx%d: %d rows of transcript beside a monitor", q->cols, q->rows, l.transcript.rows);
    int area = 0, all = (q->rows > LAYOUT_MAX_ROWS ? LAYOUT_MAX_ROWS : q->rows) *
                        (q->cols > LAYOUT_MAX_COLS ? LAYOUT_MAX_COLS : q->cols);
    for (int i = 0; i < N; i++) area += rect_empty(parts[i]) ? 0 : parts[i].rows * parts[i].cols;
    if (area != all) CHECK_FAIL("%dx%d: %d cells of %d are laid out", q->cols, q->rows, area, all);
}

TEST(every_size)
{
    for (int rows = 1; rows <= 125; rows++)
        for (int cols = 1; cols <= 410; cols += cols < 130 ? 1 : 7)
            for (int form = VIEW_FORM_AUTO; form <= VIEW_FORM_FULL; form++)
                for (int input = 1; input <= 33; input += 8)
                    check_one(&(struct layout_request){.rows = rows, .cols = cols, .input_rows = input,
                                                       .notice_rows = input % 3, .sentence = input % 2,
                                                       .form = (enum view_form)form});
}

/* The panel gets what the text leaves. */
TEST(the_width_of_text)
{
    struct layout_request q = {.rows = 40, .cols = 200, .input_rows = 1, .width = 100};
    struct layout l = layout_compute(&q);
    CHECK_INT(100, l.transcript.cols);
    CHECK_INT(100, l.text_cols);
    CHECK_INT(99, l.monitor.cols);
    CHECK_INT(100, layout_left_cols(40, 200, VIEW_FORM_AUTO, 100));
    q.form = VIEW_FORM_STRIP; /* rule and strip have all columns, text does not */
    l = layout_compute(&q);
    CHECK_INT(200, l.rule.cols);
    CHECK_INT(200, l.monitor.cols);
    CHECK_INT(100, l.text_cols);
    CHECK_INT(100, layout_text_cols(40, 200, VIEW_FORM_STRIP, 100));
    CHECK_INT(200, layout_left_cols(40, 200, VIEW_FORM_STRIP, 100));
    q.form = VIEW_FORM_AUTO;
    q.cols = 120;
    l = layout_compute(&q);
    CHECK_INT(72, l.text_cols);
    CHECK_INT(47, l.monitor.cols);
    q.cols = 200;
    q.width = 0;
    l = layout_compute(&q);
    CHECK_INT(152, l.text_cols);
    CHECK_INT(47, l.monitor.cols);
    for (q.cols = 1; q.cols <= 410; q.cols++)
        for (q.width = 20; q.width <= 400; q.width += 20) {
            check_one(&q);
            l = layout_compute(&q);
            if (l.text_cols > q.width || (!rect_empty(l.separator) && l.monitor.cols < LAYOUT_PANEL_COLS))
                CHECK_FAIL("%d columns, width %d: text %d, panel %d", q.cols, q.width, l.text_cols, l.monitor.cols);
        }
}

TEST(a_monitor_without_a_chat_has_the_screen)
{
    for (int rows = 1; rows <= 30; rows++)
        for (int cols = 1; cols <= 130; cols++) {
            struct layout l = layout_compute(&(struct layout_request){.rows = rows, .cols = cols, .alone = true});
            if (rows < LAYOUT_MIN_ROWS || cols < LAYOUT_MIN_COLS) CHECK(l.too_small);
            else CHECK(l.form == VIEW_FORM_FULL && l.monitor.rows == rows && l.monitor.cols == cols);
        }
}

static enum view_form automatic(int rows, int cols)
{
    return layout_compute(&(struct layout_request){.rows = rows, .cols = cols, .input_rows = 1}).form;
}

TEST(automatic_forms)
{
    CHECK_INT(VIEW_FORM_PANEL, automatic(30, 112));
    CHECK_INT(VIEW_FORM_STRIP, automatic(30, 111));
    CHECK_INT(VIEW_FORM_STRIP, automatic(29, 112));
    CHECK_INT(VIEW_FORM_STRIP, automatic(22, 80));
    CHECK_INT(VIEW_FORM_LINE, automatic(21, 80));
    CHECK_INT(VIEW_FORM_LINE, automatic(14, 80));
    CHECK_INT(VIEW_FORM_OFF, automatic(13, 80));
    CHECK_INT(VIEW_FORM_OFF, automatic(5, 20));
}

TEST(the_80x24_sketch)
{
    struct layout l = layout_compute(&(struct layout_request){.rows = 24, .cols = 80, .input_rows = 1});
    CHECK_INT(17, l.transcript.rows);
    CHECK_INT(17, l.monitor.row);
    CHECK_INT(4, l.monitor.rows);
    CHECK_INT(21, l.rule.row);
    CHECK_INT(22, l.input.row);
    CHECK_INT(23, l.status.row);
}

TEST(going_round)
{
    enum view_form form = VIEW_FORM_OFF;
    static const enum view_form large[] = {VIEW_FORM_LINE, VIEW_FORM_STRIP, VIEW_FORM_PANEL, VIEW_FORM_FULL,
                                           VIEW_FORM_OFF};
    for (int i = 0; i < 5; i++) CHECK_INT(large[i], form = layout_next_form(40, 120, form));
    CHECK_INT(VIEW_FORM_FULL, layout_next_form(24, 80, VIEW_FORM_STRIP)); /* no panel at 80 columns */
}

TEST_MAIN(T(every_size), T(the_width_of_text), T(a_monitor_without_a_chat_has_the_screen), T(automatic_forms),
          T(the_80x24_sketch), T(going_round))
