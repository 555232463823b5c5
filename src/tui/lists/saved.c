#include "src/tui/lists/saved.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/tui/lists/list.h"
#include "ui/unicode/fold.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const char *name_of(const void *owner, size_t row)
{
    const tui_saved *s = owner;
    return s->all[row].name ? s->all[row].name : "";
}

static bool by_name(const void *owner, size_t a, size_t b)
{
    return fold_compare(name_of(owner, a), name_of(owner, b)) < 0;
}

static bool by_turns(const void *owner, size_t a, size_t b)
{
    const tui_saved *s = owner;
    return s->all[a].turns > s->all[b].turns;
}

static const store_entry *selected(const tui_saved *s)
{
    size_t row = tui_list_row(&s->choice);
    return row < (size_t)s->n ? &s->all[row] : NULL;
}

/* The one with that id is selected, where it is shown. */
static void choose(tui_saved *s, const char *id)
{
    static bool (*const orders[])(const void *, size_t, size_t) = {
        [TUI_SAVED_BY_DATE] = NULL, [TUI_SAVED_BY_NAME] = by_name, [TUI_SAVED_BY_TURNS] = by_turns};
    const tui_list_rows rows = {(size_t)s->n, name_of, orders[s->order], s};
    size_t row = SIZE_MAX;
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->all[i].id, id)) row = (size_t)i;
    tui_list_choose(&s->choice, &rows, row);
}

static void choose_again(tui_saved *s)
{
    char id[40] = "";
    const store_entry *e = selected(s);
    if (e) memcpy(id, e->id, sizeof id);
    choose(s, id);
}

/* Reads the list anew; the filter and the order stay. */
static tdm_status look(tui_saved *s, const char *id, tdm_error *err)
{
    store_list_free(s->all, s->n);
    s->all = NULL;
    s->n = 0;
    s->preview_id[0] = 0;
    tdm_status status = s->trash ? store_list_trash(&s->all, &s->n, err) : store_list(&s->all, &s->n, err);
    if (status) return status;
    store_listing_set(s->shown, s->all, s->n);
    choose(s, id);
    return TDM_OK;
}

tdm_status tui_saved_open(tui_saved *s, bool trash, const char *open_id, store_listing *shown, tdm_error *err)
{
    const store_entry *before = s->trash == trash ? selected(s) : NULL;
    char id[40] = "";
    if (before) memcpy(id, before->id, sizeof id);
    s->trash = trash;
    s->shown = shown;
    s->mode = TUI_SAVED_LIST;
    s->page.said[0] = s->choice.filter[0] = 0;
    s->choice.filtering = false;
    snprintf(s->open_id, sizeof s->open_id, "%s", open_id ? open_id : "");
    tdm_status status = look(s, id, err);
    if (status || s->n) return status;
    return error_set(err, TDM_E_NOT_FOUND, trash ? "the trash is empty" : "there is no saved session yet");
}

void tui_saved_tell(tui_saved *s, const char *background_id, bool answers)
{
    snprintf(s->background_id, sizeof s->background_id, "%s", background_id ? background_id : "");
    s->answers = answers;
}

