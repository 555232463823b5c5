#include "ui/popup.h"

#include <stdio.h>
#include <string.h>

#include "ui/text/lines.h"

enum { BORDER = 2, PAD = 1, KEY_GAP = 2, TEXT_LEAST = 12 };

static int width_of(const char *text) { return text ? width_text(text, strlen(text)) : 0; }
static int larger(int a, int b) { return a > b ? a : b; }
static int smaller(int a, int b) { return a < b ? a : b; }

struct columns {
    int key, text, detail; /* widths */
};

static struct columns measure(const struct view_popup *p)
{
    struct columns c = {0};
    for (size_t i = 0; i < p->n_items; i++) {
        c.key = larger(c.key, width_of(p->items[i].key));
        c.text = larger(c.text, width_of(p->items[i].text));
        c.detail = larger(c.detail, width_of(p->items[i].detail));
    }
    return c;
}

static int row_width(struct columns c)
{
    return (c.key ? c.key + KEY_GAP : 0) + c.text + (c.detail ? c.detail + KEY_GAP : 0);
}

static void border(const struct view *view, struct canvas *canvas, struct rect box)
{
    bool ascii = view->options.ascii;
    const uint32_t line = ascii ? '-' : 0x2500, side = ascii ? '|' : 0x2502;
    static const uint32_t corner[4] = {0x250C, 0x2510, 0x2514, 0x2518};
    int bottom = box.row + box.rows - 1, right = box.col + box.cols - 1;
    canvas_fill(canvas, box, ' ', STYLE_POPUP);
    canvas_fill(canvas, (struct rect){box.row, box.col, 1, box.cols}, line, STYLE_RULE);
    canvas_fill(canvas, (struct rect){bottom, box.col, 1, box.cols}, line, STYLE_RULE);
    canvas_fill(canvas, (struct rect){box.row, box.col, box.rows, 1}, side, STYLE_RULE);
    canvas_fill(canvas, (struct rect){box.row, right, box.rows, 1}, side, STYLE_RULE);
    const int rows[4] = {box.row, box.row, bottom, bottom}, cols[4] = {box.col, right, box.col, right};
    for (int i = 0; i < 4; i++)
        canvas_fill(canvas, (struct rect){rows[i], cols[i], 1, 1}, ascii ? '+' : corner[i], STYLE_RULE);
}

/* Hints stand two blanks apart: those at the end that don't fit are left out. */
static size_t hints_fit(const char *text, int cols)
{
    size_t n = strlen(text), fits = n;
    while (width_text(text, fits) > cols) {
        while (fits && strncmp(text + fits - 1, "  ", 2) != 0) fits--;
        if (!fits) return width_fit(text, n, cols);
        fits--;
    }
    return fits;
}

/* `kept`: columns at the right that belong to others. */
static void on_border(struct canvas *canvas, struct rect box, int row, const char *text, int kept, style_t style)
{
    int end = box.col + box.cols - 2 - kept;
    if (!text || !text[0] || end - box.col < 6) return;
    canvas_puts(canvas, row, box.col + 2, end, " ", STYLE_RULE);
    int col = canvas_put(canvas, row, box.col + 3, end - 1, text, hints_fit(text, end - box.col - 4), style);
    canvas_puts(canvas, row, col, end, " ", STYLE_RULE);
}

static void draw_item(struct canvas *canvas, const struct view_item *item, struct columns c, int row, int col, int end,
                      bool selected)
{
    int start = col;
    if (c.key) {
        canvas_puts(canvas, row, col, end, item->key, STYLE_KEY);
        col += c.key + KEY_GAP;
    }
    int at = end - c.detail; /* details are left out where they would leave little of the text */
    bool detailed = c.detail && at - KEY_GAP - col >= smaller(c.text, TEXT_LEAST);
    canvas_puts(canvas, row, col, detailed ? at - KEY_GAP : end, item->text, STYLE_POPUP);
    if (detailed) canvas_puts(canvas, row, at, end, item->detail, STYLE_QUIET);
    if (selected) canvas_attribute(canvas, row, start, end, STYLE_REVERSE);
}

