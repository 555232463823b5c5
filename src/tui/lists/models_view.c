/* The list of models as it is shown: rows in columns that fit the width, and the details of the selected model. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/io/number.h"
#include "src/tui/lists/models.h"
#include "ui/draw/width.h"
#include "ui/text/format.h"

enum { CELL = 300, ROW = 700, NOTES = 4, GAP = 2, NAME_SHORT = 12, NAME_LEAST = 16, MAX_NAME = 60, WIDE = 100 };

typedef enum {
    COLUMN_MARK,
    COLUMN_NAME,
    COLUMN_TYPE,
    COLUMN_DISK,
    COLUMN_NEEDS,
    COLUMN_SPEED,
    COLUMN_VERDICT,
    COLUMNS
} column;

/* Everything that the view points to. */
struct tui_models_page {
    char (*rows)[ROW];
    struct view_item *items;
    size_t room;
    char header[ROW], title[TUI_MODELS_INPUT + 32], aside[160];
    char note[NOTES][ROW];
    const char *notes[NOTES];
    int widths[COLUMNS]; /* 0: the column is left out */
    bool wide;           /* room for whole names */
};

void tui_models_free_page(struct tui_models_page *page)
{
    if (!page) return;
    free(page->rows);
    free(page->items);
    free(page);
}

/* ---- Cells ----------------------------------------------------------------------------------------------------- */

/* "Qwen3.5-4B" and "Q4_K_M" of "unsloth/Qwen3.5-4B-GGUF:Q4_K_M"; of a path its end, and the type of the weights. whole:
 * the name as -m takes it instead. */
static void name_cells(const models_row *r, bool whole, char name[CELL], char type[CELL])
{
    static const char suffix[] = "-GGUF";
    const char *end = strrchr(r->name, '/'), *begin = r->builtin ? "built-in" : end ? end + 1 : r->name;
    bool of_hub = r->in_hub || r->offered;
    const char *colon = of_hub ? strchr(begin, ':') : NULL;
    size_t n = colon ? (size_t)(colon - begin) : strlen(begin);
    if (of_hub && n > sizeof suffix && !strncasecmp(begin + n - (sizeof suffix - 1), suffix, sizeof suffix - 1))
        n -= sizeof suffix - 1;
    snprintf(name, CELL, "%.*s", (int)(n < CELL ? n : CELL - 1), begin);
    if (whole && !r->builtin) snprintf(name, CELL, "%s", r->name);
    snprintf(type, CELL, "%s", colon ? colon + 1 : r->type);
    for (char *c = type; *c && !colon; c++) *c = (char)toupper((unsigned char)*c);
}

static void speed_cell(const models_row *r, char out[CELL])
{
    char rate[FORMAT_SIZE];
    snprintf(out, CELL, "%s", r->tps > 0 ? format_rate(rate, r->tps) : "-");
}

static void cells_of(const models_row *r, bool wide, char cells[COLUMNS][CELL])
{
    char bytes[BYTES_ROOM];
    snprintf(cells[COLUMN_MARK], CELL, "%s", r->in_use ? "*" : "");
    name_cells(r, wide, cells[COLUMN_NAME], cells[COLUMN_TYPE]);
    snprintf(cells[COLUMN_DISK], CELL, "%s", r->reason || r->host ? "" : bytes_words(bytes, r->disk_bytes));
    snprintf(cells[COLUMN_NEEDS], CELL, "%s", r->reason || r->host ? "" : bytes_words(bytes, r->needs_bytes));
    speed_cell(r, cells[COLUMN_SPEED]);
    models_verdict(r, cells[COLUMN_VERDICT], CELL);
}

static const char *const headings[COLUMNS] = {"", "name", "type", "disk", "needs", "expected", ""};
static const bool at_right[COLUMNS] = {[COLUMN_DISK] = true, [COLUMN_NEEDS] = true, [COLUMN_SPEED] = true};

static int width_of(const char *text)
{
    return width_text(text, strlen(text));
}

