#include "src/tui/lists/palette.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/slash/slashes.h"
#include "ui/draw/width.h"
#include "ui/edit/slash.h"
#include "ui/unicode/fold.h"

enum { ROWS_MAX = 10, MAX_NAME = 40, HELP_WORD = 4, GAP = 2 };

static void forget(tui_palette *p)
{
    for (size_t i = 0; p->rows && i < p->found.count; i++) free(p->rows[i]);
    free(p->rows);
    completion_free(&p->found);
    free(p->before);
    free(p->choice.shown);
    free(p->items);
    p->choice.shown = NULL;
    p->choice.n_shown = p->choice.selected = 0;
    p->rows = NULL;
    p->before = NULL;
    p->items = NULL;
    p->rows_cols = 0;
    p->chosen = false;
    p->kind = PALETTE_CLOSED;
}

void tui_palette_close(tui_palette *p)
{
    forget(p);
    free(p->line);
    p->line = NULL;
    p->dismissed = false;
}

/* ---- The commands that fit -------------------------------------------------------------------------------------- */

static bool alias_begins(const char *aliases, const char *word, size_t n)
{
    for (; *aliases; aliases += strcspn(aliases, " "), aliases += *aliases == ' ')
        if (!strncasecmp(aliases, word, n)) return true;
    return false;
}

/* How well a command fits what was typed of its name: 0 best, -1 not at all. */
static int rank(const slash *s, const char *word, size_t n)
{
    char typed[MAX_NAME];
    snprintf(typed, sizeof typed, "%.*s", (int)n, word);
    if (!strncasecmp(s->name, typed, n)) return 0;
    if (alias_begins(s->aliases, typed, n)) return 1;
    if (fold_holds(s->name, typed)) return 2;
    return n >= HELP_WORD && fold_holds(s->help, typed) ? 3 : -1;
}

static void show(tui_palette *p, size_t i) { p->choice.shown[p->choice.n_shown++] = i; }

/* Room for all that was found, none of it shown yet. */
static bool begin(tui_palette *p)
{
    size_t n = p->found.count + 1, *shown = realloc(p->choice.shown, n * sizeof *shown);
    if (shown) p->choice.shown = shown;
    p->choice.n_shown = p->choice.selected = 0;
    p->chosen = false;
    return shown;
}

static void find_commands(tui_palette *p)
{
    forget(p);
    p->found = (struct completion){.start = 1, .append = ' ', .word = ""};
    for (slash_id id = 0; id < SLASH_COUNT; id++) completion_add(&p->found, slash_table[id].name, slash_table[id].help);
    p->found.word = NULL;
    p->kind = PALETTE_COMMANDS;
}

static void filter_commands(tui_palette *p, const char *word, size_t n)
{
    if (!begin(p)) return;
    for (int r = 0; r <= 3; r++)
        for (size_t i = 0; i < p->found.count; i++)
            if (rank(&slash_table[i], word, n) == r) show(p, i);
}

static void filter_found(tui_palette *p, const char *word, size_t n)
{
    if (!begin(p)) return;
    for (size_t i = 0; i < p->found.count; i++)
        if (!n || fold_match(p->found.names[i], strlen(p->found.names[i]), 0, word, n, FOLD_CASE)) show(p, i);
    bool whole = p->choice.n_shown == 1 && strlen(p->found.names[p->choice.shown[0]]) == n;
    if (whole) p->choice.n_shown = 0;
    p->choice.selected = SIZE_MAX;
}

/* The command whose arguments begin there, if these can be offered without being asked for. */
static const slash *offering(const struct input_view *in, size_t *arguments)
{
    size_t end = strcspn(in->text, " ");
    if (in->text[0] != '/' || in->text[end] != ' ') return NULL;
    slash_id id = slashes_find(in->text + 1, end - 1);
    *arguments = end + strspn(in->text + end, " ");
    return id < SLASH_COUNT && slash_table[id].offer ? &slash_table[id] : NULL;
}

