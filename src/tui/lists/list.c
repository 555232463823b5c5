#include "src/tui/lists/list.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/harmless.h"
#include "ui/draw/width.h"
#include "ui/text/format.h"
#include "ui/unicode/cluster.h"
#include "ui/unicode/fold.h"

size_t tui_list_row(const tui_list *l) { return l->selected < l->n_shown ? l->shown[l->selected] : SIZE_MAX; }

void tui_list_free(tui_list *l)
{
    free(l->shown);
    free(l->rows);
    free(l->items);
    *l = (tui_list){0};
}

size_t tui_list_cell(char *out, size_t room, const char *text, int width, bool right)
{
    size_t all = strlen(text), n = width_text(text, all) <= width ? all : width_fit(text, all, width);
    int pad = width - width_text(text, n);
    int put = snprintf(out, room, "%*s%.*s%*s", right ? pad : 0, "", (int)n, text, right ? 0 : pad, "");
    return put < 0 ? 0 : (size_t)put < room ? (size_t)put : room - 1;
}

const char *tui_list_number(const void *owner, size_t row, char *room)
{
    (void)owner;
    snprintf(room, TUI_LIST_ROW, "%zu", row + 1);
    return room;
}

const char *tui_list_date(char room[TUI_LIST_ROW], int64_t time_s)
{
    return time_s ? format_date(room, time_s) : "";
}

const char *tui_list_turns(char room[TUI_LIST_ROW], int turns)
{
    snprintf(room, TUI_LIST_ROW, "%d turn%s", turns, turns == 1 ? " " : "s");
    return room;
}

void tui_list_harmless(char *text)
{
    for (char *c = text; *c; c++)
        if (*c == '\n' || *c == '\t') *c = ' ';
    harmless_line(text);
}

bool tui_line_edit(char *text, size_t room, const struct decoder_event *e)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < e->length && (e->kind == DECODER_BYTES || e->kind == DECODER_PASTE); i++) {
        unsigned char c = (unsigned char)e->data[i];
        if (c == '\r' && e->kind == DECODER_BYTES) return true;
        if (c == 0x7f || c == 8) {
            n = cluster_before(text, n, n);
        } else if (c == 0x15) {
            n = 0;
        } else if (c >= 0x20 && n + 1 < room) {
            text[n++] = (char)c;
        }
        text[n] = 0;
    }
    return false;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

