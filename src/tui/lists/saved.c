#include "src/tui/lists/saved.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "ui/unicode/fold.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const store_entry *at(const void *owner, size_t row) { return &((const tui_saved *)owner)->all[row]; }

static size_t count(const void *owner) { return (size_t)((const tui_saved *)owner)->n; }

static const char *name(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->name ? at(owner, row)->name : "";
}

static bool by_name(const void *owner, size_t a, size_t b)
{
    return fold_compare(name(owner, a, NULL), name(owner, b, NULL)) < 0;
}

static bool by_turns(const void *owner, size_t a, size_t b) { return at(owner, a)->turns > at(owner, b)->turns; }

/* The one with that id is selected, where it is shown. */
static void choose(tui_saved *s, const char *id)
{
    size_t row = SIZE_MAX;
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->all[i].id, id)) row = (size_t)i;
    tui_list_renew(&tui_saved_list, s, row);
}

/* Reads the list anew; the filter and the order stay. */
static tdm_status look(tui_saved *s, const char *id, tdm_error *err)
{
    store_list_free(s->all, s->n);
    s->all = NULL;
    s->n = 0;
    s->preview_id[0] = 0;
    tdm_status status = s->trash ? store_list_trash(&s->all, &s->n, err) : store_list(&s->all, &s->n, err);
    if (!status) store_listing_set(s->shown, s->all, s->n);
    choose(s, id);
    return status;
}