static bool same_beginning(const tui_palette *p, const struct input_view *in)
{
    return p->before && p->found.start <= in->length && !strncmp(p->before, in->text, p->found.start) &&
           strlen(p->before) == p->found.start;
}

/* The candidates for the place where the last word, or all arguments, begin. */
static bool find_arguments(tui_palette *p, const struct input_view *in, const struct completer *completer,
                           const char *home, size_t from)
{
    forget(p);
    if (!complete_line(completer, in->text, from, true, home, &p->found)) return false;
    p->before = strndup(in->text, p->found.start);
    p->kind = PALETTE_ARGUMENT;
    return p->before;
}

static void follow_argument(tui_palette *p, const struct input_view *in, const struct completer *completer,
                            const char *home, const slash *s, size_t arguments)
{
    size_t from = arguments;
    if (s->completion == COMPLETE_WORD)
        for (size_t i = arguments; i < in->length; i++)
            if (in->text[i] == ' ') from = i + 1;
    bool same = p->kind == PALETTE_ARGUMENT && p->found.start == from && same_beginning(p, in);
    if (!same && !find_arguments(p, in, completer, home, from)) {
        forget(p);
        return;
    }
    filter_found(p, in->text + from, in->length - from);
    if (!p->choice.n_shown) p->items = (free(p->items), NULL);
}

/* What Tab has listed. */
static void take_list(tui_palette *p, const struct input_view *in)
{
    const struct completion *c = in->list;
    forget(p);
    p->found = (struct completion){.start = c->start, .append = c->append, .word = ""};
    for (size_t i = 0; i < c->count; i++) completion_add(&p->found, c->names[i], c->notes ? c->notes[i] : NULL);
    p->found.word = NULL;
    p->before = strndup(in->text, c->start);
    p->kind = PALETTE_FILES;
    if (begin(p))
        for (size_t i = 0; i < p->found.count; i++) show(p, i);
    p->choice.selected = SIZE_MAX;
}