/* The line of input, of which the cursor stays in view, in `room` columns and one for the cursor at its end. */
static void draw_input(const struct view_popup *p, struct canvas *canvas, int row, int col, int room)
{
    const char *text = p->input ? p->input : "";
    size_t from = 0, cursor = p->input_cursor < p->input_len ? p->input_cursor : p->input_len;
    while (from < cursor && width_text(text + from, cursor - from) > room) {
        struct width_glyph glyph;
        from += width_next(text + from, cursor - from, &glyph);
    }
    canvas_put(canvas, row, col, col + room + 1, text + from, p->input_len - from, STYLE_TEXT);
    canvas->cursor_row = row;
    canvas->cursor_col = col + width_text(text + from, cursor - from);
}

static void draw_prompt(const struct view *view, struct canvas *canvas, struct rect area)
{
    const struct view_popup *p = &view->popup;
    int edge = area.rows > BORDER, col = area.col, room = smaller(area.cols, 60) - 1;
    struct rect box = {area.row + area.rows - 1 - 2 * edge, area.col, 1 + 2 * edge, room + 1};
    if (box.cols < 10) return;
    if (edge) {
        border(view, canvas, box);
        on_border(canvas, box, box.row, p->title, 0, STYLE_STATE);
        on_border(canvas, box, box.row + 2, p->footer, 0, STYLE_QUIET);
        col += 1 + PAD;
        room -= 2 * (1 + PAD);
    } else {
        canvas_fill(canvas, box, ' ', STYLE_POPUP);
        col = canvas_puts(canvas, box.row, col, col + box.cols / 2, p->title, STYLE_STATE) + 1;
        room -= col - box.col;
    }
    draw_input(p, canvas, box.row + edge, col, room);
}

/* ---- Tables ---- */

int popup_table_cols(int cols)
{
    return larger(cols - BORDER - 2 * PAD, 0);
}

static struct lines notes_of(const struct view_popup *p, int cols)
{
    struct lines notes = {0};
    for (size_t i = 0; i < p->n_notes; i++) {
        size_t from = notes.len;
        lines_add(&notes, p->notes[i], strlen(p->notes[i]), 0, STYLE_POPUP);
        lines_wrap(&notes, from, cols, (struct lines_prefix){"", "  ", STYLE_POPUP}, LINES_WORDS);
    }
    return notes;
}

/* How the rows of an area are shared: the line of input comes first, then a few rows of the table, then notes and
 * header. */
struct shares {
    bool edge, header;
    int rows, notes, ask;
};

static struct shares share(const struct view_popup *p, int rows, int notes)
{
    enum { LEAST = 3 };
    struct shares s = {.edge = rows > BORDER + 1, .ask = p->ask != NULL};
    int n = (int)(p->n_items < 10000 ? p->n_items : 10000), room = rows - (s.edge ? BORDER : 0) - s.ask;
    int least = smaller(smaller(n, LEAST), larger(room, 0));
    s.notes = larger(smaller(notes, room - least - 1), 0);
    room -= s.notes ? s.notes + 1 : 0;
    s.header = p->header && room > least;
    s.rows = larger(smaller(n, room - s.header), 0);
    if (p->rows_most) s.rows = smaller(s.rows, p->rows_most);
    return s;
}

static void draw_separator(const struct view *view, struct canvas *canvas, struct rect box, int row)
{
    bool ascii = view->options.ascii;
    canvas_fill(canvas, (struct rect){row, box.col, 1, box.cols}, ascii ? '-' : 0x2500, STYLE_RULE);
    canvas_fill(canvas, (struct rect){row, box.col, 1, 1}, ascii ? '|' : 0x251C, STYLE_RULE);
    canvas_fill(canvas, (struct rect){row, box.col + box.cols - 1, 1, 1}, ascii ? '|' : 0x2524, STYLE_RULE);
}