tdm_status tui_saved_open(tui_saved *s, bool trash, const char *open_id, store_listing *shown, tdm_error *err)
{
    size_t before = s->trash == trash ? tui_list_row(&s->choice) : SIZE_MAX;
    char id[40] = "";
    if (before != SIZE_MAX) memcpy(id, at(s, before)->id, sizeof id);
    s->trash = trash;
    s->shown = shown;
    s->choice.question = NULL;
    s->choice.said[0] = s->choice.filter[0] = 0;
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
    *s = (tui_saved){0};
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

/* A session comes back from the trash. */
static tui_action bring_back(tui_saved *s, const char *id)
{
    tdm_error err = {0};
    char back[40];
    snprintf(back, sizeof back, "%s", id);
    if (store_undelete(back, &err) || look(s, back, &err)) return tui_list_tell(&s->choice, "%s", err.text);
    s->deleted[0] = 0;
    return tui_list_tell(&s->choice, "it is back among the saved sessions");
}

static tui_action from_trash(void *owner, size_t row) { return bring_back(owner, at(owner, row)->id); }

static tui_action undo(void *owner, size_t row)
{
    tui_saved *s = owner;
    (void)row;
    return s->deleted[0] ? bring_back(s, s->deleted)
                         : tui_list_tell(&s->choice, "nothing was deleted here; /undelete lists the trash");
}

static tui_action resume(void *owner, size_t row)
{
    ((tui_saved *)owner)->choice.closes = true;
    return tui_action_command(SLASH_RESUME, at(owner, row)->id);
}

static tui_action name_it(void *owner, size_t row)
{
    tui_saved *s = owner;
    tdm_error err = {0};
    char id[40];
    if (row == SIZE_MAX || !s->choice.input[0]) return (tui_action){0};
    s->choice.filter[0] = 0; /* which the new name may not hold */
    memcpy(id, at(s, row)->id, sizeof id);
    if (!strcmp(id, s->open_id)) return tui_action_command(SLASH_RENAME, s->choice.input);
    if (store_rename(id, s->choice.input, &err) || look(s, id, &err)) tui_list_tell(&s->choice, "%s", err.text);
    return (tui_action){0};
}

static tui_action ask_name(void *owner, size_t row)
{
    tui_saved *s = owner;
    static const tui_list_question question = {
        .asks = "name:", .room = sizeof s->choice.input, .footer = "Enter renames  Esc back", .done = name_it};
    if (at(s, row)->damage[0]) return (tui_action){0};
    s->choice.question = &question;
    snprintf(s->choice.input, sizeof s->choice.input, "%s", name(s, row, NULL));
    return (tui_action){0};
}

static tui_action delete_it(void *owner, size_t row)
{
    tui_saved *s = owner;
    if (row == SIZE_MAX) return (tui_action){0};
    memcpy(s->deleted, at(s, row)->id, sizeof s->deleted);
    return tui_action_delete(s->deleted);
}

/* The question takes the place of the list, so that it is seen in a few rows, too. */
static void fill_question(void *owner, struct view_popup *v)
{
    static const struct view_item items[] = {{"y", "to the trash, for 30 days", NULL}, {"n", "keep it", NULL}};
    _Static_assert(STORE_TRASH_DAYS == 30, "the question says how long");
    tui_saved *s = owner;
    snprintf(s->question, sizeof s->question, "delete '%.200s'?", name(s, tui_list_row(&s->choice), NULL));
    tui_list_harmless(s->question);
    *v = (struct view_popup){.kind = VIEW_POPUP_QUESTION, .title = s->question, .items = items, .n_items = 2,
                             .selected = 1, .footer = "y n"};
}

static tui_action ask_delete(void *owner, size_t row)
{
    static const tui_list_question question = {.yes = 'y', .done = delete_it, .fill = fill_question};
    (void)row;
    ((tui_saved *)owner)->choice.question = &question;
    return (tui_action){0};
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

static const char *name_or_damage(const void *owner, size_t row, char *room)
{
    return at(owner, row)->damage[0] ? at(owner, row)->damage : name(owner, row, room);
}

static const char *turns(const void *owner, size_t row, char *room)
{
    return tui_list_turns(room, at(owner, row)->turns);
}

static const char *date(const void *owner, size_t row, char *room)
{
    return tui_list_date(room, at(owner, row)->changed_s);
}

/* The condition of the session, which is shown instead of its model. */
static const char *condition(const void *owner, size_t row, char *room)
{
    const tui_saved *s = owner;
    const store_entry *e = at(s, row);
    (void)room;
    if (!strcmp(e->id, s->open_id)) return "open";
    if (!strcmp(e->id, s->background_id)) return s->answers ? "answering" : "answered";
    return e->model ? e->model : "";
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
        snprintf(s->preview[reply], TUI_LIST_ROW, "%s%.*s", who[reply], 200, shown ? shown : node->text + own);
        if (!reply) s->preview[1][0] = 0;
    }
    session_free(&of);
    tui_list_harmless(s->preview[0]);
    tui_list_harmless(s->preview[1]);
}

static void note(void *owner, size_t row)
{
    tui_saved *s = owner;
    if (row != SIZE_MAX) take_preview(s, at(s, row));
    for (int i = 0; row != SIZE_MAX && i < 2; i++) tui_list_note(&s->choice, s->preview[i]);
}

/* What both kinds have in common. */
#define ROWS                                                                                                           \
    .none = "no session's name holds these words", .count = count, .filtered = name, .note = note,                     \
    .columns = {{tui_list_number, 3, .right = true},                                                                   \
                {name_or_damage, 24, .gap = 1, .stretches = true},                                                     \
                {turns, 11, .rank = 2, .right = true},                                                                 \
                {date, 18, .rank = 1, .right = true},                                                                  \
                {condition, 14, .gap = 2, .rank = 3}},                                                                 \
    .orders = {{"the latest first", NULL}, {"by name", by_name}, {"the longest first", by_turns}}

const tui_list_kind tui_saved_list = {
    .title = "sessions",
    .footer = "Enter resumes  / filter  s sort  r rename  d delete  u undo  q close",
    .keys = {{'r', .act = ask_name, .needs_row = true},
             {'d', .act = ask_delete, .needs_row = true},
             {'u', .act = undo},
             {'\r', .act = resume, .needs_row = true}},
    ROWS,
};

const tui_list_kind tui_trash_list = {
    .title = "trash",
    .footer = "Enter brings back  / filter  s sort  q close",
    .keys = {{'\r', .act = from_trash, .needs_row = true}},
    ROWS,
};