static int smaller_of(int a, int b)
{
    return a < b ? a : b;
}

static int sum(const int widths[COLUMNS])
{
    int all = 0;
    for (int c = 0; c < COLUMNS; c++) all += widths[c] ? widths[c] + (all ? c == COLUMN_NAME ? 1 : GAP : 0) : 0;
    return all;
}

/* As wide as what stands in them; in a narrow list the name gets shorter, then columns are left out, then the last one
 * is cut off. */
static void measure(tui_models *m, int cols)
{
    static const column least_needed[] = {COLUMN_DISK, COLUMN_NEEDS, COLUMN_SPEED};
    int *w = m->page->widths;
    m->page->wide = cols >= WIDE;
    for (int c = 0; c < COLUMNS; c++) w[c] = c == COLUMN_MARK ? 1 : width_of(headings[c]);
    for (size_t i = 0; i < m->choice.n_shown; i++) {
        char cells[COLUMNS][CELL];
        cells_of(&m->list.rows[m->choice.shown[i]], m->page->wide, cells);
        for (int c = 0; c < COLUMNS; c++)
            if (width_of(cells[c]) > w[c]) w[c] = width_of(cells[c]);
    }
    int name = smaller_of(w[COLUMN_NAME], MAX_NAME), least = smaller_of(name, NAME_LEAST);
    w[COLUMN_NAME] = least;
    for (size_t i = 0; i < sizeof least_needed / sizeof *least_needed && sum(w) > cols; i++) w[least_needed[i]] = 0;
    int left = cols - sum(w);
    if (left < 0) w[COLUMN_NAME] = least + left < NAME_SHORT ? smaller_of(least, NAME_SHORT) : least + left;
    if (left > 0) w[COLUMN_NAME] = smaller_of(least + left, name);
}

static void put_row(const int widths[COLUMNS], const char *const cells[COLUMNS], char out[ROW])
{
    size_t n = 0;
    out[0] = 0;
    for (int c = 0; c < COLUMNS; c++) {
        if (!widths[c]) continue;
        if (n) n += tui_list_cell(out + n, ROW - n, "", c == COLUMN_NAME ? 1 : GAP, false);
        n += tui_list_cell(out + n, ROW - n, cells[c], widths[c], at_right[c]);
    }
}

static void fill_rows(tui_models *m)
{
    struct tui_models_page *p = m->page;
    if (p->room < m->choice.n_shown) {
        void *rows = realloc(p->rows, m->choice.n_shown * sizeof *p->rows);
        if (rows) p->rows = rows;
        void *items = rows ? realloc(p->items, m->choice.n_shown * sizeof *p->items) : NULL;
        if (items) p->items = items;
        p->room = items ? m->choice.n_shown : p->room;
    }
    put_row(p->widths, headings, p->header);
    for (size_t i = 0; i < m->choice.n_shown && i < p->room; i++) {
        char cells[COLUMNS][CELL];
        const char *texts[COLUMNS];
        cells_of(&m->list.rows[m->choice.shown[i]], m->page->wide, cells);
        for (int c = 0; c < COLUMNS; c++) texts[c] = cells[c];
        put_row(p->widths, texts, p->rows[i]);
        tui_list_harmless(p->rows[i]);
        p->items[i] = (struct view_item){NULL, p->rows[i], NULL};
    }
}

/* ---- What is told below the rows --------------------------------------------------------------------------------- */

static char *next_note(struct tui_models_page *p, size_t *n)
{
    char *note = p->note[*n];
    note[0] = 0;
    p->notes[(*n)++] = note;
    return note;
}

static void seconds_words(double s, char out[40])
{
    if (s < 1)
        snprintf(out, 40, "in less than a second");
    else if (s < 90)
        snprintf(out, 40, "in about %.0f s", s);
    else
        snprintf(out, 40, "in about %.0f min", s / 60);
}