static void draw_frame(const struct view *view, struct canvas *canvas, struct rect box)
{
    const struct view_popup *p = &view->popup;
    int aside = width_of(p->aside), title = width_of(p->title), end = box.col + box.cols;
    border(view, canvas, box);
    on_border(canvas, box, box.row, p->title, 0, STYLE_STATE);
    if (aside && aside + title + 10 <= box.cols) {
        int col = canvas_puts(canvas, box.row, end - aside - 4, end, " ", STYLE_RULE);
        col = canvas_puts(canvas, box.row, col, end, p->aside, STYLE_QUIET);
        canvas_puts(canvas, box.row, col, end, " ", STYLE_RULE);
    }
    on_border(canvas, box, box.row + box.rows - 1, p->footer, 0, STYLE_QUIET);
}

/* The whole table, at the bottom of the area. */
static struct rect table_box(const struct shares *s, struct rect area)
{
    int below = (s->notes ? s->notes + 1 : 0) + s->ask, height = s->rows + s->header + below + (s->edge ? BORDER : 0);
    return (struct rect){area.row + area.rows - height, area.col, height, area.cols};
}

/* The first item that is shown. */
static int table_top(const struct view_popup *p, const struct shares *s)
{
    int selected = p->selected < p->n_items ? (int)p->selected : -1;
    return larger(selected - s->rows + 1, 0);
}

int popup_item_at(const struct view_popup *p, struct rect area, int row)
{
    if (p->kind != VIEW_POPUP_TABLE || rect_empty(area)) return -1;
    struct lines notes = notes_of(p, popup_table_cols(area.cols));
    struct shares s = share(p, area.rows, (int)notes.n);
    lines_free(&notes);
    int first = table_box(&s, area).row + s.edge + s.header;
    return row >= first && row < first + s.rows ? table_top(p, &s) + row - first : -1;
}

static void draw_table(const struct view *view, struct canvas *canvas, struct rect area)
{
    const struct view_popup *p = &view->popup;
    struct lines notes = notes_of(p, popup_table_cols(area.cols));
    struct shares s = share(p, area.rows, (int)notes.n);
    struct rect box = table_box(&s, area);
    const int height = box.rows;
    int row = box.row + s.edge, col = box.col + s.edge * (1 + PAD), end = box.col + box.cols - s.edge * (1 + PAD);
    if (height < 1 || end <= col) {
        lines_free(&notes);
        return;
    }
    if (s.edge) draw_frame(view, canvas, box);
    else canvas_fill(canvas, box, ' ', STYLE_POPUP);
    if (s.header) canvas_puts(canvas, row++, col, end, p->header, STYLE_QUIET);
    int top = table_top(p, &s);
    for (int i = 0; i < s.rows; i++, row++) {
        canvas_puts(canvas, row, col, end, p->items[top + i].text, STYLE_POPUP);
        if ((size_t)(top + i) == p->selected) canvas_attribute(canvas, row, col, end, STYLE_REVERSE);
    }
    if (s.notes) draw_separator(view, canvas, box, row++);
    for (int i = 0; i < s.notes; i++) lines_draw(&notes, (size_t)i, canvas, row++, col, end, NULL, 0);
    if (s.ask) {
        col = canvas_puts(canvas, row, col, col + (end - col) / 2, p->ask, STYLE_STATE) + 1;
        draw_input(p, canvas, row, col, end - col - 1);
    }
    lines_free(&notes);
}

