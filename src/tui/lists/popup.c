#include "src/tui/lists/popup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "src/tui/lists/list.h"
#include "ui/draw/width.h"
#include "ui/unicode/fold.h"

static void drop_items(tui_popup *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free((char *)p->items[i].key);
        free((char *)p->items[i].text);
        free((char *)p->items[i].detail);
    }
    p->n = 0;
}

void tui_popup_close(tui_popup *p)
{
    drop_items(p);
    free(p->items);
    free(p->title);
    free(p->page);
    *p = (tui_popup){.cols = p->cols};
}

static void open_popup(tui_popup *p, tui_popup_kind kind, const char *title)
{
    tui_popup_close(p);
    p->kind = kind;
    p->title = strdup(title);
}

/* Copies the strings; key and detail may be NULL. */
static void add(tui_popup *p, const char *key, const char *text, size_t n, const char *detail)
{
    if (p->n == p->room) {
        size_t room = p->room ? 2 * p->room : 32;
        struct view_item *larger = realloc(p->items, sizeof *larger * room);
        if (!larger) return;
        p->items = larger;
        p->room = room;
    }
    char *copy = strndup(text, n);
    if (!copy) return;
    p->items[p->n++] = (struct view_item){key ? strdup(key) : NULL, copy, detail ? strdup(detail) : NULL};
}

/* ---- Pages ----------------------------------------------------------------------------------------------------- */

/* Where a line of at most `cols` columns ends: at a blank, if there is one late enough. */
static size_t line_end(const char *text, size_t n, int cols)
{
    size_t at = 0, blank = 0;
    int col = 0;
    while (at < n) {
        struct width_glyph glyph;
        size_t step = width_next(text + at, n - at, &glyph);
        if (col + glyph.width > cols) return blank > (size_t)cols / 3 ? blank : at ? at : step;
        if (text[at] == ' ') blank = at + 1;
        col += glyph.width;
        at += step;
    }
    return n;
}

/* By how many columns the further rows of a line are indented: up to the right column of a table, if the line looks
 * like a row of one (its column begins behind the first gap of two blanks), or as far as the line itself; else by two
 * columns. */
static int hanging(const char *text, size_t n, int cols)
{
    size_t lead = strspn(text, " "), at = lead;
    while (at + 1 < n && !(text[at] == ' ' && text[at + 1] == ' ')) at++;
    while (at < n && text[at] == ' ') at++;
    if (at + 1 >= n) at = lead;
    return at > 2 && (int)at < cols / 2 ? (int)at : 2;
}

/* Does the filter of the page leave a line with one of these texts? */
static bool kept(const tui_popup *p, const char *a, const char *b, const char *c)
{
    return fold_holds(a, p->input) || fold_holds(b, p->input) || (c && fold_holds(c, p->input));
}

/* A line of any length as rows of the page; `key` stands in a column of its own before the first, unless NULL. */
static void add_wrapped(tui_popup *p, const char *key, const char *text, size_t n, int cols, int indent)
{
    char row[600];
    size_t end = line_end(text, n, cols);
    add(p, key, text, end, NULL);
    for (text += end, n -= end; n; text += end, n -= end) {
        end = line_end(text, n, cols - indent);
        int length = snprintf(row, sizeof row, "%*s%.*s", indent, "", (int)end, text);
        if (length > 0)
            add(p, key ? "" : NULL, row, (size_t)length < sizeof row ? (size_t)length : sizeof row - 1, NULL);
    }
}

