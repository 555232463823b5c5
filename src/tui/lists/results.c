#include "src/tui/lists/results.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "ui/unicode/fold.h"

static const tui_hit *at(const void *owner, size_t row) { return &((const tui_results *)owner)->all[row]; }

static size_t count(const void *owner) { return ((const tui_results *)owner)->n; }

static bool session_before(const void *owner, size_t a, size_t b)
{
    return fold_compare(at(owner, a)->session, at(owner, b)->session) < 0;
}

static void take(void *ctx, const store_entry *entry, int id, const tdm_node *node)
{
    tui_results *h = ctx;
    if (h->found++ >= TUI_RESULTS_MAX) return;
    tui_hit *larger = realloc(h->all, (h->n + 1) * sizeof *larger);
    if (!larger) return;
    h->all = larger;
    tui_hit *hit = &h->all[h->n++];
    char line[TUI_RESULTS_ROW - 8];
    memcpy(hit->id, entry->id, sizeof hit->id);
    hit->node = id;
    snprintf(hit->session, sizeof hit->session, "%.79s", entry->name ? entry->name : "");
    store_excerpt(node->text, node->length, h->words, line, sizeof line);
    snprintf(hit->text, sizeof hit->text, "%s: %s", node->role == TDM_USER ? "you" : "model", line);
    tui_list_harmless(hit->session);
    tui_list_harmless(hit->text);
}

tdm_status tui_results_open(tui_results *h, const char *words, tdm_error *err)
{
    tui_results_close(h);
    snprintf(h->words, sizeof h->words, "%s", words);
    snprintf(h->title, sizeof h->title, "search '%s'", h->words);
    tdm_status status = store_search(words, take, h, err);
    if (!status && !h->n) status = error_set(err, TDM_E_NOT_FOUND, "no saved message has '%s'", words);
    if (!status) tui_list_renew(&tui_results_list, h, SIZE_MAX);
    return status;
}

void tui_results_close(tui_results *h)
{
    tui_list_free(&h->choice);
    free(h->all);
    *h = (tui_results){0};
}

static tui_action visit(void *owner, size_t row)
{
    tui_results *h = owner;
    h->choice.closes = true;
    return row < h->n ? tui_action_visit(h->all[row].id, h->all[row].node) : (tui_action){0};
}

static const char *title(const void *owner) { return ((const tui_results *)owner)->title; }

static const char *name(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->session;
}

static const char *text(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->text;
}

static void note(void *owner, size_t row)
{
    tui_results *h = owner;
    if (row < h->n) tui_list_note(&h->choice, h->all[row].text); /* in full */
    snprintf(h->note, sizeof h->note, "%zu messages; the first %d are listed", h->found, TUI_RESULTS_MAX);
    if (h->found > h->n) tui_list_note(&h->choice, h->note);
}

const tui_list_kind tui_results_list = {
    .titled = title,
    .footer = "Enter opens it there  / filter  s sort  q close",
    .count = count,
    .filtered = text,
    .columns = {{name, 26, .third = true}, {text, 1, .gap = 2, .stretches = true}},
    .keys = {{'r', .says = "messages have no names; Enter opens the session, /rename names it"},
             {'d', .says = "messages can't be deleted; /sessions lists whole sessions"},
             {'u', .says = "nothing was deleted here"},
             {'\r', .act = visit}},
    .orders = {{"as they were found, the latest session first", NULL}, {"by session", session_before}},
    .note = note,
};