void tui_saved_close(tui_saved *s)
{
    store_list_free(s->all, s->n);
    tui_list_free(&s->choice);
    tui_page_free(&s->page);
    *s = (tui_saved){0};
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

static void say(tui_saved *s, const char *text) { snprintf(s->page.said, sizeof s->page.said, "%s", text); }
static void say_error(tui_saved *s, const tdm_error *err) { say(s, err->text); }

/* A session comes back from the trash. */
static void bring_back(tui_saved *s, const char *id)
{
    tdm_error err = {0};
    char back[40];
    snprintf(back, sizeof back, "%s", id);
    if (store_undelete(back, &err) || look(s, back, &err)) {
        say_error(s, &err);
        return;
    }
    s->deleted[0] = 0;
    say(s, "it is back among the saved sessions");
}

static tui_action enter(tui_saved *s, bool *closes)
{
    const store_entry *e = selected(s);
    if (!e) return (tui_action){0};
    if (s->trash) {
        bring_back(s, e->id);
        return (tui_action){0};
    }
    *closes = true;
    return tui_action_command(SLASH_RESUME, e->id);
}

static void begin_name(tui_saved *s)
{
    const store_entry *e = selected(s);
    if (!e || s->trash || e->damage[0]) return;
    s->mode = TUI_SAVED_NAME;
    snprintf(s->input, sizeof s->input, "%s", name_of(s, tui_list_row(&s->choice)));
}

static tui_action type_name(tui_saved *s, const struct decoder_event *e)
{
    tdm_error err = {0};
    const store_entry *of = selected(s);
    if (!tui_line_edit(s->input, sizeof s->input, e)) return (tui_action){0};
    s->mode = TUI_SAVED_LIST;
    if (!of || !s->input[0]) return (tui_action){0};
    s->choice.filter[0] = 0; /* which the new name may not hold */
    char id[40];
    memcpy(id, of->id, sizeof id);
    if (!strcmp(id, s->open_id)) return tui_action_command(SLASH_RENAME, s->input);
    if (store_rename(id, s->input, &err) || look(s, id, &err)) say_error(s, &err);
    return (tui_action){0};
}

static tui_action delete_it(tui_saved *s)
{
    const store_entry *e = selected(s);
    s->mode = TUI_SAVED_LIST;
    if (!e) return (tui_action){0};
    memcpy(s->deleted, e->id, sizeof s->deleted);
    return tui_action_delete(e->id);
}

static void sort(tui_saved *s)
{
    static const char *const words[] = {"the latest first", "by name", "the longest first"};
    s->order = (s->order + 1) % TUI_SAVED_ORDERS;
    choose_again(s);
    say(s, words[s->order]);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static tui_action list_byte(tui_saved *s, unsigned char c, bool *closes)
{
    s->page.said[0] = 0;
    switch (c) {
    case 's': sort(s); break;
    case 'r': begin_name(s); break;
    case 'd':
        if (selected(s) && !s->trash) s->mode = TUI_SAVED_DELETE;
        break;
    case 'u':
        if (s->deleted[0] && !s->trash) bring_back(s, s->deleted);
        else if (!s->trash) say(s, "nothing was deleted here; /undelete lists the trash");
        break;
    case '\r': return enter(s, closes);
    default: break;
    }
    return (tui_action){0};
}

static tui_action handle(void *owner, int rows, const struct decoder_event *e, bool *closes)
{
    tui_saved *s = owner;
    bool byte = e->kind == DECODER_BYTES && e->length == 1;
    unsigned char c = byte ? (unsigned char)e->data[0] : 0;
    if (s->mode != TUI_SAVED_LIST && (e->kind == DECODER_ESC || c == 3 || c == 7)) {
        s->mode = TUI_SAVED_LIST;
        return (tui_action){0};
    }
    if (s->mode == TUI_SAVED_NAME) return type_name(s, e);
    if (s->mode == TUI_SAVED_DELETE) {
        if (c == 'y') return delete_it(s);
        if (byte) s->mode = TUI_SAVED_LIST;
        return (tui_action){0};
    }
    switch (tui_list_event(&s->choice, rows, e)) {
    case TUI_LIST_MOVED: s->page.said[0] = 0; break;
    case TUI_LIST_FILTERS:
        s->page.said[0] = 0;
        choose_again(s);
        break;
    case TUI_LIST_CLOSES: *closes = true; break;
    case TUI_LIST_NOT_MINE:
        if (byte) return list_byte(s, c, closes);
        break;
    }
    return (tui_action){0};
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

/* The condition of the session, which is shown instead of its model. */
static const char *condition(const tui_saved *s, const store_entry *e)
{
    if (!strcmp(e->id, s->open_id)) return "open";
    if (!strcmp(e->id, s->background_id)) return s->answers ? "answering" : "answered";
    return e->model ? e->model : "";
}

static void fill_row(const tui_saved *s, size_t row, int cols, char out[TUI_PAGE_ROW])
{
    enum { NUMBER = 3, TURNS = 11, DATE = 18, MODEL = 16, LEAST = 24 };
    const store_entry *e = &s->all[row];
    char number[16], turns[32], date[TUI_PAGE_DATE];
    int left = cols - NUMBER - 1, name = left;
    bool has_date = left >= LEAST + DATE, has_turns = left >= LEAST + DATE + TURNS;
    bool has_model = left >= LEAST + DATE + TURNS + MODEL;
    name -= (has_date ? DATE : 0) + (has_turns ? TURNS : 0) + (has_model ? MODEL : 0);
    snprintf(number, sizeof number, "%zu", row + 1);
    snprintf(turns, sizeof turns, "%d turn%s", e->turns, e->turns == 1 ? " " : "s");
    size_t n = tui_list_cell(out, TUI_PAGE_ROW, number, NUMBER, true);
    n += tui_list_cell(out + n, TUI_PAGE_ROW - n, "", 1, false);
    const char *text = e->damage[0] ? e->damage : name_of(s, row);
    n += tui_list_cell(out + n, TUI_PAGE_ROW - n, text, name, false);
    if (has_turns) n += tui_list_cell(out + n, TUI_PAGE_ROW - n, turns, TURNS, true);
    if (has_date) n += tui_list_cell(out + n, TUI_PAGE_ROW - n, tui_page_date(date, e->changed_s), DATE, true);
    if (has_model) {
        n += tui_list_cell(out + n, TUI_PAGE_ROW - n, "", 2, false);
        n += tui_list_cell(out + n, TUI_PAGE_ROW - n, condition(s, e), MODEL - 2, false);
    }
    tui_list_harmless(out);
}

/* The last message and the last reply of the selected one, a line each: its name tells the first. */
static void take_preview(tui_saved *s, const store_entry *e)
{
    static const char *const who[] = {"you: ", "model: "};
    session of;
    if (!strcmp(s->preview_id, e->id)) return;
    memcpy(s->preview_id, e->id, sizeof s->preview_id);
    s->preview[0][0] = s->preview[1][0] = 0;
    if (e->damage[0] || store_peek(e->id, s->trash, &of, NULL)) return;
    for (int i = 0; i < of.n; i++) {
        const tdm_node *node = &of.nodes[i];
        int reply = node->role != TDM_USER;
        size_t own = !reply && of.attached && of.attached[i] < node->length ? of.attached[i] : 0;
        if (!node->current) continue;
        const char *shown = session_picture_name(&of, i);
        snprintf(s->preview[reply], TUI_PAGE_ROW, "%s%.*s", who[reply], 200, shown ? shown : node->text + own);
        if (!reply) s->preview[1][0] = 0;
    }
    session_free(&of);
    tui_list_harmless(s->preview[0]);
    tui_list_harmless(s->preview[1]);
}

static void fill_notes(tui_saved *s)
{
    const store_entry *e = selected(s);
    if (!e && s->choice.filter[0]) say(s, "no session's name holds these words");
    tui_list_harmless(s->page.said);
    tui_page_note(&s->page, s->page.said);
    if (!e) return;
    take_preview(s, e);
    for (int i = 0; i < 2; i++) tui_page_note(&s->page, s->preview[i]);
}

static const char *footer_of(const tui_saved *s)
{
    if (s->mode == TUI_SAVED_NAME) return "Enter renames  Esc back";
    return s->trash ? "Enter brings back  / filter  s sort  q close"
                    : "Enter resumes  / filter  s sort  r rename  d delete  u undo  q close";
}

/* The question takes the place of the list, so that it is seen in a few rows, too. */
static void fill_question(tui_saved *s, struct view_popup *v)
{
    static const struct view_item items[] = {{"y", "to the trash, for 30 days", NULL}, {"n", "keep it", NULL}};
    _Static_assert(STORE_TRASH_DAYS == 30, "the question says how long");
    snprintf(s->question, sizeof s->question, "delete '%.200s'?", name_of(s, tui_list_row(&s->choice)));
    tui_list_harmless(s->question);
    *v = (struct view_popup){.kind = VIEW_POPUP_QUESTION, .title = s->question, .items = items, .n_items = 2,
                             .selected = 1, .footer = "y n"};
}

static void fill(void *owner, int cols, struct view_popup *v)
{
    tui_saved *s = owner;
    if (s->mode == TUI_SAVED_DELETE) {
        fill_question(s, v);
        return;
    }
    if (!tui_page_begin(&s->page, (size_t)s->n)) s->page.n = 0;
    for (size_t i = 0; i < s->choice.n_shown; i++) {
        char *out = tui_page_row(&s->page);
        if (out) fill_row(s, s->choice.shown[i], cols, out);
    }
    fill_notes(s);
    tui_page_show(&s->page, &s->choice, s->trash ? "trash" : "sessions", footer_of(s), v);
    if (s->mode == TUI_SAVED_NAME) tui_page_ask(v, "name:", s->input);
}

static bool asks(const void *owner)
{
    return ((const tui_saved *)owner)->mode == TUI_SAVED_DELETE;
}

const tui_list_kind tui_saved_list = {.event = handle, .fill = fill, .asks = asks};