/* The table of keys: in narrow pages each help stands below its key. */
static void add_keys(tui_popup *p, int cols)
{
    static const char *const names[] = {[KEYS_CHAT] = "in the input", [KEYS_BROWSE] = "in browse mode (^X b)",
                                        [KEYS_INSPECT] = "while inspecting the lanes (^X i)",
                                        [KEYS_MONITOR] = "in `tandem monitor`", [KEYS_DEMO] = "in the demo"};
    enum { KEY_COLS = 19, HELP_COLS = 16 };
    size_t n;
    const struct key_row *rows = keys_table(&n);
    bool below = cols < KEY_COLS + HELP_COLS;
    const char *blank = below ? NULL : "";
    for (int c = KEYS_CHAT; c <= KEYS_DEMO; c++) {
        bool titled = false;
        for (size_t i = 0; i < n; i++) {
            const struct key_row *k = &rows[i];
            char line[300];
            if ((int)k->context != c || !kept(p, k->shown, k->help, k->command)) continue;
            if (!titled && p->n) add(p, blank, "", 0, NULL);
            if (!titled) add_wrapped(p, blank, names[c], strlen(names[c]), below ? cols : cols - KEY_COLS, 0);
            titled = true;
            if (below) {
                add_wrapped(p, NULL, k->shown, strlen(k->shown), cols, 0);
                snprintf(line, sizeof line, "  %s", k->help);
                add_wrapped(p, NULL, line, strlen(line), cols, 2);
            } else if (cols >= 106) {
                add(p, k->shown, k->help, strlen(k->help), k->command);
            } else {
                add_wrapped(p, k->shown, k->help, strlen(k->help), cols - KEY_COLS, 0);
            }
        }
    }
}

/* The length of a line with the lines behind it that are indented further, such as the help of a command: a filter
 * leaves all of them or none.
 */
static size_t entry_length(const char *text)
{
    size_t own = strspn(text, " "), n = strcspn(text, "\n");
    enum { FURTHER = 4 };
    while (text[n] && strspn(text + n + 1, " ") >= own + FURTHER) n += 1 + strcspn(text + n + 1, "\n");
    return n + (text[n] == '\n');
}

static void add_lines(tui_popup *p, const char *text, int cols)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        add_wrapped(p, NULL, text, n, cols, hanging(text, n, cols));
        text += n + (text[n] == '\n');
    }
}

#define NONE_HOLDS "no line holds these words"

/* Lays the page out anew where it has got another width; what was read of it stays read. */
static void lay_out(tui_popup *p)
{
    int cols = p->cols < 12 ? 12 : p->cols;
    size_t before = p->n, top = p->selected;
    if (p->kind != TUI_POPUP_PAGE || p->laid_out == cols) return;
    drop_items(p);
    p->laid_out = cols;
    if (!p->page) add_keys(p, cols);
    for (const char *text = p->page; text && *text;) {
        size_t n = entry_length(text);
        char *entry = strndup(text, n);
        if (entry && kept(p, entry, "", NULL)) add_lines(p, entry, cols);
        free(entry);
        text += n;
    }
    if (!p->n) add_wrapped(p, NULL, NONE_HOLDS, strlen(NONE_HOLDS), cols, 0);
    p->selected = before ? top * p->n / before : 0;
}

void tui_popup_fit(tui_popup *p, int cols)
{
    p->cols = cols;
    lay_out(p);
}

void tui_popup_page(tui_popup *p, const char *title, const char *text)
{
    open_popup(p, TUI_POPUP_PAGE, title);
    p->page = strdup(text);
    if (p->page) lay_out(p);
    else tui_popup_close(p);
}

void tui_popup_keys(tui_popup *p)
{
    open_popup(p, TUI_POPUP_PAGE, "keys");
    lay_out(p);
}

/* rows: of a page. */
static void move(tui_popup *p, long rows, long by)
{
    size_t last = p->n ? p->n - 1 : 0;
    if (p->kind == TUI_POPUP_PAGE) last = p->n > (size_t)rows ? p->n - (size_t)rows : 0;
    long to = (long)p->selected + by;
    p->selected = to < 0 ? 0 : (size_t)to > last ? last : (size_t)to;
}

/* ---- Lists ----------------------------------------------------------------------------------------------------- */

void tui_popup_list(tui_popup *p, const tui_list_kind *kind, void *list)
{
    open_popup(p, TUI_POPUP_LIST, "");
    p->list_kind = kind;
    p->list = list;
}