/* What using a model would take, as far as it was measured here. */
static void tell_use(const tui_models *m, const models_row *r, char out[ROW])
{
    const tui_models_facts *f = &m->facts;
    char loads[40] = "", reads[40] = "", count[FORMAT_SIZE];
    size_t n = (size_t)snprintf(out, ROW, "%s: ", r->name);
    if (f->load_rate > 0) seconds_words((double)r->disk_bytes / f->load_rate, loads);
    if (f->prefill_tps > 0 && r->token_flops && f->token_flops) /* a token's work scales with its products */
        seconds_words(f->context / f->prefill_tps * (double)r->token_flops / (double)f->token_flops, reads);
    if (n < ROW && f->name)
        n += (size_t)snprintf(out + n, ROW - n, "Enter loads it%s%s; %s answers until then.", loads[0] ? " " : "",
                              loads, f->name);
    else if (n < ROW)
        n += (size_t)snprintf(out + n, ROW - n, "Enter loads it%s%s.", loads[0] ? " " : "", loads);
    if (n < ROW && f->context)
        snprintf(out + n, ROW - n, " Then %s tokens of this conversation are read again%s%s; you can type meanwhile.",
                 format_count(count, (long)f->context), reads[0] ? ", " : "", reads);
}

static void tell_too_large(const tui_models *m, const models_row *r, char out[ROW])
{
    char needs[BYTES_ROOM], left[BYTES_ROOM];
    bool alone = m->facts.current.resident && r->needs_bytes <= m->list.memory_free + m->facts.current.resident;
    snprintf(out, ROW, "%s: needs %s of memory, and %s are free%s", r->name, bytes_words(needs, r->needs_bytes),
             bytes_words(left, m->list.memory_free),
             alone ? " beside the model in use; Enter closes that one first" : "");
}

static void tell_row(const tui_models *m, const models_row *r, char out[ROW])
{
    if (r->reason)
        snprintf(out, ROW, "%s: %s%s", r->name, models_refused(r), r->reason);
    else if (r->in_use)
        snprintf(out, ROW, "%s: in use", r->name);
    else if (r->offered)
        snprintf(out, ROW,
                 "%s isn't here, its figures are estimates: p asks the hub what it takes, and then fetches it",
                 r->name);
    else if (r->host)
        snprintf(out, ROW, "%s: Enter goes on with it on %s, which gets what you write", r->name, r->host);
    else if (r->fit == MODELS_TOO_LARGE)
        tell_too_large(m, r, out);
    else
        tell_use(m, r, out);
}

static void tell_plan(const tui_pull *p, char out[ROW])
{
    char size[BYTES_ROOM], here[BYTES_ROOM], left[BYTES_ROOM];
    if (!p->planned) {
        snprintf(out, ROW, "%s: asking what there is ...", p->name);
        return;
    }
    size_t n =
        (size_t)snprintf(out, ROW, "%s from %s: %s (%s)", p->name, p->host, bytes_words(size, p->bytes), p->reason);
    if (n < ROW && p->missing_bytes < p->bytes)
        n += (size_t)snprintf(out + n, ROW - n, ", %s of it here already",
                              bytes_words(here, p->bytes - p->missing_bytes));
    if (n < ROW && p->free_bytes)
        n += (size_t)snprintf(out + n, ROW - n, "; %s free on the disk", bytes_words(left, p->free_bytes));
    if (n < ROW && !p->fits_memory) snprintf(out + n, ROW - n, "; it may not fit the memory");
}

