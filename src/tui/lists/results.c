#include "src/tui/lists/results.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "ui/unicode/fold.h"

static const char *text_of(const void *owner, size_t row)
{
    const tui_results *h = owner;
    return h->all[row].text;
}

static bool session_before(const void *owner, size_t a, size_t b)
{
    const tui_hit *all = ((const tui_results *)owner)->all;
    return fold_compare(all[a].session, all[b].session) < 0;
}

static void choose(tui_results *h)
{
    const tui_list_rows rows = {h->n, text_of, h->by_session ? session_before : NULL, h};
    tui_list_choose(&h->choice, &rows, tui_list_row(&h->choice));
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
    tdm_status status = store_search(words, take, h, err);
    if (!status && !h->n) status = error_set(err, TDM_E_NOT_FOUND, "no saved message has '%s'", words);
    if (!status) choose(h);
    return status;
}

void tui_results_close(tui_results *h)
{
    tui_list_free(&h->choice);
    tui_page_free(&h->page);
    free(h->all);
    *h = (tui_results){0};
}

static tui_action list_byte(tui_results *h, unsigned char c, bool *closes)
{
    size_t row = tui_list_row(&h->choice);
    const char *said = "";
    switch (c) {
    case 's':
        h->by_session = !h->by_session;
        choose(h);
        said = h->by_session ? "by session" : "as they were found, the latest session first";
        break;
    case 'r': said = "messages have no names; Enter opens the session, /rename names it"; break;
    case 'd': said = "messages can't be deleted; /sessions lists whole sessions"; break;
    case 'u': said = "nothing was deleted here"; break;
    case '\r':
        *closes = true;
        if (row < h->n) return tui_action_visit(h->all[row].id, h->all[row].node);
        break;
    default: break;
    }
    snprintf(h->page.said, sizeof h->page.said, "%s", said);
    return (tui_action){0};
}

static tui_action handle(void *owner, int rows, const struct decoder_event *e, bool *closes)
{
    tui_results *h = owner;
    switch (tui_list_event(&h->choice, rows, e)) {
    case TUI_LIST_MOVED: h->page.said[0] = 0; break;
    case TUI_LIST_FILTERS:
        h->page.said[0] = 0;
        choose(h);
        break;
    case TUI_LIST_CLOSES: *closes = true; break;
    case TUI_LIST_NOT_MINE:
        if (e->kind == DECODER_BYTES && e->length == 1) return list_byte(h, (unsigned char)e->data[0], closes);
        break;
    }
    return (tui_action){0};
}

static void fill(void *owner, int cols, struct view_popup *v)
{
    tui_results *h = owner;
    enum { MAX_NAME = 26 };
    int name = cols / 3 < MAX_NAME ? cols / 3 : MAX_NAME;
    char title[sizeof h->words + 16];
    if (!tui_page_begin(&h->page, h->n)) h->page.n = 0;
    for (size_t i = 0; i < h->choice.n_shown; i++) {
        const tui_hit *hit = &h->all[h->choice.shown[i]];
        char *out = tui_page_row(&h->page);
        if (!out) break;
        size_t n = tui_list_cell(out, TUI_PAGE_ROW, hit->session, name, false);
        n += tui_list_cell(out + n, TUI_PAGE_ROW - n, "", 2, false);
        tui_list_cell(out + n, TUI_PAGE_ROW - n, hit->text, cols - name - 2, false);
    }
    tui_page_note(&h->page, h->page.said);
    size_t row = tui_list_row(&h->choice);
    if (row < h->n) tui_page_note(&h->page, h->all[row].text); /* in full */
    snprintf(h->note, sizeof h->note, "%zu messages; the first %d are listed", h->found, TUI_RESULTS_MAX);
    if (h->found > h->n) tui_page_note(&h->page, h->note);
    snprintf(title, sizeof title, "search '%s'", h->words);
    tui_page_show(&h->page, &h->choice, title, "Enter opens it there  / filter  s sort  q close", v);
}

const tui_list_kind tui_results_list = {.event = handle, .fill = fill};