/* A list has keys of its own. A y that comes before its question was shown is no answer. */
static tui_action list_event(tui_popup *p, int rows, const struct decoder_event *e)
{
    bool closes = false, asks = tui_list_asks(p->list);
    bool yes = e->kind == DECODER_BYTES && e->length == 1 && e->data[0] == 'y';
    if (asks && yes && !p->seen) return (tui_action){0};
    tui_action action = tui_list_handle(p->list_kind, p->list, rows, e, &closes);
    if (!closes && !asks && tui_list_asks(p->list)) p->seen = false;
    if (closes) tui_popup_close(p);
    return action;
}

/* ---- Consent --------------------------------------------------------------------------------------------------- */

void tui_popup_consent(tui_popup *p, const char *title, const char *question, const char *yes, const char *no)
{
    int cols = p->cols < 12 ? 76 : p->cols;
    open_popup(p, TUI_POPUP_CONSENT, title);
    p->other_key_ns = 0;
    p->seen = false;
    add_wrapped(p, "", question, strlen(question), cols - 3, 0);
    add(p, "y", yes, strlen(yes), NULL);
    add(p, "n", no, strlen(no), NULL);
    p->selected = p->n ? p->n - 1 : 0;
}

/* For this long after a key that is no answer, no key counts as a yes. */
#define CONSENT_REST_NS 1000000000

static tui_action consent_key(tui_popup *p, const struct decoder_event *e)
{
    bool byte = e->kind == DECODER_BYTES && e->length == 1;
    char c = byte ? e->data[0] : 0;
    bool leaves = e->kind == DECODER_ESC || c == 3 || c == 7, no = leaves || c == 'n' || c == 'q' || c == '\r';
    /* A user who was writing when the question came may not have seen it: the y of "Why" is no answer. */
    bool writing = p->other_key_ns && clock_ns() - p->other_key_ns < CONSENT_REST_NS;
    bool blind = !p->seen && !leaves;
    if (blind || (!no && (c != 'y' || writing))) {
        p->other_key_ns = clock_ns();
        return (tui_action){0};
    }
    tui_popup_close(p);
    return (tui_action){.kind = TUI_ACTION_CONSENT, .number = c == 'y'};
}

/* ---- Search ---------------------------------------------------------------------------------------------------- */

void tui_popup_find(tui_popup *p, int direction)
{
    open_popup(p, TUI_POPUP_FIND, direction < 0 ? "search up" : "search down");
    p->direction = direction;
}

static tui_action find_key(tui_popup *p, const struct decoder_event *e)
{
    bool entered = tui_line_edit(p->input, sizeof p->input, e);
    p->input_n = strlen(p->input);
    if (!entered) return (tui_action){0};
    tui_action action = tui_action_find(p->input_n ? p->input : NULL, p->direction);
    tui_popup_close(p);
    return action;
}

/* ---- Pages' filter --------------------------------------------------------------------------------------------- */

static void filter_anew(tui_popup *p)
{
    p->laid_out = 0;
    lay_out(p);
    p->selected = 0;
}

