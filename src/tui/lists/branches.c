#include "src/tui/lists/branches.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "src/image/picture.h"

enum { LONGEST_WORDS = 300 };

/* ---- The tree -------------------------------------------------------------------------------------------------- */

/* All nodes of the conversation, by their number. */
typedef struct {
    tdm_node *node; /* 1 to n */
    int n;
} tree;

static void tree_free(tree *t)
{
    for (int i = 1; i <= t->n; i++) tdm_node_free(&t->node[i]);
    free(t->node);
    *t = (tree){0};
}

static tdm_status tree_read(tree *t, const app *a, tdm_error *err)
{
    int n = app_nodes(a);
    *t = (tree){.node = calloc((size_t)n + 1, sizeof *t->node)};
    if (!t->node) return error_set(err, TDM_E_NOMEM, "out of memory");
    while (t->n < n) {
        tdm_status status = app_node(a, t->n + 1, &t->node[t->n + 1], err);
        if (status) {
            tree_free(t);
            return status;
        }
        t->n++;
    }
    return TDM_OK;
}

/* User messages from the beginning up to a node. */
static int turns_until(const tree *t, int node)
{
    int turns = 0;
    for (; node; node = t->node[node].parent) turns += t->node[node].role == TDM_USER;
    return turns;
}

/* The last place with a choice on the way to that end. */
static int last_fork(const tree *t, int end)
{
    int node = end;
    while (node && t->node[node].branches < 2) node = t->node[node].parent;
    return node ? node : end;
}

/* A message that is nothing but pictures is called by the first one's name. */
static char *one_line(const char *who, const tdm_node *node)
{
    char *line = NULL;
    const char *words = node->text ? node->text : "";
    const picture *shown =
        node->n_pictures && !words[strspn(words, " \t\r\n")] ? picture_find(node->pictures->picture) : NULL;
    if (asprintf(&line, "%s%.*s", who, LONGEST_WORDS, shown ? shown->name : words) < 0) return NULL;
    tui_list_harmless(line);
    return line;
}

