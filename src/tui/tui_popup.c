/* What opens over the transcript: pages, the list of sessions, a question, the search prompt. An open one owns the keys.
 * The menu behind Ctrl-X and completion lists belong to the input and are only shown from here. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/tui/tui_private.h"

static void drop_items(tui_popup *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free((char *)p->items[i].key);
        free((char *)p->items[i].text);
        free((char *)p->items[i].detail);
    }
    p->n = 0;
}

void tui_popup_close(tui *t)
{
    tui_popup *p = &t->popup;
    drop_items(p);
    free(p->items);
    free(p->title);
    free(p->page);
    *p = (tui_popup){0};
    t->dirty = true;
}

static void open_popup(tui *t, tui_popup_kind kind, const char *title)
{
    tui_popup_close(t);
    t->popup.kind = kind;
    tui_set(&t->popup.title, title);
}

/* Copies the strings; key and detail may be NULL. */
static void add(tui *t, const char *key, const char *text, size_t n, const char *detail)
{
    tui_popup *p = &t->popup;
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

/* Below a table's right column, if the line looks like one: behind the first gap of two blanks, or where it begins; else
 * two columns. */
static int hanging(const char *text, size_t n, int cols)
{
    size_t lead = strspn(text, " "), at = lead;
    while (at + 1 < n && !(text[at] == ' ' && text[at + 1] == ' ')) at++;
    while (at < n && text[at] == ' ') at++;
    if (at + 1 >= n) at = lead;
    return at > 2 && (int)at < cols / 2 ? (int)at : 2;
}

/* A line of any length as rows of the page; `key` stands in a column of its own before the first, unless NULL. */
static void add_wrapped(tui *t, const char *key, const char *text, size_t n, int cols, int indent)
{
    char row[600];
    size_t end = line_end(text, n, cols);
    add(t, key, text, end, NULL);
    for (text += end, n -= end; n; text += end, n -= end) {
        end = line_end(text, n, cols - indent);
        int length = snprintf(row, sizeof row, "%*s%.*s", indent, "", (int)end, text);
        if (length > 0) add(t, key ? "" : NULL, row, (size_t)length < sizeof row ? (size_t)length : sizeof row - 1, NULL);
    }
}

/* The columns of a page's text at the size that is about to be drawn. */
static int page_cols(const tui *t)
{
    const struct canvas *c = t->canvas;
    bool full = tui_keys_drawn_form(t) == VIEW_FORM_FULL;
    int cols = (full ? c->cols : layout_input_cols(c->rows, c->cols, t->form)) - 4;
    return cols < 12 ? 12 : cols;
}

/* The table of keys: in narrow pages each help stands below its key. */
static void add_keys(tui *t, int cols)
{
    static const char *const names[] = {[KEYS_CHAT] = "in the input", [KEYS_BROWSE] = "in browse mode (^X b)",
                                        [KEYS_MONITOR] = "in the full-screen monitor"};
    static const enum key_context usual[] = {KEYS_CHAT, KEYS_BROWSE, KEYS_MONITOR},
                                  monitor[] = {KEYS_MONITOR, KEYS_CHAT, KEYS_BROWSE};
    enum { KEY_COLS = 19, HELP_COLS = 16 };
    const enum key_context *order = tui_keys_drawn_form(t) == VIEW_FORM_FULL ? monitor : usual; /* whose keys these are */
    size_t n;
    const struct key_row *rows = keys_table(&n);
    bool below = cols < KEY_COLS + HELP_COLS;
    const char *blank = below ? NULL : "";
    for (int c = 0; c < 3; c++) {
        if (c) add(t, blank, "", 0, NULL);
        add_wrapped(t, blank, names[order[c]], strlen(names[order[c]]), below ? cols : cols - KEY_COLS, 0);
        for (size_t i = 0; i < n; i++) {
            const struct key_row *k = &rows[i];
            char line[300];
            if (k->context != order[c]) continue;
            if (below) {
                add_wrapped(t, NULL, k->shown, strlen(k->shown), cols, 0);
                snprintf(line, sizeof line, "  %s", k->help);
                add_wrapped(t, NULL, line, strlen(line), cols, 2);
            } else if (cols >= 106) {
                add(t, k->shown, k->help, strlen(k->help), k->command);
            } else {
                add_wrapped(t, k->shown, k->help, strlen(k->help), cols - KEY_COLS, 0);
            }
        }
    }
}

/* Lays the page out anew where the terminal has got another width; what was read of it stays read. */
static void lay_out(tui *t)
{
    tui_popup *p = &t->popup;
    int cols = page_cols(t);
    size_t before = p->n, top = p->selected;
    if (p->kind != TUI_POPUP_PAGE || p->cols == cols) return;
    drop_items(p);
    p->cols = cols;
    if (!p->page) add_keys(t, cols);
    for (const char *text = p->page; text && *text;) {
        size_t n = strcspn(text, "\n");
        add_wrapped(t, NULL, text, n, cols, hanging(text, n, cols));
        text += n + (text[n] == '\n');
    }
    p->selected = before ? top * p->n / before : 0;
}

void tui_popup_page(tui *t, const char *title, const char *text)
{
    open_popup(t, TUI_POPUP_PAGE, title);
    t->popup.page = strdup(text);
    if (t->popup.page) lay_out(t);
    else tui_popup_close(t);
}

void tui_popup_keys(tui *t)
{
    open_popup(t, TUI_POPUP_PAGE, "keys");
    lay_out(t);
}

static size_t page_rows(const tui *t)
{
    int rows = screen_popup_page(t->screen);
    return rows < 1 ? 1 : (size_t)rows;
}

static void move(tui *t, long by)
{
    tui_popup *p = &t->popup;
    size_t last = p->n ? p->n - 1 : 0;
    if (p->kind == TUI_POPUP_PAGE) last = p->n > page_rows(t) ? p->n - page_rows(t) : 0;
    long to = (long)p->selected + by;
    p->selected = to < 0 ? 0 : (size_t)to > last ? last : (size_t)to;
}

/* ---- Sessions -------------------------------------------------------------------------------------------------- */

tdm_status tui_popup_list(tui *t, tdm_error *err)
{
    store_list_free(t->sessions, t->n_sessions);
    t->sessions = NULL;
    t->n_sessions = 0;
    return store_list(&t->sessions, &t->n_sessions, err);
}

void tui_popup_sessions(tui *t)
{
    tdm_error err = {0};
    t->app.deleting[0] = 0; /* another command, as others are */
    if (tui_popup_list(t, &err)) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        return;
    }
    if (!t->n_sessions) {
        tui_notice_add(t, VIEW_NOTICE_INFO, "there is no saved session yet");
        return;
    }
    open_popup(t, TUI_POPUP_SESSIONS, "sessions");
    store_show(&t->app.shown, t->sessions, t->n_sessions);
    for (int i = 0; i < t->n_sessions; i++) {
        const store_entry *e = &t->sessions[i];
        char detail[120], date[40], number[16];
        snprintf(number, sizeof number, "%d", i + 1);
        struct tm parts;
        time_t when = (time_t)e->changed_s;
        localtime_r(&when, &parts);
        strftime(date, sizeof date, "%Y-%m-%d %H:%M", &parts);
        bool open = t->app.place.lock >= 0 && !strcmp(e->id, t->app.place.id);
        snprintf(detail, sizeof detail, "%s  %3d %-5s  %.30s%s", date, e->turns, e->turns == 1 ? "turn" : "turns", e->model ? e->model : "",
                 open ? "  (open)" : "");
        const char *name = e->damage[0] ? e->damage : e->name ? e->name : "";
        add(t, number, name, strlen(name), detail);
    }
}

