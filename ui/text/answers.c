#include "ui/text/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/text/format.h"

enum { MESSAGE_ROWS = 6, LEAST_ROWS = 3, TAB_GAP = 2 };

struct answers {
    struct transcript *message;
    struct transcript *answer[VIEW_ANSWERS_MAX];
};

struct answers *answers_new(void)
{
    struct answers *a = calloc(1, sizeof *a);
    bool whole = a && (a->message = transcript_new());
    for (int i = 0; whole && i < VIEW_ANSWERS_MAX; i++) whole = (a->answer[i] = transcript_new());
    if (whole) return a;
    answers_free(a);
    return NULL;
}

void answers_free(struct answers *a)
{
    if (!a) return;
    transcript_free(a->message);
    for (int i = 0; i < VIEW_ANSWERS_MAX; i++) transcript_free(a->answer[i]);
    free(a);
}

int answers_columns(size_t n, int cols)
{
    int each = n ? (cols - ANSWERS_GAP * ((int)n - 1)) / (int)n : 0;
    return each >= ANSWERS_COLS ? each : 0;
}

static bool is_written(const struct view_turn *turn)
{
    return turn->state == VIEW_TURN_ANSWERING || turn->state == VIEW_TURN_THINKING;
}

void answers_state(char *out, size_t room, const struct view_answers *answers, size_t i)
{
    const struct view_turn *turn = &answers->turns[i];
    char count[FORMAT_SIZE];
    format_count(count, answers->tokens[i]);
    const char *end = turn->state == VIEW_TURN_STOPPED   ? "stopped"
                      : turn->state == VIEW_TURN_LENGTH  ? "length limit"
                      : turn->state == VIEW_TURN_REPEATS ? "repeats"
                      : turn->state == VIEW_TURN_FULL    ? "context full"
                      : turn->state == VIEW_TURN_FAILED  ? "failed"
                                                         : "done";
    if (is_written(turn)) snprintf(out, room, "%s tok", count);
    else snprintf(out, room, "%s, %s token%s", end, count, answers->tokens[i] == 1 ? "" : "s");
}

/* The view of one turn alone. */
static void view_of(struct view *own, const struct view *view, const struct view_turn *turn)
{
    *own = *view;
    own->turns = turn;
    own->n_turns = 1;
    own->browse = false;
}

struct transcript *answers_looked(struct answers *a, const struct view *view, struct view *own)
{
    view_of(own, view, &view->answers.turns[view->answers.looked]);
    return a->answer[view->answers.looked];
}

/* Long lines are hard to read. */
static int text_cols(const struct view *view, int cols)
{
    return view->options.width > 0 && view->options.width < cols ? view->options.width : cols;
}

/* The message, as far as there is room for it; returns the rows that it takes, with a blank one. */
static int draw_message(struct answers *a, const struct view *view, struct canvas *canvas, struct rect area)
{
    if (view->n_turns < 2) return 0;
    struct view own;
    view_of(&own, view, &view->turns[view->n_turns - 2]);
    int most = area.rows / 4 < MESSAGE_ROWS ? area.rows / 4 : MESSAGE_ROWS, used = 0;
    if (most < 1) return 0;
    transcript_draw(a->message, &own, canvas, (struct rect){area.row, area.col, most, text_cols(view, area.cols)});
    while (used < most && transcript_turn_at(a->message, area.row + used)) used++;
    return used + 1;
}

static const char *double_line(const struct view *view, bool looked)
{
    if (view->options.ascii) return looked ? "==" : "--";
    return looked ? "\xe2\x95\x90\xe2\x95\x90" : "\xe2\x94\x80\xe2\x94\x80";
}

/* "-- 1 -- done, 61 tokens -----" or, of the one looked at, "== 2 == Enter replies to this one ====" */
static void draw_head(const struct view *view, size_t i, struct canvas *canvas, int row, int col, int end)
{
    const struct view_answers *answers = &view->answers;
    bool looked = i == answers->looked;
    style_t style = looked ? STYLE_STATE : STYLE_QUIET;
    char text[120], state[60];
    canvas_fill(canvas, (struct rect){row, col, 1, end - col},
                view->options.ascii ? (looked ? '=' : '-') : looked ? 0x2550 : 0x2500,
                looked ? STYLE_STATE : STYLE_RULE);
    answers_state(state, sizeof state, answers, i);
    if (looked && is_written(&answers->turns[i])) snprintf(state, sizeof state, "Enter replies to this one");
    snprintf(text, sizeof text, " %zu %s %s ", i + 1, double_line(view, looked), state);
    canvas_puts(canvas, row, col + 2, end, text, style);
}