void tui_palette_follow(tui_palette *p, const struct input_view *in, const struct completer *completer,
                        const char *home)
{
    size_t arguments;
    bool listed = in->is_draft && in->list && in->list->count;
    /* A text, which may be long, is not looked at with each key. */
    if (!listed && !p->kind && !p->dismissed && in->text[0] != '/') return;
    if (p->line && !strcmp(p->line, in->text) && p->cursor == in->cursor && listed == p->listed) return;
    free(p->line);
    p->line = strdup(in->text);
    p->cursor = in->cursor;
    p->listed = listed;
    bool command = in->is_draft && !in->prompt && !in->menu && slash_may_be_command(in->text, in->length, in->pasted) &&
                   in->cursor == in->length && !memchr(in->text, '\n', in->length);
    const slash *s = command ? offering(in, &arguments) : NULL;
    if (listed) {
        p->dismissed = false;
        take_list(p, in);
    } else if (!in->length || !in->is_draft) {
        tui_palette_close(p);
    } else if (p->dismissed) {
        return;
    } else if (s) {
        follow_argument(p, in, completer, home, s, arguments);
    } else if (command && !memchr(in->text, ' ', in->length)) {
        if (p->kind != PALETTE_COMMANDS) find_commands(p);
        filter_commands(p, in->text + 1, in->length - 1);
    } else if (p->kind == PALETTE_FILES && same_beginning(p, in) && in->cursor >= p->found.start) {
        filter_found(p, in->text + p->found.start, in->cursor - p->found.start);
    } else {
        forget(p);
    }
    if (p->kind && !p->choice.n_shown && p->kind != PALETTE_ARGUMENT) forget(p);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

static tui_palette_result move(tui_palette *p, long by)
{
    size_t last = p->choice.n_shown - 1, at = p->choice.selected;
    if (at == SIZE_MAX) at = by > 0 ? 0 : last;
    else if (by < 0) at = at < (size_t)-by ? 0 : at - (size_t)-by;
    else at = at + (size_t)by > last ? last : at + (size_t)by;
    p->choice.selected = at;
    p->chosen = true;
    return TUI_PALETTE_MOVED;
}

/* The candidate that is selected; SIZE_MAX: none. */
static size_t row_of(const tui_palette *p)
{
    return p->choice.selected < p->choice.n_shown ? p->choice.shown[p->choice.selected] : SIZE_MAX;
}

/* The only command that begins so, whatever else fits. */
static bool only_beginning(const tui_palette *p, const char *word, size_t n)
{
    const size_t *shown = p->choice.shown;
    return p->choice.n_shown && !rank(&slash_table[shown[0]], word, n) &&
           (p->choice.n_shown == 1 || rank(&slash_table[shown[1]], word, n));
}

static tui_palette_result enter(const tui_palette *p, const struct input_view *in)
{
    size_t row = row_of(p);
    if (row == SIZE_MAX) return TUI_PALETTE_NOT_MINE;
    if (p->kind == PALETTE_COMMANDS) {
        const slash *s = &slash_table[row];
        const char *word = in->text + 1;
        size_t n = in->length - 1;
        if (!p->chosen && slashes_find(word, n) < SLASH_COUNT) return TUI_PALETTE_NOT_MINE;
        bool sure = p->chosen || only_beginning(p, word, n);
        return sure && s->argument != ARG_WORDS ? TUI_PALETTE_RUNS : TUI_PALETTE_TAKES;
    }
    if (!p->chosen) return TUI_PALETTE_NOT_MINE;
    size_t arguments;
    const slash *s = p->kind == PALETTE_ARGUMENT ? offering(in, &arguments) : NULL;
    bool last = s && (s->argument == ARG_CHOICE || s->completion == COMPLETE_LINE);
    return last ? TUI_PALETTE_RUNS : TUI_PALETTE_TAKES;
}

static tui_palette_result byte(tui_palette *p, const struct input_view *in, unsigned char c)
{
    bool marked = row_of(p) != SIZE_MAX;
    switch (c) {
    case 14: return move(p, 1);
    case 16: return move(p, -1);
    case '\t': return marked ? TUI_PALETTE_TAKES : TUI_PALETTE_NOT_MINE;
    case '\r': return enter(p, in);
    default: return TUI_PALETTE_NOT_MINE;
    }
}

tui_palette_result tui_palette_event(tui_palette *p, int rows, const struct input_view *in,
                                     const struct decoder_event *e)
{
    if (!p->kind || !p->choice.n_shown) return TUI_PALETTE_NOT_MINE;
    if (rows > ROWS_MAX) rows = ROWS_MAX;
    if (e->kind == DECODER_ESC) {
        forget(p);
        p->dismissed = true;
        return TUI_PALETTE_MOVED;
    }
    if (e->kind == DECODER_BYTES && e->length == 1) return byte(p, in, (unsigned char)e->data[0]);
    if (e->kind != DECODER_KEY) return TUI_PALETTE_NOT_MINE;
    switch (e->code) {
    case KEYCODE_DOWN: return move(p, 1);
    case KEYCODE_UP: return move(p, -1);
    case KEYCODE_PAGE_DOWN: return move(p, rows);
    case KEYCODE_PAGE_UP: return move(p, -rows);
    default: return TUI_PALETTE_NOT_MINE;
    }
}

bool tui_palette_click(tui_palette *p, int row)
{
    if (!p->kind || row < 0 || (size_t)row >= p->choice.n_shown) return false;
    p->choice.selected = (size_t)row;
    p->chosen = true;
    return true;
}

char *tui_palette_take(const tui_palette *p, const struct input_view *in, size_t *cursor)
{
    size_t row = row_of(p), start = p->found.start;
    if (row == SIZE_MAX || start > in->cursor) return NULL;
    const char *name = p->found.names[row];
    bool folder = name[0] && name[strlen(name) - 1] == '/';
    bool more = p->kind == PALETTE_COMMANDS ? slash_table[row].argument != ARG_NONE
                                            : p->kind == PALETTE_ARGUMENT && !folder;
    char *line;
    int head = asprintf(&line, "%.*s%s%s", (int)start, in->text, name, more ? " " : "");
    if (head < 0) return NULL;
    *cursor = (size_t)head;
    char *whole;
    bool joined = asprintf(&whole, "%s%s", line, in->text + in->cursor) >= 0;
    free(line);
    return joined ? whole : NULL;
}

/* ---- Showing ---------------------------------------------------------------------------------------------------- */

/* What stands at the left of a row, a command's arguments where they fit into `cols`; returns its columns. */
static int left_of(const tui_palette *p, size_t i, int cols, char *out, size_t room)
{
    bool command = p->kind == PALETTE_COMMANDS;
    const char *arguments = command ? slash_table[i].arguments : "";
    snprintf(out, room, "%s%s%s%s", command ? "/" : "", p->found.names[i], *arguments ? " " : "", arguments);
    if (*arguments && width_text(out, strlen(out)) > cols) snprintf(out, room, "/%s", p->found.names[i]);
    return width_text(out, strlen(out));
}

static void lay_out(tui_palette *p, int cols)
{
    char left[512], cell[1024];
    int wide = 0;
    for (size_t i = 0; i < p->found.count; i++) {
        int w = left_of(p, i, MAX_NAME / 2, left, sizeof left);
        bool noted = p->found.notes[i];
        if (noted && w > wide && w <= MAX_NAME / 2) wide = w;
    }
    if (!wide) wide = MAX_NAME / 2;
    char **rows = calloc(p->found.count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < p->found.count; i++) {
        const char *note = p->found.notes[i];
        left_of(p, i, note && cols > 2 * wide ? wide : cols, left, sizeof left);
        bool both = note && cols > 2 * wide;
        tui_list_cell(cell, sizeof cell, left, both ? wide : cols, false);
        int room = cols - wide - GAP;
        bool cut = both && width_text(note, strlen(note)) > room;
        int n = !both ? 0 : (int)(cut ? width_fit(note, strlen(note), room - 3) : strlen(note));
        if (asprintf(&rows[i], "%s%*s%.*s%s", cell, both ? GAP : 0, "", n, both ? note : "", cut ? "..." : "") < 0)
            rows[i] = NULL;
    }
    for (size_t i = 0; p->rows && i < p->found.count; i++) free(p->rows[i]);
    free(p->rows);
    p->rows = rows;
    p->rows_cols = rows ? cols : 0;
}

void tui_palette_fill(tui_palette *p, int cols, struct view_popup *v)
{
    if (!p->kind || !p->choice.n_shown) return;
    if (!p->rows || p->rows_cols != cols) lay_out(p, cols);
    struct view_item *items = realloc(p->items, (p->choice.n_shown + 1) * sizeof *items);
    if (items) p->items = items;
    if (!items || !p->rows) return;
    for (size_t i = 0; i < p->choice.n_shown; i++) {
        const char *row = p->rows[p->choice.shown[i]];
        items[i] = (struct view_item){NULL, row ? row : "", NULL};
    }
    size_t n = p->choice.n_shown;
    p->aside[0] = 0;
    size_t at = p->choice.selected < n ? p->choice.selected + 1 : 0;
    if (n > ROWS_MAX) snprintf(p->aside, sizeof p->aside, "%zu of %zu", at, n);
    *v = (struct view_popup){.kind = VIEW_POPUP_TABLE,
                             .aside = p->aside,
                             .title = p->kind == PALETTE_COMMANDS ? "commands" : NULL,
                             .items = items,
                             .n_items = p->choice.n_shown,
                             .rows_most = ROWS_MAX,
                             .selected = p->choice.selected,
                             .footer = "Up Down choose  Enter takes it  Tab completes  Esc closes"};
}
