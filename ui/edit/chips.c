#include "ui/edit/chips.h"

#include <stdio.h>
#include <string.h>

#include "ui/text/format.h"

enum { NAME_COLS = 32, TEXT = 400 };

/* "1,482", from ten thousand on "12.0k": the row is narrow. */
static const char *short_count(char out[FORMAT_SIZE], int n)
{
    if (n < 10000) return format_count(out, n);
    if (n < 999950) snprintf(out, FORMAT_SIZE, "%.1fk", n / 1e3);
    else snprintf(out, FORMAT_SIZE, "%.1fM", n / 1e6);
    return out;
}

static bool is_troubled(const struct view_attachment *a)
{
    return a->too_long || a->failed;
}

/* "2 $ git diff* 1,204"; its width. */
static int chip_text(char out[TEXT], const struct view_attachment *a, size_t number)
{
    char count[FORMAT_SIZE] = "...";
    size_t all = strlen(a->name), n = width_text(a->name, all) <= NAME_COLS ? all : width_fit(a->name, all, NAME_COLS);
    if (a->tokens >= 0) format_count(count, a->tokens);
    char size[32] = "", doing[200] = "";
    if (a->n_pictures == 1) snprintf(size, sizeof size, " %ux%u", a->pictures->width, a->pictures->height);
    if (a->doing) snprintf(doing, sizeof doing, ", %d %% %s", a->percent, a->doing);
    if (a->failed) snprintf(doing, sizeof doing, ": %s", a->failed);
    int put = snprintf(out, TEXT, "%zu %.*s%s%s%s%s %s%s", number, (int)(n < 250 ? n : 250), a->name,
                       n < all ? ".." : "", a->changed ? "*" : "", is_troubled(a) ? "!" : "", size, count, doing);
    return width_text(out, put < 0 ? 0 : (size_t)put);
}

/* "12.0k, 18.1k left"; its width. */
static int sum_text(char out[TEXT], const struct view_draft *d)
{
    char tokens[FORMAT_SIZE], left[FORMAT_SIZE];
    int all = 0;
    for (size_t i = 0; i < d->n_attached; i++)
        if (d->attached[i].tokens > 0) all += d->attached[i].tokens;
    return snprintf(out, TEXT, "%s, %s left", short_count(tokens, all), short_count(left, d->attached_left));
}

static style_t style_of(const struct view *view, const struct view_attachment *a)
{
    bool tints = view->options.draft_marks == VIEW_DRAFT_FULL;
    style_t style = is_troubled(a)     ? STYLE_WARN
                    : a->tokens < 0    ? STYLE_QUIET
                    : a->read && tints ? STYLE_READ
                                       : STYLE_TEXT;
    return a->marked ? style | STYLE_REVERSE : style;
}

/* "+3!": how many chips there are from number `from` on, with the signs that any of them has, and why one can't be
 * encoded. */
static int draw_rest(const struct view_draft *d, size_t from, struct canvas *canvas, struct rect area)
{
    bool changed = false, troubled = false, marked = false;
    const char *failed = NULL;
    for (size_t i = from; i < d->n_attached; i++) {
        changed |= d->attached[i].changed;
        troubled |= is_troubled(&d->attached[i]);
        if (!failed) failed = d->attached[i].failed;
        marked |= d->attached[i].marked;
    }
    style_t style = (troubled ? STYLE_WARN : STYLE_QUIET) | (marked ? STYLE_REVERSE : 0);
    return canvas_printf(canvas, area.row, area.col, area.col + area.cols, style, "+%zu%s%s%s%s", d->n_attached - from,
                         changed ? "*" : "", troubled ? "!" : "", failed ? ": " : "", failed ? failed : "");
}

void chips_draw(const struct view *view, struct canvas *canvas, struct rect area)
{
    enum { GAP = 2, SUM_GAP = 3 };
    const struct view_draft *d = &view->draft;
    char text[TEXT], sum[TEXT];
    int col = area.col, end = area.col + area.cols, all = -GAP;
    bool failed = false;
    if (rect_empty(area) || !d->n_attached) return;
    for (size_t i = 0; i < d->n_attached; i++) {
        all += GAP + chip_text(text, &d->attached[i], i + 1);
        failed |= d->attached[i].failed != NULL;
    }
    int width = sum_text(sum, d);
    bool has_sum = all + SUM_GAP + width <= area.cols || (3 * width <= area.cols && !failed);
    if (has_sum) end -= SUM_GAP + width;
    for (size_t i = 0; i < d->n_attached; i++) {
        size_t more = d->n_attached - i - 1;
        int need = chip_text(text, &d->attached[i], i + 1);
        int room = end - col - (more ? snprintf(NULL, 0, " +%zu", more) : 0);
        if (need > room && i) {
            col = draw_rest(d, i, canvas, (struct rect){area.row, col - 1, 1, end - col + 1}) + GAP;
            break;
        }
        col = canvas_puts(canvas, area.row, col, end, text, style_of(view, &d->attached[i])) + GAP;
    }
    if (has_sum) canvas_puts(canvas, area.row, col + SUM_GAP - GAP, area.col + area.cols, sum, STYLE_QUIET);
}