static void take(tui_branch *out, const tree *t, int end)
{
    int own = last_fork(t, end);
    *out = (tui_branch){
        .end = end,
        .current = t->node[end].current,
        .fork = turns_until(t, own),
        .branch = t->node[own].branch,
        .branches = t->node[own].branches,
        .turns = turns_until(t, end),
        .time_s = t->node[end].time_s,
        .words = one_line("", &t->node[own]),
    };
    for (int node = end; node; node = t->node[node].parent) {
        int reply = t->node[node].role != TDM_USER;
        if (!out->preview[reply]) out->preview[reply] = one_line(reply ? "model: " : "you: ", &t->node[node]);
        if (out->preview[0]) break; /* a reply before it answers another message */
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const char *words_of(const void *owner, size_t row)
{
    const char *words = ((const tui_branches *)owner)->all[row].words;
    return words ? words : "";
}

static bool is_later(const void *owner, size_t a, size_t b)
{
    const tui_branch *all = ((const tui_branches *)owner)->all;
    return all[a].time_s > all[b].time_s;
}

static bool is_longer(const void *owner, size_t a, size_t b)
{
    const tui_branch *all = ((const tui_branches *)owner)->all;
    return all[a].turns > all[b].turns;
}

static const struct {
    const char *name;
    bool (*before)(const void *owner, size_t a, size_t b);
} orders[] = {{"in the order in which they were begun", NULL}, {"the latest first", is_later},
              {"the longest first", is_longer}};

enum { ORDERS = sizeof orders / sizeof *orders };

static void choose(tui_branches *b, size_t row)
{
    const tui_list_rows rows = {b->n, words_of, orders[b->order].before, b};
    tui_list_choose(&b->choice, &rows, row);
}

tdm_status tui_branches_open(tui_branches *b, const app *a, tdm_error *err)
{
    tree t;
    int order = b->order;
    tui_branches_close(b);
    b->order = order;
    tdm_status status = tree_read(&t, a, err);
    if (status) return status;
    bool *inner = calloc((size_t)t.n + 1, sizeof *inner);
    b->all = calloc((size_t)t.n + 1, sizeof *b->all);
    if (!inner || !b->all) status = error_set(err, TDM_E_NOMEM, "out of memory");
    for (int i = 1; !status && i <= t.n; i++) inner[t.node[i].parent] = true;
    for (int i = 1; !status && i <= t.n; i++)
        if (!inner[i]) take(&b->all[b->n++], &t, i);
    free(inner);
    tree_free(&t);
    if (!status && b->n < 2)
        status = error_set(err, TDM_E_NOT_FOUND, "there are no branches; /edit and /regen make them");
    size_t current = SIZE_MAX;
    for (size_t i = 0; i < b->n; i++)
        if (b->all[i].current) current = i;
    if (!status) choose(b, current);
    return status;
}

void tui_branches_close(tui_branches *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->all[i].words);
        for (int k = 0; k < 2; k++) free(b->all[i].preview[k]);
    }
    free(b->all);
    tui_list_free(&b->choice);
    tui_page_free(&b->page);
    *b = (tui_branches){0};
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static tui_action list_byte(tui_branches *b, unsigned char c, bool *closes)
{
    size_t row = tui_list_row(&b->choice);
    const char *said = NULL;
    switch (c) {
    case 's':
        b->order = (b->order + 1) % ORDERS;
        choose(b, row);
        said = orders[b->order].name;
        break;
    case 'r': said = "branches have no names; /rename names the session"; break;
    case 'd': said = "a session keeps all its branches: none can be deleted"; break;
    case 'u': said = "nothing was deleted here"; break;
    case '\r':
        *closes = true;
        if (row < b->n) return tui_action_branch(b->all[row].end);
        break;
    default: break;
    }
    snprintf(b->page.said, sizeof b->page.said, "%s", said ? said : "");
    return (tui_action){0};
}

static tui_action handle(void *owner, int rows, const struct decoder_event *e, bool *closes)
{
    tui_branches *b = owner;
    switch (tui_list_event(&b->choice, rows, e)) {
    case TUI_LIST_MOVED: b->page.said[0] = 0; break;
    case TUI_LIST_FILTERS:
        b->page.said[0] = 0;
        choose(b, tui_list_row(&b->choice));
        break;
    case TUI_LIST_CLOSES: *closes = true; break;
    case TUI_LIST_NOT_MINE:
        if (e->kind == DECODER_BYTES && e->length == 1) return list_byte(b, (unsigned char)e->data[0], closes);
        break;
    }
    return (tui_action){0};
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

static void fill_row(const tui_branch *of, int cols, char *out)
{
    enum { MARK = 2, FORK = 16, TURNS = 11, DATE = 18, LEAST = 16 };
    char fork[40], turns[40], date[TUI_PAGE_DATE];
    bool has_fork = cols >= MARK + LEAST + FORK, has_turns = cols >= MARK + LEAST + FORK + TURNS;
    bool has_date = cols >= MARK + LEAST + FORK + TURNS + DATE;
    int words = cols - MARK - (has_fork ? FORK : 0) - (has_turns ? TURNS : 0) - (has_date ? DATE : 0);
    snprintf(fork, sizeof fork, "%d/%d at turn %d", of->branch, of->branches, of->fork);
    snprintf(turns, sizeof turns, "%d turn%s", of->turns, of->turns == 1 ? " " : "s");
    size_t n = tui_list_cell(out, TUI_PAGE_ROW, of->current ? "*" : "", MARK, false);
    n += tui_list_cell(out + n, TUI_PAGE_ROW - n, of->words ? of->words : "", words, false);
    if (has_fork) n += tui_list_cell(out + n, TUI_PAGE_ROW - n, fork, FORK, true);
    if (has_turns) n += tui_list_cell(out + n, TUI_PAGE_ROW - n, turns, TURNS, true);
    if (has_date) tui_list_cell(out + n, TUI_PAGE_ROW - n, tui_page_date(date, of->time_s), DATE, true);
}

static void fill(void *owner, int cols, struct view_popup *v)
{
    tui_branches *b = owner;
    size_t row = tui_list_row(&b->choice);
    tui_page *p = &b->page;
    if (!tui_page_begin(p, b->n)) p->n = 0;
    for (size_t i = 0; i < b->choice.n_shown; i++) {
        char *out = tui_page_row(p);
        if (out) fill_row(&b->all[b->choice.shown[i]], cols, out);
    }
    if (row >= b->n) snprintf(p->said, sizeof p->said, "no branch begins with these words");
    tui_page_note(p, p->said);
    for (int k = 0; row < b->n && k < 2; k++) tui_page_note(p, b->all[row].preview[k]);
    tui_page_show(p, &b->choice, "branches", "Enter goes there  / filter  s sort  q close  (none can be deleted)", v);
}

const tui_list_kind tui_branches_list = {handle, fill, NULL};