void tui_list_renew(const tui_list_kind *k, void *owner, size_t row)
{
    tui_list *l = owner;
    size_t n = k->count(owner), *larger = realloc(l->shown, (n + 1) * sizeof *larger);
    bool (*before)(const void *, size_t, size_t) = k->orders[l->order].before;
    char room[TUI_LIST_ROW];
    if (row == SIZE_MAX && k->home) row = k->home(owner);
    l->n_shown = l->selected = 0;
    if (!larger) return;
    l->shown = larger;
    for (size_t i = 0; i < n; i++) {
        if (!fold_holds(k->filtered(owner, i, room), l->filter)) continue;
        size_t at = l->n_shown++; /* by insertion: the order of equal rows stays */
        for (; before && at && before(owner, i, l->shown[at - 1]); at--) l->shown[at] = l->shown[at - 1];
        l->shown[at] = i;
    }
    for (size_t i = 0; i < l->n_shown; i++)
        if (l->shown[i] == row) l->selected = i;
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

long tui_list_motion(const struct decoder_event *e, long rows)
{
    enum { CTRL_N = 14, CTRL_P = 16 };
    bool one = e->kind == DECODER_BYTES && e->length == 1;
    int key = e->kind == DECODER_KEY ? -(int)e->code : one ? (unsigned char)e->data[0] : 0;
    switch (key) {
    case 'j':
    case CTRL_N:
    case -KEYCODE_DOWN: return 1;
    case 'k':
    case CTRL_P:
    case -KEYCODE_UP: return -1;
    case ' ':
    case -KEYCODE_PAGE_DOWN: return rows;
    case 'b':
    case -KEYCODE_PAGE_UP: return -rows;
    case 'g':
    case -KEYCODE_HOME: return LONG_MIN / 2;
    case 'G':
    case -KEYCODE_END: return LONG_MAX / 2;
    default: return 0;
    }
}

static void move(tui_list *l, long by)
{
    long last = l->n_shown ? (long)l->n_shown - 1 : 0, to = (long)l->selected + by;
    l->selected = to < 0 ? 0 : (size_t)(to > last ? last : to);
    l->said[0] = 0;
}

static void filtered(const tui_list_kind *k, tui_list *l)
{
    if (!k->filter_keeps_said) l->said[0] = 0;
    tui_list_renew(k, l, tui_list_row(l));
}

static tui_action sort_next(const tui_list_kind *k, void *owner)
{
    tui_list *l = owner;
    if (!k->orders[++l->order].name) l->order = 0;
    tui_list_renew(k, owner, tui_list_row(l));
    return tui_list_tell(l, "%s", k->orders[l->order].name);
}

static tui_action own_key(const tui_list_kind *k, void *owner, char c)
{
    tui_list *l = owner;
    size_t row = tui_list_row(l);
    const tui_list_key *key = k->keys;
    if (!k->key_keeps_said) l->said[0] = 0;
    if (c == 's' && k->orders[0].name) return sort_next(k, owner);
    while (key->key && key->key != c) key++;
    if (!key->key || (key->needs_row && row == SIZE_MAX)) return (tui_action){0};
    if (key->says) tui_list_tell(l, "%s", key->says);
    return key->act ? key->act(owner, row) : (tui_action){0};
}

/* A key while a question is open. */
static tui_action answer(tui_list *l, const struct decoder_event *e, bool leaves)
{
    const tui_list_question *q = l->question;
    bool one = e->kind == DECODER_BYTES && e->length == 1;
    bool done = !leaves && (q->asks ? tui_line_edit(l->input, q->room, e) : one && e->data[0] == q->yes);
    bool no = !done && (leaves || (one && !q->asks && (!q->no || (e->data[0] && strchr(q->no, e->data[0])))));
    if (done || no) l->question = NULL;
    if (no && q->back) q->back(l);
    return done ? q->done(l, tui_list_row(l)) : (tui_action){0};
}

tui_action tui_list_handle(const tui_list_kind *k, void *owner, int rows, const struct decoder_event *e, bool *closes)
{
    tui_list *l = owner;
    tui_action action = {0};
    bool one = e->kind == DECODER_BYTES && e->length == 1;
    char c = one ? e->data[0] : 0;
    bool escape = e->kind == DECODER_ESC, leaves = escape || c == 3 || c == 7;
    long by = tui_list_motion(e, rows < 1 ? 1 : rows);
    if (k->update) k->update(owner);
    if (l->question) return answer(l, e, leaves);
    l->closes = false;
    if (leaves && (l->filtering || (escape && l->filter[0]))) {
        l->filter[0] = 0;
        l->filtering = false;
        filtered(k, l);
    } else if (leaves) {
        l->closes = escape || !k->interrupts || !k->interrupts(owner);
    } else if (e->kind == DECODER_MOUSE) {
        move(l, e->row - (long)l->selected);
    } else if (l->filtering) {
        if (tui_line_edit(l->filter, sizeof l->filter, e)) l->filtering = false;
        filtered(k, l);
    } else if (by) {
        move(l, by);
    } else if (c == '/') {
        l->filter[0] = 0;
        l->filtering = true;
        filtered(k, l);
    } else if (c == 'q' || (e->kind == DECODER_KEY && e->code == KEYCODE_F1)) {
        l->closes = true;
    } else if (one) {
        action = own_key(k, owner, c);
    }
    *closes = l->closes;
    return action;
}

bool tui_list_asks(const void *owner)
{
    const tui_list_question *q = ((const tui_list *)owner)->question;
    return q && q->yes == 'y';
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

tui_action tui_list_tell(tui_list *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->said, sizeof l->said, format, args);
    va_end(args);
    return (tui_action){0};
}

void tui_list_note(tui_list *l, const char *text)
{
    if (text && *text && l->n_notes < TUI_LIST_NOTES) l->notes[l->n_notes++] = text;
}

static const char *cell(const tui_list_column *c, const void *owner, size_t row, char *room)
{
    return row < SIZE_MAX ? c->text(owner, row, room) : c->heading ? c->heading : "";
}

static int widest(const tui_list_column *c, const tui_list *l)
{
    char room[TUI_LIST_ROW];
    int most = 0;
    for (size_t i = 0; i <= l->n_shown; i++) {
        const char *text = cell(c, l, i < l->n_shown ? l->shown[i] : SIZE_MAX, room);
        int width = width_text(text, strlen(text));
        if (width > most) most = width;
    }
    return most;
}

static int smaller_of(int a, int b) { return a < b ? a : b; }

/* The columns' widths; 0: it is left out. */
static void measure(const tui_list_column columns[TUI_LIST_COLUMNS], const tui_list *l, int width[TUI_LIST_COLUMNS])
{
    int left = l->cols, last = -1, most = INT_MAX;
    bool fits = true;
    memset(width, 0, TUI_LIST_COLUMNS * sizeof *width);
    for (int rank = 0; fits && rank < TUI_LIST_COLUMNS; rank++)
        for (int i = 0; fits && i < TUI_LIST_COLUMNS && columns[i].text; i++) {
            const tui_list_column *c = &columns[i];
            if (c->rank != rank) continue;
            int own = c->width && !c->widest ? c->width : widest(c, l);
            if (c->third) own = smaller_of(own, l->cols / 3);
            if (c->widest) most = smaller_of(own, c->widest);
            if (c->widest) own = smaller_of(c->width, most);
            fits = !rank || own + c->gap <= left;
            if (!own || !fits) continue;
            width[i] = own;
            left -= own + c->gap;
        }
    for (int i = 0; i < TUI_LIST_COLUMNS; i++)
        if (width[i] && columns[i].stretches) last = i;
    if (last < 0) return;
    int least = columns[last].widest ? smaller_of(width[last], columns[last].shortest) : 1;
    width[last] = smaller_of(width[last] + left, most);
    if (width[last] < least) width[last] = least;
}

/* row SIZE_MAX: the headings. */
static void lay_out_row(const tui_list_kind *k, const void *owner, size_t row, const int *width, char *out)
{
    char room[TUI_LIST_ROW];
    size_t n = 0;
    for (int i = 0; i < TUI_LIST_COLUMNS; i++) {
        const tui_list_column *c = &k->columns[i];
        if (!width[i]) continue;
        n += tui_list_cell(out + n, TUI_LIST_ROW - n, "", c->gap, false);
        n += tui_list_cell(out + n, TUI_LIST_ROW - n, cell(c, owner, row, room), width[i], c->right);
    }
    tui_list_harmless(out);
}

/* Returns how many rows there is memory for. */
static size_t lay_out(const tui_list_kind *k, tui_list *l)
{
    int width[TUI_LIST_COLUMNS];
    size_t n = l->n_shown;
    void *rows = n > l->room ? realloc(l->rows, n * sizeof *l->rows) : NULL;
    if (rows) l->rows = rows;
    void *items = rows ? realloc(l->items, n * sizeof *l->items) : NULL;
    if (items) l->items = items;
    if (items) l->room = n;
    if (n > l->room) n = l->room;
    measure(k->columns, l, width);
    lay_out_row(k, l, SIZE_MAX, width, l->header);
    for (size_t i = 0; i < n; i++) {
        lay_out_row(k, l, l->shown[i], width, l->rows[i]);
        l->items[i] = (struct view_item){.text = l->rows[i]};
    }
    return n;
}

static void ask(struct view_popup *v, const char *words, const char *input)
{
    v->ask = words;
    v->input = input;
    v->input_len = v->input_cursor = strlen(input);
}

void tui_list_show(const tui_list_kind *k, void *owner, int cols, struct view_popup *v)
{
    tui_list *l = owner;
    const tui_list_question *q = l->question;
    if (k->update) k->update(owner);
    if (q && q->fill) {
        q->fill(owner, v);
        return;
    }
    l->cols = cols;
    size_t row = tui_list_row(l);
    bool filtered = l->filter[0] && !l->filtering;
    snprintf(l->title, sizeof l->title, "%s%s%s", k->titled ? k->titled(owner) : k->title, filtered ? " /" : "",
             filtered ? l->filter : "");
    tui_list_harmless(l->title);
    const char *lacks = row < SIZE_MAX ? NULL : l->filter[0] ? k->none : k->empty;
    if (lacks) tui_list_tell(l, "%s", lacks);
    tui_list_harmless(l->said);
    l->n_notes = 0;
    tui_list_note(l, l->said);
    if (k->note) k->note(owner, row);
    *v = (struct view_popup){.kind = VIEW_POPUP_TABLE, .title = l->title, .n_items = lay_out(k, l),
                             .selected = l->selected, .notes = l->notes, .n_notes = l->n_notes,
                             .footer = q ? q->footer : l->filtering ? "Enter keeps it  Esc all" : k->footer};
    v->items = l->items;
    if (q && q->asks) ask(v, q->asks, l->input);
    else if (l->filtering) ask(v, "filter:", l->filter);
    if (k->adapt) k->adapt(owner, v);
}