static void draw_columns(struct answers *a, const struct view *view, struct canvas *canvas, struct rect area, int each)
{
    const struct view_answers *answers = &view->answers;
    for (size_t i = 0; i < answers->n; i++) {
        struct view own;
        int col = area.col + (int)i * (each + ANSWERS_GAP);
        view_of(&own, view, &answers->turns[i]);
        draw_head(view, i, canvas, area.row, col, col + each);
        /* The last column of a transcript stays free: it is the first of the gap. */
        transcript_draw(a->answer[i], &own, canvas, (struct rect){area.row + 1, col, area.rows - 1, each + 1});
        if (i + 1 == answers->n) continue;
        canvas_fill(canvas, (struct rect){area.row, col + each + 1, area.rows, 1},
                    view->options.ascii ? '|' : 0x2502, STYLE_RULE);
    }
}

/* "-- 1 -- done, 61", or its number alone; returns the columns. */
static int write_tab(char *out, size_t room, const struct view *view, size_t i, bool with_state)
{
    char state[60];
    const char *line = double_line(view, i == view->answers.looked);
    answers_state(state, sizeof state, &view->answers, i);
    char *unit = strstr(state, " token");
    if (unit) *unit = 0;
    snprintf(out, room, "%s %zu %s%s%s", line, i + 1, line, with_state ? " " : "", with_state ? state : "");
    return width_text(out, strlen(out));
}

/* The columns of the tabs from one up to another, each with its state, or that of the one looked at alone. */
static int tabs_cols(const struct view *view, size_t from, size_t to, bool states)
{
    char text[120];
    int cols = -TAB_GAP;
    for (size_t i = from; i < to; i++)
        cols += TAB_GAP + write_tab(text, sizeof text, view, i, states || i == view->answers.looked);
    return cols;
}

/* The tabs in one row, the one looked at always among them. */
static void draw_tabs(const struct view *view, struct canvas *canvas, int row, int col, int end)
{
    const struct view_answers *answers = &view->answers;
    bool states = tabs_cols(view, 0, answers->n, true) <= end - col;
    size_t from = 0;
    while (!states && from < answers->looked && tabs_cols(view, from, answers->looked + 1, false) > end - col) from++;
    for (size_t i = from; i < answers->n; i++) {
        char text[120];
        bool looked = i == answers->looked;
        int cols = write_tab(text, sizeof text, view, i, states || looked);
        if (i > from && col + cols > end) break;
        col = canvas_puts(canvas, row, col, end, text, looked ? STYLE_STATE : STYLE_QUIET) + TAB_GAP;
    }
}

/* The last words of an answer in one row. */
static void draw_tail(const struct view *view, size_t i, struct canvas *canvas, int row, int col, int end)
{
    const struct view_turn *turn = &view->answers.turns[i];
    char number[24];
    snprintf(number, sizeof number, "%zu  ", i + 1);
    col = canvas_puts(canvas, row, col, end, number, STYLE_QUIET);
    size_t to = turn->text_len, from;
    while (to && strchr(" \t\r\n", turn->text[to - 1])) to--;
    for (from = to; from && turn->text[from - 1] != '\n';) from--;
    size_t room = end > col + 2 ? (size_t)(end - col - 2) : 0;
    if (to - from > room) { /* from a word on */
        for (from = to - room; from < to && turn->text[from - 1] != ' ';) from++;
        col = canvas_puts(canvas, row, col, end, "..", STYLE_QUIET);
    }
    if (to > from) canvas_put(canvas, row, col, end, turn->text + from, to - from, STYLE_QUIET);
    else if (is_written(turn) && turn->thinking_len) canvas_puts(canvas, row, col, end, "thinking", STYLE_QUIET);
}

static void draw_behind_tabs(struct answers *a, const struct view *view, struct canvas *canvas, struct rect area)
{
    area.cols = text_cols(view, area.cols);
    const struct view_answers *answers = &view->answers;
    struct view own;
    int others = (int)answers->n - 1, rows = area.rows - 1, end = area.col + area.cols;
    if (rows - others < LEAST_ROWS) others = rows > LEAST_ROWS ? rows - LEAST_ROWS : 0;
    rows -= others;
    draw_tabs(view, canvas, area.row, area.col, end);
    struct transcript *looked = answers_looked(a, view, &own);
    transcript_draw(looked, &own, canvas, (struct rect){area.row + 1, area.col, rows, area.cols});
    int row = area.row + 1 + rows;
    for (size_t i = 0; i < answers->n && others > 0; i++) {
        if (i == answers->looked) continue;
        draw_tail(view, i, canvas, row++, area.col, end);
        others--;
    }
}

void answers_draw(struct answers *a, const struct view *view, struct canvas *canvas, struct rect area)
{
    if (rect_empty(area)) return;
    int message = draw_message(a, view, canvas, area), each = answers_columns(view->answers.n, area.cols);
    area.row += message;
    area.rows -= message;
    if (area.rows < 1) return;
    if (each) draw_columns(a, view, canvas, area, each);
    else draw_behind_tabs(a, view, canvas, area);
}
