#include "src/tui/lists/attached.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "ui/text/format.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const attachment *at(const void *owner, size_t row) { return &((const tui_attached *)owner)->of->all[row]; }

static size_t count(const void *owner) { return (size_t)((const tui_attached *)owner)->of->n; }

static void choose(tui_attached *l, size_t row)
{
    tui_list_renew(&tui_attached_list, l, row);
    l->revision = l->of->revision;
}

static void update(void *owner)
{
    tui_attached *l = owner;
    if (l->revision != l->of->revision) choose(l, tui_list_row(&l->choice));
}

tdm_status tui_attached_open(tui_attached *l, attachments *of, mentions *m, tdm_error *err)
{
    tui_attached_close(l);
    l->of = of;
    l->mentions = m;
    if (!of->n) return error_set(err, TDM_E_NOT_FOUND, "nothing is attached; /attach FILE, @FILE and !COMMAND do it");
    choose(l, 0);
    return TDM_OK;
}

static void forget_deleted(tui_attached *l)
{
    for (int i = 0; i < l->n_deleted; i++) attach_release(&l->deleted[i]);
    l->n_deleted = 0;
}

void tui_attached_close(tui_attached *l)
{
    forget_deleted(l);
    tui_list_free(&l->choice);
    free(l->deleted);
    free(l->places);
    *l = (tui_attached){0};
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

static tui_action delete_it(void *owner, size_t row)
{
    tui_attached *l = owner;
    int n = l->n_deleted + 1;
    attachment *deleted = realloc(l->deleted, (size_t)n * sizeof *deleted);
    if (deleted) l->deleted = deleted;
    int *places = deleted ? realloc(l->places, (size_t)n * sizeof *places) : NULL;
    if (!places) return (tui_action){0};
    l->places = places;
    attachment *one = &l->of->all[row];
    l->deleted[n - 1] = *one;
    l->places[n - 1] = (int)row;
    l->n_deleted = n;
    mentions_as_text(l->mentions, one->path, true);
    tui_list_tell(&l->choice, "%.80s is taken back; u undoes it", one->name);
    *one = (attachment){0};
    attach_remove(l->of, (int)row);
    choose(l, row < (size_t)l->of->n ? row : row - 1);
    return (tui_action){0};
}

static tui_action undo(void *owner, size_t row)
{
    tui_attached *l = owner;
    (void)row;
    if (!l->n_deleted || l->of->n >= ATTACH_MAX || attach_reserve(l->of, 1, NULL))
        return tui_list_tell(&l->choice, l->n_deleted ? "there is no room for it" : "nothing was deleted here");
    attachment one = l->deleted[--l->n_deleted];
    int place = l->places[l->n_deleted];
    if (place > l->of->n) place = l->of->n;
    mentions_as_text(l->mentions, one.path, false);
    memmove(l->of->all + place + 1, l->of->all + place, (size_t)(l->of->n - place) * sizeof one);
    l->of->all[place] = one;
    l->of->n++;
    l->of->revision++;
    tui_list_tell(&l->choice, "%.80s is back", one.name);
    choose(l, (size_t)place);
    return (tui_action){0};
}

static tui_action read_again(void *owner, size_t row)
{
    tui_attached *l = owner;
    const attachment *one = at(owner, row);
    if (one->kind == ATTACH_CLIPBOARD) return (tui_action){0};
    tui_list_tell(&l->choice, "%.80s: %s", one->name, one->kind == ATTACH_COMMAND ? "runs again" : "read again");
    return tui_action_attachment(TUI_ACTION_READ_AGAIN, (long)row);
}

static tui_action look_at(void *owner, size_t row)
{
    ((tui_attached *)owner)->choice.closes = true;
    return tui_action_attachment(TUI_ACTION_LOOK_AT, (long)row);
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

static const char *name(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->name;
}

static const char *tokens(const void *owner, size_t row, char *room)
{
    char count[FORMAT_SIZE];
    long n = at(owner, row)->tokens;
    if (n < 0) return "not counted";
    snprintf(room, TUI_LIST_ROW, "%s tokens", format_count(count, n));
    return room;
}

static const char *state(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->changed ? "changed on disk" : at(owner, row)->of_draft ? "@ word" : "";
}

static void note(void *owner, size_t row)
{
    tui_attached *l = owner;
    if (row >= count(owner) || !strcmp(at(owner, row)->path, at(owner, row)->name)) return;
    snprintf(l->path, sizeof l->path, "%s", at(owner, row)->path);
    tui_list_harmless(l->path);
    tui_list_note(&l->choice, l->path);
}

const tui_list_kind tui_attached_list = {
    .title = "attachments",
    .footer = "Enter looks at it  d delete  u undo  r read again  / filter  q close",
    .count = count,
    .filtered = name,
    .columns = {{tui_list_number, 3, .right = true},
                {name, 20, .gap = 1, .stretches = true},
                {tokens, 16, .right = true},
                {state, 18, .gap = 2, .rank = 1}},
    .keys = {{'u', .act = undo},
             {'d', .act = delete_it, .needs_row = true},
             {'r', .act = read_again, .needs_row = true},
             {'\r', .act = look_at, .needs_row = true}},
    .update = update,
    .note = note,
    .filter_keeps_said = true,
};