static size_t fill_notes(tui_models *m, int cols)
{
    struct tui_models_page *p = m->page;
    const models_row *r = tui_models_selected(m);
    size_t n = 0;
    if (m->pull.runs && !m->pull.dry) {
        char *note = next_note(p, &n);
        progress_figures figures = m->pull.figures;
        figures.name = m->pull.name;
        progress_line(&figures, cols, note, ROW);
        if (m->pull.note[0]) snprintf(next_note(p, &n), ROW, "%s", m->pull.note);
    }
    if (m->said[0])
        snprintf(next_note(p, &n), ROW, "%s", m->said);
    else if (m->mode == TUI_MODELS_PLAN)
        tell_plan(&m->pull, next_note(p, &n));
    else if (m->mode == TUI_MODELS_DELETE && r) {
        char size[BYTES_ROOM];
        snprintf(next_note(p, &n), ROW, "delete %s, %s, from the hub's cache? What other revisions use stays.", r->name,
                 bytes_words(size, r->disk_bytes));
    } else if (m->have && r)
        tell_row(m, r, next_note(p, &n));
    else if (m->have && m->choice.filter[0])
        snprintf(next_note(p, &n), ROW, "no model's name holds these words");
    else if (!m->have)
        snprintf(next_note(p, &n), ROW, "looking at the files ...");
    for (size_t i = 0; i < n; i++) tui_list_harmless(p->note[i]);
    return n;
}

/* ---- The frame --------------------------------------------------------------------------------------------------- */

static void fill_head(tui_models *m)
{
    struct tui_models_page *p = m->page;
    const models_list *l = &m->list;
    char total[BYTES_ROOM], left[BYTES_ROOM], speed[BYTES_ROOM], date[40] = "";
    snprintf(p->title, sizeof p->title, "models%s%s", m->choice.filter[0] && !m->choice.filtering ? " /" : "",
             m->choice.filtering ? "" : m->choice.filter);
    p->aside[0] = 0;
    if (!m->have) return;
    size_t n = (size_t)snprintf(p->aside, sizeof p->aside, "%s, %s free", bytes_words(total, l->memory_total),
                                bytes_words(left, l->memory_free));
    if (m->facts.measuring->task.running) {
        snprintf(p->aside + n, sizeof p->aside - n, "; measuring its speed");
    } else if (l->bytes_per_s > 0) {
        struct tm at;
        time_t when = (time_t)l->measured_s;
        strftime(date, sizeof date, "%d %b %H:%M", localtime_r(&when, &at));
        snprintf(p->aside + n, sizeof p->aside - n, "; memory %s/s (%s)", bytes_words(speed, (uint64_t)l->bytes_per_s),
                 date);
    }
}

static const char *footer_of(const tui_models *m)
{
    switch (m->mode) {
    case TUI_MODELS_NAME:
        return "Enter asks the hub  Esc back";
    case TUI_MODELS_PLAN:
        return m->pull.planned ? "Enter fetches  Esc back" : "Esc back";
    case TUI_MODELS_DELETE:
        return "y deletes  n keeps";
    default:
        if (m->choice.filtering) return "Enter keeps it  Esc all";
        return m->pull.runs ? "x stop  Enter use  q close  a always  d delete  i info  / filter  s sort"
                            : "Enter use  q close  p pull  a always  d delete  i info  / filter  s sort";
    }
}

void tui_models_fill(void *owner, int cols, struct view_popup *v)
{
    tui_models *m = owner;
    *v = (struct view_popup){.selected = SIZE_MAX};
    if (!m->page && !(m->page = calloc(1, sizeof *m->page))) return;
    struct tui_models_page *p = m->page;
    measure(m, cols);
    fill_rows(m);
    fill_head(m);
    *v = (struct view_popup){
        .kind = VIEW_POPUP_TABLE,
        .title = p->title,
        .aside = p->aside,
        .header = m->have ? p->header : NULL,
        .items = p->items,
        .n_items = m->choice.n_shown < p->room ? m->choice.n_shown : p->room,
        .selected = m->choice.selected,
        .notes = p->notes,
        .footer = footer_of(m),
    };
    tui_list_ask(&m->choice, v);
    if (m->mode == TUI_MODELS_NAME) {
        v->ask = "OWNER/NAME[:TAG]:";
        v->input = m->input;
        v->input_len = v->input_cursor = strlen(m->input);
    }
    if (m->mode != TUI_MODELS_NAME) v->n_notes = fill_notes(m, cols);
}