/* The id of the selected one: the sessions may have been saved and listed anew since. */
static bool selected_id(const tui *t, char id[40])
{
    size_t selected = t->popup.selected;
    if (selected >= (size_t)t->app.shown.n) return false;
    memcpy(id, t->app.shown.ids[selected], 40);
    return true;
}

static void resume_selected(tui *t)
{
    char id[40];
    bool selected = selected_id(t, id);
    tui_popup_close(t);
    if (selected) tui_command_by(t, SLASH_RESUME, id);
}

static void ask_delete(tui *t)
{
    static const char trash[] = "to the trash, for 30 days";
    char title[300], id[40];
    size_t selected = t->popup.selected;
    if (!selected_id(t, id) || selected >= t->popup.n) return;
    snprintf(title, sizeof title, "delete '%.200s'?", t->popup.items[selected].text);
    open_popup(t, TUI_POPUP_DELETE, title);
    add(t, "y", trash, sizeof trash - 1, NULL);
    add(t, "n", "keep it", 7, NULL);
    t->popup.selected = 1;
    memcpy(t->popup.id, id, sizeof id);
}

static void delete_it(tui *t)
{
    char id[40];
    memcpy(id, t->popup.id, sizeof id);
    tui_popup_close(t);
    t->app.deleting[0] = 0;
    tui_command_by(t, SLASH_DELETE, id); /* the first call asks; the user has been asked */
    for (size_t i = 0; i < t->n_notices; i++) t->notices[i].until_ns = 0;
    tui_command_by(t, SLASH_DELETE, id);
    tui_popup_sessions(t);
}

/* ---- Search ---------------------------------------------------------------------------------------------------- */

void tui_popup_find(tui *t, int direction)
{
    open_popup(t, TUI_POPUP_FIND, direction < 0 ? "search up" : "search down");
    t->popup.direction = direction;
}

