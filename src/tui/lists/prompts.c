#include "src/tui/lists/prompts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tui/lists/list.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

/* The filter looks in names. */
static const char *name_of(const void *owner, size_t row)
{
    return ((const tui_prompts *)owner)->all[row].name;
}

static bool own_first(const void *owner, size_t a, size_t b)
{
    const prompts_entry *all = ((const tui_prompts *)owner)->all;
    return all[a].own && !all[b].own;
}

static const prompts_entry *selected(const tui_prompts *p)
{
    size_t row = tui_list_row(&p->choice);
    return row < (size_t)p->n ? &p->all[row] : NULL;
}

/* The one of that name is selected, where it is shown; NULL: the one that is. */
static void choose(tui_prompts *p, const char *name)
{
    const tui_list_rows rows = {(size_t)p->n, name_of, p->order ? own_first : NULL, p};
    size_t row = name ? SIZE_MAX : tui_list_row(&p->choice);
    for (int i = 0; name && i < p->n; i++)
        if (!strcmp(p->all[i].name, name)) row = (size_t)i;
    tui_list_choose(&p->choice, &rows, row);
}

static tdm_status look(tui_prompts *p, const char *name, tdm_error *err)
{
    prompts_entry *all = NULL;
    int n = 0;
    tdm_status status = prompts_list(&all, &n, err);
    if (status) return status;
    if (p->all) prompts_list_free(p->all, p->n);
    p->all = all;
    p->n = n;
    p->shown[0] = 0;
    choose(p, name);
    return TDM_OK;
}

static void say(tui_prompts *p, const char *text) { snprintf(p->page.said, sizeof p->page.said, "%s", text); }

static void look_again(tui_prompts *p, const char *name)
{
    tdm_error err = {0};
    if (look(p, name, &err)) say(p, err.text);
}

tdm_status tui_prompts_open(tui_prompts *p, tdm_error *err)
{
    p->naming = p->choice.filtering = false;
    p->choice.filter[0] = 0;
    say(p, "");
    return look(p, NULL, err);
}

void tui_prompts_edited(tui_prompts *p, const char *name, const char *said)
{
    look_again(p, name);
    say(p, said);
}

