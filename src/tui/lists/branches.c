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

static size_t count(const void *owner) { return ((const tui_branches *)owner)->n; }

static const tui_branch *at(const void *owner, size_t row) { return &((const tui_branches *)owner)->all[row]; }

static bool is_later(const void *owner, size_t a, size_t b) { return at(owner, a)->time_s > at(owner, b)->time_s; }
static bool is_longer(const void *owner, size_t a, size_t b) { return at(owner, a)->turns > at(owner, b)->turns; }

tdm_status tui_branches_open(tui_branches *b, const app *a, tdm_error *err)
{
    tree t;
    size_t order = b->choice.order;
    tui_branches_close(b);
    b->choice.order = order;
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
    if (!status) tui_list_renew(&tui_branches_list, b, current);
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
    *b = (tui_branches){0};
}

static tui_action go(void *owner, size_t row)
{
    tui_branches *b = owner;
    b->choice.closes = true;
    return row < b->n ? tui_action_branch(b->all[row].end) : (tui_action){0};
}

/* ---- Showing --------------------------------------------------------------------------------------------------- */

static const char *mark(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->current ? "*" : "";
}

static const char *words(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->words ? at(owner, row)->words : "";
}

static const char *place(const void *owner, size_t row, char *room)
{
    const tui_branch *of = at(owner, row);
    snprintf(room, TUI_LIST_ROW, "%d/%d at turn %d", of->branch, of->branches, of->fork);
    return room;
}

static const char *turns(const void *owner, size_t row, char *room)
{
    return tui_list_turns(room, at(owner, row)->turns);
}

static const char *date(const void *owner, size_t row, char *room)
{
    return tui_list_date(room, at(owner, row)->time_s);
}

static void note(void *owner, size_t row)
{
    tui_branches *b = owner;
    for (int i = 0; row < b->n && i < 2; i++) tui_list_note(&b->choice, b->all[row].preview[i]);
}

const tui_list_kind tui_branches_list = {
    .title = "branches",
    .footer = "Enter goes there  / filter  s sort  q close  (none can be deleted)",
    .none = "no branch begins with these words",
    .count = count,
    .filtered = words,
    .columns = {{mark, .width = 2},
                {words, 16, .stretches = true},
                {place, 16, .rank = 1, .right = true},
                {turns, 11, .rank = 2, .right = true},
                {date, 18, .rank = 3, .right = true}},
    .keys = {{'r', .says = "branches have no names; /rename names the session"},
             {'d', .says = "a session keeps all its branches: none can be deleted"},
             {'u', .says = "nothing was deleted here"},
             {'\r', .act = go}},
    .orders = {{"in the order in which they were begun", NULL}, {"the latest first", is_later},
               {"the longest first", is_longer}},
    .note = note,
};
