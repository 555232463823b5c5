#include "src/tui/lists/attached.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "ui/text/format.h"

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const char *name_of(const void *owner, size_t row)
{
    const tui_attached *l = owner;
    return l->of->all[row].name;
}

static void choose(tui_attached *l, size_t row)
{
    const tui_list_rows rows = {.n = (size_t)l->of->n, .text = name_of, .owner = l};
    tui_list_choose(&l->choice, &rows, row);
    l->revision = l->of->revision;
}

static tdm_status make_room(tui_attached *l, tdm_error *err)
{
    size_t n = ATTACH_MAX;
    if (!l->rows) l->rows = calloc(n, sizeof *l->rows);
    if (!l->items) l->items = calloc(n, sizeof *l->items);
    return l->rows && l->items ? TDM_OK : error_set(err, TDM_E_NOMEM, "out of memory");
}

tdm_status tui_attached_open(tui_attached *l, attachments *of, mentions *m, tdm_error *err)
{
    tui_attached_close(l);
    l->of = of;
    l->mentions = m;
    if (!of->n) return error_set(err, TDM_E_NOT_FOUND, "nothing is attached; /attach FILE, @FILE and !COMMAND do it");
    tdm_status status = make_room(l, err);
    if (!status) choose(l, 0);
    return status;
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
    free(l->rows);
    free(l->items);
    *l = (tui_attached){0};
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

static void delete_it(tui_attached *l, size_t row)
{
    int n = l->n_deleted + 1;
    attachment *deleted = realloc(l->deleted, (size_t)n * sizeof *deleted);
    if (deleted) l->deleted = deleted;
    int *places = deleted ? realloc(l->places, (size_t)n * sizeof *places) : NULL;
    if (!places) return;
    l->places = places;
    attachment *one = &l->of->all[row];
    l->deleted[n - 1] = *one;
    l->places[n - 1] = (int)row;
    l->n_deleted = n;
    mentions_as_text(l->mentions, one->path, true);
    snprintf(l->said, sizeof l->said, "%.80s is taken back; u undoes it", one->name);
    *one = (attachment){0};
    attach_remove(l->of, (int)row);
    choose(l, row < (size_t)l->of->n ? row : row - 1);
}

static void undo(tui_attached *l)
{
    if (!l->n_deleted || l->of->n >= ATTACH_MAX || attach_reserve(l->of, 1, NULL)) {
        snprintf(l->said, sizeof l->said, l->n_deleted ? "there is no room for it" : "nothing was deleted here");
        return;
    }
    attachment one = l->deleted[--l->n_deleted];
    int place = l->places[l->n_deleted];
    if (place > l->of->n) place = l->of->n;
    mentions_as_text(l->mentions, one.path, false);
    memmove(l->of->all + place + 1, l->of->all + place, (size_t)(l->of->n - place) * sizeof one);
    l->of->all[place] = one;
    l->of->n++;
    l->of->revision++;
    snprintf(l->said, sizeof l->said, "%.80s is back", one.name);
    choose(l, (size_t)place);
}

static tui_action own_key(tui_attached *l, unsigned char c, bool *closes)
{
    size_t row = tui_list_row(&l->choice);
    bool any = row < (size_t)l->of->n;
    l->said[0] = 0;
    switch (c) {
    case 'u': undo(l); break;
    case 'd':
        if (any) delete_it(l, row);
        break;
    case 'r':
        if (any && l->of->all[row].kind != ATTACH_CLIPBOARD) {
            snprintf(l->said, sizeof l->said, "%.80s: %s", l->of->all[row].name,
                     l->of->all[row].kind == ATTACH_COMMAND ? "runs again" : "read again");
            return tui_action_attachment(TUI_ACTION_READ_AGAIN, (long)row);
        }
        break;
    case '\r':
        if (!any) break;
        *closes = true;
        return tui_action_attachment(TUI_ACTION_LOOK_AT, (long)row);
    default: break;
    }
    return (tui_action){0};
}

static tui_action handle(void *owner, int rows, const struct decoder_event *e, bool *closes)
{
    tui_attached *l = owner;
    if (l->revision != l->of->revision) choose(l, tui_list_row(&l->choice));
    switch (tui_list_event(&l->choice, rows, e)) {
    case TUI_LIST_MOVED: l->said[0] = 0; break;
    case TUI_LIST_FILTERS: choose(l, tui_list_row(&l->choice)); break;
    case TUI_LIST_CLOSES: *closes = true; break;
    case TUI_LIST_NOT_MINE:
        if (e->kind == DECODER_BYTES && e->length == 1) return own_key(l, (unsigned char)e->data[0], closes);
        break;
    }
    return (tui_action){0};
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

static void fill_row(const tui_attached *l, size_t row, int cols, char out[TUI_ATTACHED_ROW])
{
    enum { NUMBER = 3, TOKENS = 16, STATE = 20, LEAST = 20 };
    const attachment *one = &l->of->all[row];
    char number[16], tokens[FORMAT_SIZE], shown[FORMAT_SIZE + 8] = "not counted";
    bool has_state = cols >= NUMBER + 1 + LEAST + TOKENS + STATE;
    int name = cols - NUMBER - 1 - TOKENS - (has_state ? STATE : 0);
    snprintf(number, sizeof number, "%zu", row + 1);
    if (one->tokens >= 0) snprintf(shown, sizeof shown, "%s tokens", format_count(tokens, one->tokens));
    size_t n = tui_list_cell(out, TUI_ATTACHED_ROW, number, NUMBER, true);
    n += tui_list_cell(out + n, TUI_ATTACHED_ROW - n, "", 1, false);
    n += tui_list_cell(out + n, TUI_ATTACHED_ROW - n, one->name, name > 1 ? name : 1, false);
    n += tui_list_cell(out + n, TUI_ATTACHED_ROW - n, shown, TOKENS, true);
    if (has_state)
        tui_list_cell(out + n, TUI_ATTACHED_ROW - n,
                      one->changed ? "  changed on disk" : one->of_draft ? "  @ word" : "", STATE, false);
    tui_list_harmless(out);
}

static void fill(void *owner, int cols, struct view_popup *v)
{
    tui_attached *l = owner;
    if (l->revision != l->of->revision) choose(l, tui_list_row(&l->choice));
    for (size_t i = 0; i < l->choice.n_shown; i++) {
        fill_row(l, l->choice.shown[i], cols, l->rows[i]);
        l->items[i] = (struct view_item){.text = l->rows[i]};
    }
    bool filters = l->choice.filter[0] && !l->choice.filtering;
    snprintf(l->title, sizeof l->title, "attachments%s%s", filters ? " /" : "", filters ? l->choice.filter : "");
    *v = (struct view_popup){.kind = VIEW_POPUP_TABLE, .title = l->title, .items = l->items,
                             .n_items = l->choice.n_shown, .selected = l->choice.selected, .notes = l->notes,
                             .footer = l->choice.filtering ? "Enter keeps it  Esc all"
                                                           : "Enter looks at it  d delete  u undo  r read again  "
                                                             "/ filter  q close"};
    size_t row = tui_list_row(&l->choice);
    if (l->said[0]) l->notes[v->n_notes++] = l->said;
    if (row < (size_t)l->of->n && strcmp(l->of->all[row].path, l->of->all[row].name)) {
        snprintf(l->path, sizeof l->path, "%s", l->of->all[row].path);
        tui_list_harmless(l->path);
        l->notes[v->n_notes++] = l->path;
    }
    tui_list_ask(&l->choice, v);
}

const tui_list_kind tui_attached_list = {.event = handle, .fill = fill};