void tui_prompts_close(tui_prompts *p)
{
    if (p->all) prompts_list_free(p->all, p->n);
    tui_list_free(&p->choice);
    tui_page_free(&p->page);
    *p = (tui_prompts){0};
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

static void delete_it(tui_prompts *p)
{
    const prompts_entry *e = selected(p);
    tdm_error err = {0};
    char name[TUI_PROMPTS_NAME];
    if (!e) return;
    snprintf(name, sizeof name, "%s", e->name);
    if (prompts_delete(name, &err)) {
        say(p, err.text);
        return;
    }
    memcpy(p->deleted, name, sizeof name);
    look_again(p, name);
    snprintf(p->page.said, sizeof p->page.said, "%s is in the trash beside the prompts; u brings it back", name);
}

static void bring_back(tui_prompts *p)
{
    tdm_error err = {0};
    char name[TUI_PROMPTS_NAME];
    memcpy(name, p->deleted, sizeof name);
    if (!name[0]) {
        say(p, "nothing was deleted here");
        return;
    }
    if (prompts_undelete(name, &err)) {
        say(p, err.text);
        return;
    }
    p->deleted[0] = 0;
    look_again(p, name);
    snprintf(p->page.said, sizeof p->page.said, "%s is back", name);
}

static void begin_name(tui_prompts *p)
{
    const prompts_entry *e = selected(p);
    if (!e) return;
    if (!e->own) {
        snprintf(p->page.said, sizeof p->page.said, "%s comes with the program: only your own can be renamed", e->name);
        return;
    }
    p->naming = true;
    snprintf(p->input, sizeof p->input, "%s", e->name);
}

static void type_name(tui_prompts *p, const struct decoder_event *e)
{
    tdm_error err = {0};
    const prompts_entry *of = selected(p);
    if (!tui_line_edit(p->input, sizeof p->input, e)) return;
    p->naming = false;
    if (!of || !p->input[0] || !strcmp(p->input, of->name)) return;
    if (prompts_rename(of->name, p->input, &err)) {
        say(p, err.text);
        return;
    }
    p->choice.filter[0] = 0; /* which the new name may not hold */
    look_again(p, p->input);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static tui_action list_byte(tui_prompts *p, unsigned char c, bool *closes)
{
    const prompts_entry *e = selected(p);
    say(p, "");
    switch (c) {
    case 's':
        p->order = !p->order;
        choose(p, NULL);
        say(p, p->order ? "your own first" : "by name");
        break;
    case 'r': begin_name(p); break;
    case 'd': delete_it(p); break;
    case 'u': bring_back(p); break;
    case 'e':
        if (e) return tui_action_prompt(e->name);
        break;
    case '\r':
        if (!e) break;
        *closes = true;
        return tui_action_command(SLASH_P, e->name);
    default: break;
    }
    return (tui_action){0};
}

static tui_action handle(void *owner, int rows, const struct decoder_event *e, bool *closes)
{
    tui_prompts *p = owner;
    bool byte = e->kind == DECODER_BYTES && e->length == 1;
    unsigned char c = byte ? (unsigned char)e->data[0] : 0;
    if (p->naming) {
        if (e->kind == DECODER_ESC || c == 3 || c == 7) p->naming = false;
        else type_name(p, e);
        return (tui_action){0};
    }
    switch (tui_list_event(&p->choice, rows, e)) {
    case TUI_LIST_MOVED: say(p, ""); break;
    case TUI_LIST_FILTERS:
        say(p, "");
        choose(p, NULL);
        break;
    case TUI_LIST_CLOSES: *closes = true; break;
    case TUI_LIST_NOT_MINE:
        if (byte) return list_byte(p, c, closes);
        break;
    }
    return (tui_action){0};
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

/* "sets model Qwen3.5-4B, temp 0.2", and how its text begins. */
static void take_preview(tui_prompts *p, const prompts_entry *e)
{
    prompt_file file;
    if (!strcmp(p->shown, e->name)) return;
    snprintf(p->shown, sizeof p->shown, "%s", e->name);
    p->preview[0][0] = p->preview[1][0] = 0;
    if (prompts_read(&file, e->name, NULL)) return; /* the row says what is wrong */
    char *sets = p->preview[0], *text = p->preview[1];
    for (option_id id = 0; id < OPTION_COUNT; id++) {
        size_t n = strlen(sets);
        const char *value = options_text(&file.settings, id);
        if (!options_given(&file.settings, id)) continue;
        snprintf(sets + n, TUI_PAGE_ROW - n, "%s %s %.60s", n ? "," : "sets", option_table[id].name,
                 value ? value : "");
    }
    for (int i = 0; i < file.n; i++) {
        static const char *const marks[] = {[PROMPT_INPUT] = "{{input}}", [PROMPT_CLIPBOARD] = "{{clipboard}}"};
        const prompt_part *part = &file.parts[i];
        size_t n = strlen(text);
        size_t room = TUI_PAGE_ROW - n;
        if (part->kind == PROMPT_TEXT) snprintf(text + n, room, "%.*s", (int)part->n, part->text);
        else if (part->kind == PROMPT_FILE) snprintf(text + n, room, "{{file:%.*s}}", (int)part->n, part->text);
        else snprintf(text + n, room, "%s", marks[part->kind]);
    }
    prompt_free(&file);
    tui_list_harmless(sets);
    tui_list_harmless(text);
}

static void fill_row(const prompts_entry *e, int cols, char *out)
{
    enum { NAME = 18, OWN = 6, LEAST = 20 };
    int name = cols >= NAME + LEAST ? NAME : cols, own = cols >= NAME + LEAST + OWN ? OWN : 0;
    size_t n = tui_list_cell(out, TUI_PAGE_ROW, e->name, name, false);
    if (name < cols) n += tui_list_cell(out + n, TUI_PAGE_ROW - n, e->words, cols - name - own, false);
    if (own) tui_list_cell(out + n, TUI_PAGE_ROW - n, e->own ? "own" : "", own, true);
    tui_list_harmless(out);
}

static void fill(void *owner, int cols, struct view_popup *v)
{
    tui_prompts *p = owner;
    const prompts_entry *e = selected(p);
    tui_page *page = &p->page;
    if (!tui_page_begin(page, (size_t)p->n)) page->n = 0;
    for (size_t i = 0; i < p->choice.n_shown; i++) {
        char *out = tui_page_row(page);
        if (out) fill_row(&p->all[p->choice.shown[i]], cols, out);
    }
    if (!e) say(p, p->choice.filter[0] ? "no prompt's name holds these words" : "there is no prompt yet");
    tui_list_harmless(page->said);
    tui_page_note(page, page->said);
    if (e) take_preview(p, e);
    for (int i = 0; e && i < 2; i++) tui_page_note(page, p->preview[i]);
    tui_page_show(page, &p->choice, "prompts",
                  p->naming ? "Enter renames  Esc back"
                            : "Enter uses  e edit  / filter  s sort  r rename  d delete  u undo  q close",
                  v);
    if (p->naming) tui_page_ask(v, "name:", p->input);
}

const tui_list_kind tui_prompts_list = {.event = handle, .fill = fill};