/* A box, or in a few rows the bare items: the popup has the keys, so the user has to see it. */
void popup_draw(const struct view *view, struct canvas *canvas, struct rect area)
{
    const struct view_popup *p = &view->popup;
    if (p->kind == VIEW_POPUP_NONE || rect_empty(area)) return;
    if (p->kind == VIEW_POPUP_PROMPT) {
        draw_prompt(view, canvas, area);
        return;
    }
    if (p->kind == VIEW_POPUP_TABLE) {
        draw_table(view, canvas, area);
        return;
    }
    struct columns c = measure(p);
    int n = (int)(p->n_items < 10000 ? p->n_items : 10000), gap = 3;
    bool bare = area.rows <= BORDER;
    if (bare && p->kind == VIEW_POPUP_QUESTION) {
        int row = area.row + area.rows - 1;
        canvas_fill(canvas, (struct rect){row, area.col, 1, area.cols}, ' ', STYLE_POPUP);
        int end = area.col + area.cols - width_of(p->footer) - 1;
        canvas_puts(canvas, row, area.col, end, p->title, STYLE_STATE);
        canvas_puts(canvas, row, end + 1, area.col + area.cols, p->footer, STYLE_KEY);
        return;
    }
    int edge = bare ? 0 : 1, pad = bare ? 0 : PAD;
    int inner = area.cols - 2 * (edge + pad), wide = row_width(c);
    /* Short items stand side by side, read downwards. */
    int across = p->kind == VIEW_POPUP_MENU || p->kind == VIEW_POPUP_COMPLETION ? (inner + gap) / (wide + gap) : 1;
    if (across < 1 || n <= 4) across = 1;
    if (across > 3) across = 3;
    int down = (n + across - 1) / across, room = area.rows - 2 * edge;
    int rows = smaller(down, room);
    int width = across * wide + (across - 1) * gap;
    width = larger(width, larger(width_of(p->title), width_of(p->footer)) + 2);
    width = smaller(width, inner);
    if (width < 1) return;
    if (p->kind == VIEW_POPUP_PAGER || bare) width = inner;
    struct rect box = {area.row + area.rows - rows - 2 * edge, area.col, rows + 2 * edge, width + 2 * (edge + pad)};
    if (bare)
        canvas_fill(canvas, box, ' ', STYLE_POPUP);
    else
        border(view, canvas, box);
    int top = 0, selected = p->selected < p->n_items ? (int)p->selected : -1;
    if (p->kind == VIEW_POPUP_PAGER)
        top = smaller(larger(selected, 0), larger(down - rows, 0));
    else if (selected >= 0 && selected % down >= rows)
        top = selected % down - rows + 1;
    int left = box.col + edge + pad;
    for (int a = 0; a < across; a++)
        for (int r = 0; r < rows; r++) {
            int i = a * down + top + r, col = left + a * (wide + gap);
            if (top + r >= down || i >= n) continue;
            int end = across == 1 ? left + width : smaller(col + wide, left + width);
            draw_item(canvas, &p->items[i], c, box.row + edge + r, col, end,
                      i == selected && p->kind != VIEW_POPUP_PAGER);
        }
    if (bare) return;
    char more[32] = "";
    if (down > rows && box.cols > 16) snprintf(more, sizeof more, " %d-%d of %d ", top + 1, top + rows, down);
    int end = box.col + box.cols - 1, count = (int)strlen(more);
    on_border(canvas, box, box.row, p->title, 0, STYLE_STATE);
    on_border(canvas, box, box.row + box.rows - 1, p->footer, count, STYLE_QUIET);
    canvas_puts(canvas, box.row + box.rows - 1, end - count, end, more, STYLE_QUIET);
}

/* ---- The empty conversation ---- */

static void add(struct lines *out, const char *text, style_t style)
{
    if (text) lines_add(out, text, strlen(text), 0, style);
}

static void wrap(struct lines *out, size_t *from, int cols)
{
    lines_wrap(out, *from, cols, (struct lines_prefix){"", "  ", STYLE_TEXT}, LINES_WORDS);
    *from = out->len;
}

