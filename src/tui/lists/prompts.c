#include "src/tui/lists/prompts.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/tui/lists/list.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const prompts_entry *at(const void *owner, size_t row) { return &((const tui_prompts *)owner)->all[row]; }

static size_t count(const void *owner) { return (size_t)((const tui_prompts *)owner)->n; }

static bool own_first(const void *owner, size_t a, size_t b) { return at(owner, a)->own && !at(owner, b)->own; }

/* The one of that name is selected, where it is shown; NULL: the one that is. */
static void choose(tui_prompts *p, const char *name)
{
    size_t row = name ? SIZE_MAX : tui_list_row(&p->choice);
    for (int i = 0; name && i < p->n; i++)
        if (!strcmp(p->all[i].name, name)) row = (size_t)i;
    tui_list_renew(&tui_prompts_list, p, row);
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

static void look_again(tui_prompts *p, const char *name)
{
    tdm_error err = {0};
    if (look(p, name, &err)) tui_list_tell(&p->choice, "%s", err.text);
}

tdm_status tui_prompts_open(tui_prompts *p, tdm_error *err)
{
    p->choice.question = NULL;
    p->choice.filtering = false;
    p->choice.filter[0] = p->choice.said[0] = 0;
    return look(p, NULL, err);
}

void tui_prompts_edited(tui_prompts *p, const char *name, const char *said)
{
    look_again(p, name);
    tui_list_tell(&p->choice, "%s", said);
}

void tui_prompts_close(tui_prompts *p)
{
    if (p->all) prompts_list_free(p->all, p->n);
    tui_list_free(&p->choice);
    *p = (tui_prompts){0};
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

static tui_action delete_it(void *owner, size_t row)
{
    tui_prompts *p = owner;
    tdm_error err = {0};
    char name[TUI_PROMPTS_NAME];
    snprintf(name, sizeof name, "%s", at(p, row)->name);
    if (prompts_delete(name, &err)) return tui_list_tell(&p->choice, "%s", err.text);
    memcpy(p->deleted, name, sizeof name);
    look_again(p, name);
    return tui_list_tell(&p->choice, "%s is in the trash beside the prompts; u brings it back", name);
}

static tui_action bring_back(void *owner, size_t row)
{
    tui_prompts *p = owner;
    tdm_error err = {0};
    char name[TUI_PROMPTS_NAME];
    (void)row;
    memcpy(name, p->deleted, sizeof name);
    if (!name[0]) return tui_list_tell(&p->choice, "nothing was deleted here");
    if (prompts_undelete(name, &err)) return tui_list_tell(&p->choice, "%s", err.text);
    p->deleted[0] = 0;
    look_again(p, name);
    return tui_list_tell(&p->choice, "%s is back", name);
}

static tui_action name_it(void *owner, size_t row)
{
    tui_prompts *p = owner;
    tdm_error err = {0};
    const char *name = p->choice.input;
    if (row == SIZE_MAX || !name[0] || !strcmp(name, at(p, row)->name)) return (tui_action){0};
    if (prompts_rename(at(p, row)->name, name, &err)) return tui_list_tell(&p->choice, "%s", err.text);
    p->choice.filter[0] = 0; /* which the new name may not hold */
    look_again(p, name);
    return (tui_action){0};
}

static tui_action ask_name(void *owner, size_t row)
{
    static const tui_list_question question = {
        .asks = "name:", .room = TUI_PROMPTS_NAME, .footer = "Enter renames  Esc back", .done = name_it};
    tui_prompts *p = owner;
    const prompts_entry *e = at(p, row);
    if (!e->own)
        return tui_list_tell(&p->choice, "%s comes with the program: only your own can be renamed", e->name);
    p->choice.question = &question;
    snprintf(p->choice.input, TUI_PROMPTS_NAME, "%s", e->name);
    return (tui_action){0};
}

static tui_action edit(void *owner, size_t row) { return tui_action_prompt(at(owner, row)->name); }

static tui_action use(void *owner, size_t row)
{
    ((tui_prompts *)owner)->choice.closes = true;
    return tui_action_command(SLASH_P, at(owner, row)->name);
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
        snprintf(sets + n, TUI_LIST_ROW - n, "%s %s %.60s", n ? "," : "sets", option_table[id].name,
                 value ? value : "");
    }
    for (int i = 0; i < file.n; i++) {
        static const char *const marks[] = {[PROMPT_INPUT] = "{{input}}", [PROMPT_CLIPBOARD] = "{{clipboard}}"};
        const prompt_part *part = &file.parts[i];
        size_t n = strlen(text);
        size_t room = TUI_LIST_ROW - n;
        if (part->kind == PROMPT_TEXT) snprintf(text + n, room, "%.*s", (int)part->n, part->text);
        else if (part->kind == PROMPT_FILE) snprintf(text + n, room, "{{file:%.*s}}", (int)part->n, part->text);
        else snprintf(text + n, room, "%s", marks[part->kind]);
    }
    prompt_free(&file);
    tui_list_harmless(sets);
    tui_list_harmless(text);
}

static void note(void *owner, size_t row)
{
    tui_prompts *p = owner;
    if (row != SIZE_MAX) take_preview(p, at(p, row));
    for (int i = 0; row != SIZE_MAX && i < 2; i++) tui_list_note(&p->choice, p->preview[i]);
}

static const char *name(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->name;
}

static const char *words(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->words;
}

static const char *own(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->own ? "own" : "";
}

const tui_list_kind tui_prompts_list = {
    .title = "prompts",
    .footer = "Enter uses  e edit  / filter  s sort  r rename  d delete  u undo  q close",
    .none = "no prompt's name holds these words",
    .empty = "there is no prompt yet",
    .count = count,
    .filtered = name,
    .columns = {{name, 18, .stretches = true},
                {words, 20, .rank = 1, .stretches = true},
                {own, 6, .rank = 2, .right = true}},
    .keys = {{'r', .act = ask_name, .needs_row = true},
             {'d', .act = delete_it, .needs_row = true},
             {'u', .act = bring_back},
             {'e', .act = edit, .needs_row = true},
             {'\r', .act = use, .needs_row = true}},
    .orders = {{"by name", NULL}, {"your own first", own_first}},
    .note = note,
};