static void find_key(tui *t, const struct decoder_event *e)
{
    tui_popup *p = &t->popup;
    for (size_t i = 0; i < e->length && (e->kind == DECODER_BYTES || e->kind == DECODER_PASTE); i++) {
        unsigned char c = (unsigned char)e->data[i];
        if (c == '\r' && e->kind == DECODER_BYTES) {
            char words[sizeof p->input];
            int direction = p->direction;
            memcpy(words, p->input, sizeof words);
            tui_popup_close(t);
            tui_browse_find(t, words[0] ? words : NULL, direction);
            return;
        }
        if (c == 0x7f || c == 8) {
            while (p->input_n && ((unsigned char)p->input[--p->input_n] & 0xc0) == 0x80) {
            }
        } else if (c == 0x15) {
            p->input_n = 0;
        } else if (c >= 0x20 && p->input_n + 1 < sizeof p->input) {
            p->input[p->input_n++] = (char)c;
        }
        p->input[p->input_n] = 0;
    }
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static void list_key(tui *t, unsigned char c)
{
    tui_popup *p = &t->popup;
    long page = (long)page_rows(t);
    switch (c) {
    case 'j':
    case 14: move(t, 1); break;
    case 'k':
    case 16: move(t, -1); break;
    case ' ': move(t, page); break;
    case 'b': move(t, -page); break;
    case 'g': move(t, -(long)p->n); break;
    case 'G': move(t, (long)p->n); break;
    case 'q': tui_popup_close(t); break;
    case 'd':
        if (p->kind == TUI_POPUP_SESSIONS) ask_delete(t);
        break;
    case 'y':
        if (p->kind == TUI_POPUP_DELETE) delete_it(t);
        break;
    case 'n':
        if (p->kind == TUI_POPUP_DELETE) tui_popup_sessions(t);
        break;
    case '\r':
        if (p->kind == TUI_POPUP_SESSIONS) resume_selected(t);
        else if (p->kind == TUI_POPUP_DELETE && p->selected == 0) delete_it(t);
        else tui_popup_close(t);
        break;
    default: break;
    }
}

bool tui_popup_event(tui *t, const struct decoder_event *e)
{
    bool ctrl_c = e->kind == DECODER_BYTES && e->length == 1 && (e->data[0] == 3 || e->data[0] == 7);
    if (e->kind == DECODER_ESC || ctrl_c) {
        tui_popup_close(t);
        return true;
    }
    if (t->popup.kind == TUI_POPUP_FIND) {
        find_key(t, e);
        return true;
    }
    if (e->kind == DECODER_BYTES && e->length == 1) list_key(t, (unsigned char)e->data[0]);
    if (e->kind != DECODER_KEY) return true;
    switch (e->code) {
    case KEYCODE_DOWN: move(t, 1); break;
    case KEYCODE_UP: move(t, -1); break;
    case KEYCODE_PAGE_DOWN: move(t, (long)page_rows(t)); break;
    case KEYCODE_PAGE_UP: move(t, -(long)page_rows(t)); break;
    case KEYCODE_HOME: move(t, -(long)t->popup.n); break;
    case KEYCODE_END: move(t, (long)t->popup.n); break;
    case KEYCODE_F1: tui_popup_close(t); break;
    default: break;
    }
    return true;
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

static void fill_completion(const tui *t, struct view_popup *v)
{
    enum { MOST = 200 };
    static struct view_item items[MOST];
    const struct completion *c = t->in.list;
    size_t n = c->count < MOST ? c->count : MOST;
    for (size_t i = 0; i < n; i++) items[i] = (struct view_item){NULL, c->names[i], c->notes ? c->notes[i] : NULL};
    *v = (struct view_popup){.kind = VIEW_POPUP_COMPLETION, .items = items, .n_items = n, .selected = SIZE_MAX};
}

void tui_popup_fill(tui *t)
{
    static const char *const footers[] = {[TUI_POPUP_PAGE] = "q closes  j k Space b move",
                                          [TUI_POPUP_SESSIONS] = "Enter resumes  d deletes  q closes",
                                          [TUI_POPUP_DELETE] = "y n",
                                          [TUI_POPUP_FIND] = "Enter searches  Esc closes"};
    static const enum view_popup_kind kinds[] = {[TUI_POPUP_PAGE] = VIEW_POPUP_PAGER,
                                                 [TUI_POPUP_SESSIONS] = VIEW_POPUP_LIST,
                                                 [TUI_POPUP_DELETE] = VIEW_POPUP_QUESTION,
                                                 [TUI_POPUP_FIND] = VIEW_POPUP_PROMPT};
    struct view_popup *v = &t->view.popup;
    const tui_popup *p = &t->popup;
    lay_out(t);
    *v = (struct view_popup){.selected = SIZE_MAX};
    if (p->kind) {
        *v = (struct view_popup){.kind = kinds[p->kind], .title = p->title, .items = p->items, .n_items = p->n,
                                 .selected = p->selected, .input = p->input, .input_len = p->input_n,
                                 .input_cursor = p->input_n, .footer = footers[p->kind]};
    } else if (t->in.menu) {
        fill_menu(v);
    } else if (t->in.ask) {
        static char title[64];
        snprintf(title, sizeof title, "show all %zu?", t->in.ask);
        *v = (struct view_popup){.kind = VIEW_POPUP_QUESTION, .title = title, .footer = "y n", .selected = SIZE_MAX};
    } else if (t->in.list && t->in.list->count) {
        fill_completion(t, v);
    }
}