/* False: the key is not the filter's. */
static bool filter_key(tui_popup *p, const struct decoder_event *e)
{
    bool byte = e->kind == DECODER_BYTES && e->length == 1;
    bool leaves = e->kind == DECODER_ESC || (byte && (e->data[0] == 3 || e->data[0] == 7));
    if (leaves && (p->filtering || p->input[0])) {
        p->filtering = false;
        p->input[0] = 0;
        filter_anew(p);
        return true;
    }
    if (p->filtering && (byte || e->kind == DECODER_PASTE)) {
        if (tui_line_edit(p->input, sizeof p->input, e)) p->filtering = false;
        filter_anew(p);
        return true;
    }
    if (!byte || e->data[0] != '/') return false;
    p->filtering = true;
    p->input[0] = 0;
    filter_anew(p);
    return true;
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

tui_action tui_popup_event(tui_popup *p, int rows, const struct decoder_event *e)
{
    bool byte = e->kind == DECODER_BYTES && e->length == 1;
    bool ctrl_c = byte && (e->data[0] == 3 || e->data[0] == 7);
    if (rows < 1) rows = 1;
    if (p->kind == TUI_POPUP_LIST) return list_event(p, rows, e);
    if (p->kind == TUI_POPUP_PAGE && filter_key(p, e)) return (tui_action){0};
    if (e->kind == DECODER_ESC || ctrl_c) {
        tui_popup_close(p);
        return (tui_action){0};
    }
    if (p->kind == TUI_POPUP_FIND) return find_key(p, e);
    if (p->kind == TUI_POPUP_CONSENT) return consent_key(p, e);
    long by = tui_list_motion(e, rows);
    if (by) move(p, rows, by);
    if ((byte && (e->data[0] == 'q' || e->data[0] == '\r')) || (e->kind == DECODER_KEY && e->code == KEYCODE_F1))
        tui_popup_close(p);
    return (tui_action){0};
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

/* The menu behind Ctrl-X, made from the table of keys. */
static void fill_menu(struct view_popup *v)
{
    static struct view_item items[64];
    size_t n, count = 0;
    const struct key_row *rows = keys_table(&n);
    for (size_t i = 0; i < n && count < sizeof items / sizeof *items; i++) {
        const char *key;
        if (keys_in_menu(&rows[i], &key)) items[count++] = (struct view_item){key, rows[i].help, NULL};
    }
    *v = (struct view_popup){.kind = VIEW_POPUP_MENU, .title = "^X", .items = items, .n_items = count,
                             .selected = SIZE_MAX, .footer = "any other key closes"};
}

static void fill_completion(const struct completion *c, struct view_popup *v)
{
    enum { LIMIT = 200 };
    static struct view_item items[LIMIT];
    size_t n = c->count < LIMIT ? c->count : LIMIT;
    for (size_t i = 0; i < n; i++) items[i] = (struct view_item){NULL, c->names[i], c->notes ? c->notes[i] : NULL};
    *v = (struct view_popup){.kind = VIEW_POPUP_COMPLETION, .items = items, .n_items = n, .selected = SIZE_MAX};
}

void tui_popup_fill(const tui_popup *p, const struct input_view *in, struct view_popup *v)
{
    static const char *const footers[] = {[TUI_POPUP_PAGE] = "q closes  j k Space b move  / filter",
                                          [TUI_POPUP_FIND] = "Enter searches  Esc closes",
                                          [TUI_POPUP_CONSENT] = "y n"};
    static const enum view_popup_kind kinds[] = {[TUI_POPUP_PAGE] = VIEW_POPUP_PAGER,
                                                 [TUI_POPUP_FIND] = VIEW_POPUP_PROMPT,
                                                 [TUI_POPUP_CONSENT] = VIEW_POPUP_QUESTION};
    *v = (struct view_popup){.selected = SIZE_MAX};
    if (p->kind == TUI_POPUP_LIST) {
        tui_list_show(p->list_kind, p->list, p->table_cols, v);
    } else if (p->kind) {
        *v = (struct view_popup){.kind = kinds[p->kind], .title = p->title, .items = p->items, .n_items = p->n,
                                 .selected = p->selected, .input = p->input, .input_len = p->input_n,
                                 .input_cursor = p->input_n, .footer = footers[p->kind]};
        if (p->kind == TUI_POPUP_PAGE && (p->filtering || p->input[0])) {
            static char title[300];
            snprintf(title, sizeof title, "%s with: %s%s", p->title, p->input, p->filtering ? "_" : "");
            v->title = title;
            v->footer = p->filtering ? "Enter keeps it  Esc shows all" : "q closes  j k Space b move  Esc shows all";
        }
    } else if (in->menu) {
        fill_menu(v);
    } else if (in->ask) {
        static char title[64];
        snprintf(title, sizeof title, "show all %zu?", in->ask);
        *v = (struct view_popup){.kind = VIEW_POPUP_QUESTION, .title = title, .footer = "y n", .selected = SIZE_MAX};
    } else if (in->list && in->list->count) {
        fill_completion(in->list, v);
    }
}