static void first_run(struct lines *out, const struct view_card *card, int cols)
{
    size_t from = 0;
    add(out, "Tandem talks with a language model on ", STYLE_HEADING);
    add(out, card->host ? card->host : "this computer", STYLE_HEADING);
    add(out, ".", STYLE_HEADING);
    wrap(out, &from, cols);
    add(out,
        card->host ? "What you write goes there, and to nobody else."
                   : "Nothing you write leaves this computer; `pull` fetches what you name.",
        STYLE_TEXT);
    wrap(out, &from, cols);
    add(out, "Model: ", STYLE_TEXT);
    add(out, card->model ? card->model : card->missing ? card->missing : "none yet", STYLE_TEXT);
    add(out, card->model && card->good_for ? ", " : NULL, STYLE_TEXT);
    add(out, card->model ? card->good_for : NULL, STYLE_TEXT);
    add(out, card->model ? "; /model loads another." : "; /model FILE loads one.", STYLE_TEXT);
    wrap(out, &from, cols);
    if (card->host) {
        add(out, "What is final of a conversation is read there before you press Enter.", STYLE_TEXT);
    } else {
        add(out, "Two units work here: PREFILL reads while you type, DECODE writes the reply.", STYLE_TEXT);
        wrap(out, &from, cols);
        add(out, "Words change tint once they are read", STYLE_READ);
        add(out, ", before Enter: replies come sooner.", STYLE_TEXT);
    }
    wrap(out, &from, cols);
    add(out, "Try (Tab): ", STYLE_TEXT);
    for (size_t i = 0; i < card->n_tips; i++) {
        add(out, card->tips[i], card->tip == i + 1 ? STYLE_SELECTED : STYLE_KEY);
        add(out, i + 1 < card->n_tips ? "   " : NULL, STYLE_TEXT);
    }
    add(out, ", or /demo.", STYLE_TEXT);
    wrap(out, &from, cols);
    add(out, "Enter sends, Ctrl-C stops, Ctrl-X shows more keys, F1 all of them.", STYLE_QUIET);
    wrap(out, &from, cols);
    if (!card->suggestion) return;
    add(out, card->suggestion, STYLE_TEXT);
    wrap(out, &from, cols);
}

/* A row for each session; long names are cut. */
static void last_sessions(struct lines *out, const struct view_card *card, int cols)
{
    enum { NAME_LEAST = 12 };
    size_t from = 0;
    char date[32], turns[32];
    if (!card->n_sessions) return;
    add(out, "Last sessions (/resume NAME):", STYLE_QUIET);
    wrap(out, &from, cols);
    for (size_t i = 0; i < card->n_sessions && i < 3; i++) {
        const struct view_session *s = &card->sessions[i];
        const char *name = s->name ? s->name : "";
        snprintf(date, sizeof date, "  %-12s  ", s->date ? s->date : "");
        snprintf(turns, sizeof turns, "  %d %s  ", s->turns, s->turns == 1 ? "turn" : "turns");
        int room = cols - width_of(date) - width_of(turns) - width_of(s->model);
        size_t shown =
            room >= NAME_LEAST && width_of(name) > room ? width_fit(name, strlen(name), room - 3) : strlen(name);
        add(out, date, STYLE_QUIET);
        lines_add(out, name, shown, 0, STYLE_TEXT);
        add(out, name[shown] ? "..." : NULL, STYLE_QUIET);
        add(out, turns, STYLE_QUIET);
        add(out, s->model, STYLE_QUIET);
        wrap(out, &from, cols);
    }
}

void popup_draw_card(const struct view *view, struct canvas *canvas, struct rect area)
{
    struct lines lines = {0};
    if (!view->card.show || area.cols < 2) return;
    (view->card.first_run ? first_run : last_sessions)(&lines, &view->card, area.cols - 1);
    /* On a small screen the lines that the user must know come first, and the last row says where all else is
     * explained. */
    bool cut = view->card.first_run && (int)lines.n > area.rows && area.rows > 1;
    if (cut)
        canvas_puts(canvas, area.row + area.rows - 1, area.col, area.col + area.cols,
                    "... Tab: things to try  F1: all keys", STYLE_QUIET);
    for (size_t i = 0; i < lines.n && (int)i < area.rows - cut; i++)
        lines_draw(&lines, i, canvas, area.row + (int)i, area.col, area.col + area.cols, NULL, 0);
    lines_free(&lines);
}
