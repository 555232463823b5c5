#include "src/tui/lists/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/hub/delete.h"
#include "src/io/number.h"
#include "src/models/family.h"
#include "src/tui/lists/list.h"

/* ---- The thread ------------------------------------------------------------------------------------------------ */

static int on_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    tui_models *m = ctx;
    (void)step, (void)done, (void)total;
    return task_cancelled(&m->task);
}

static void work(void *arg)
{
    tui_models *m = arg;
    if (!models_find(&m->found, m->o, &m->err))
        for (size_t i = 0; i < m->found.n && !task_cancelled(&m->task); i++)
            models_describe(&m->found.rows[i], m->o, on_progress, m);
}

static void begin_looking(tui_models *m)
{
    m->err = (tdm_error){0};
    m->o = m->facts.o;
    task_begin(&m->task, work, m, m->facts.wake);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static const char *name_of(const void *owner, size_t row)
{
    const tui_models *m = owner;
    return m->list.rows[row].name;
}

static bool is_larger(const void *owner, size_t a, size_t b)
{
    const models_row *rows = ((const tui_models *)owner)->list.rows;
    return rows[a].disk_bytes > rows[b].disk_bytes;
}

static bool is_faster(const void *owner, size_t a, size_t b)
{
    const models_row *rows = ((const tui_models *)owner)->list.rows;
    return rows[a].tps > rows[b].tps;
}

/* The orders that s goes through; the first one is that in which models were found. */
static const struct {
    const char *name;
    bool (*before)(const void *owner, size_t a, size_t b);
} orders[] = {
    {"in the order in which they were found", NULL},
    {"the largest first", is_larger},
    {"the fastest first", is_faster},
};

enum { ORDERS = sizeof orders / sizeof *orders };

/* Which rows are shown, by the filter; the one of that name is selected, or the one that is in use. */
static void filter(tui_models *m, const char *wanted)
{
    const tui_list_rows rows = {
        .n = m->list.n, .text = name_of, .before = orders[m->order].before, .owner = m};
    size_t selected = SIZE_MAX;
    for (size_t i = 0; i < m->list.n; i++)
        if (wanted ? !strcmp(m->list.rows[i].name, wanted) : m->list.rows[i].in_use) selected = i;
    tui_list_choose(&m->choice, &rows, selected);
}

static void filter_again(tui_models *m)
{
    const models_row *r = tui_models_selected(m);
    char *name = r ? strdup(r->name) : NULL;
    filter(m, name);
    free(name);
}

void tui_models_open(tui_models *m)
{
    m->mode = TUI_MODELS_LIST;
    m->said[0] = m->choice.filter[0] = 0;
    m->choice.filtering = false;
    m->dirty = true;
    if (m->have) {
        models_judge(&m->list, m->facts.ceilings, &m->facts.current);
        filter(m, NULL);
    }
    tui_models_step(m);
}

static void take_found(tui_models *m)
{
    const models_row *r = tui_models_selected(m);
    char *name = m->wanted[0] ? strdup(m->wanted) : r ? strdup(r->name) : NULL;
    models_free(&m->list);
    m->list = m->found;
    m->found = (models_list){0};
    m->have = true;
    tdm_error err;
    if (models_add_servers(&m->list, m->facts.o, m->facts.models, m->facts.model_path, &err) ||
        family_offer(&m->list, &err))
        snprintf(m->said, sizeof m->said, "%s", err.text);
    m->wanted[0] = 0;
    models_judge(&m->list, m->facts.ceilings, &m->facts.current);
    filter(m, name);
    r = tui_models_selected(m);
    bool same = r && name && !strcmp(r->name, name);
    if (m->mode == TUI_MODELS_DELETE && !same) m->mode = TUI_MODELS_LIST; /* the question was about one that is gone */
    free(name);
}

static void looked(tui_models *m)
{
    bool wanted = !task_cancelled(&m->task);
    if (m->err.code && wanted) snprintf(m->said, sizeof m->said, "%s", m->err.text);
    if (!m->err.code && wanted) take_found(m);
    models_free(&m->found);
}

bool tui_models_step(tui_models *m)
{
    const tui_models_facts *f = &m->facts;
    bool ended = task_take(&m->task);
    if (ended) looked(m);
    if (m->dirty && !m->task.running) {
        m->dirty = false;
        begin_looking(m);
    } else if (ended && m->have && !m->err.code && f->machine && f->kernels && !f->ceilings->known) {
        ceilings_job_begin(f->measuring, f->machine, f->kernels, f->keeps, f->wake);
    }
    return ended;
}

void tui_models_measured(tui_models *m)
{
    const ceilings_job *j = m->facts.measuring;
    if (j && j->failed) snprintf(m->said, sizeof m->said, "%s", j->err.text);
    if (m->have) models_judge(&m->list, m->facts.ceilings, &m->facts.current);
}

void tui_models_close(tui_models *m)
{
    task_end(&m->task);
    models_free(&m->found);
    tui_pull_close(&m->pull);
    models_free(&m->list);
    tui_list_free(&m->choice);
    tui_models_free_page(m->page);
    m->page = NULL;
}

/* ---- Getting one ----------------------------------------------------------------------------------------------- */

int tui_models_fd(const tui_models *m)
{
    return m->pull.runs ? m->pull.fd : -1;
}

bool tui_models_read(tui_models *m)
{
    tui_pull *p = &m->pull;
    if (tui_pull_read(p)) return false;
    if (p->failure[0]) snprintf(m->said, sizeof m->said, "%s", p->failure);
    if (p->dry) {
        if (!p->planned) m->mode = m->mode == TUI_MODELS_PLAN ? TUI_MODELS_LIST : m->mode;
        return false;
    }
    if (p->stopped) snprintf(m->said, sizeof m->said, "%s: stopped; what has come stays, p goes on with it", p->name);
    if (p->done) {
        snprintf(m->said, sizeof m->said, "%s is here", p->name);
        snprintf(m->wanted, sizeof m->wanted, "%s", p->name);
    }
    m->dirty = true;
    return true;
}

static void begin_pull(tui_models *m, const char *name, bool dry)
{
    tdm_error err = {0};
    m->said[0] = 0;
    m->mode = dry ? TUI_MODELS_PLAN : TUI_MODELS_LIST;
    if (!tui_pull_begin(&m->pull, name, dry, &err)) return;
    snprintf(m->said, sizeof m->said, "%s", err.text);
    m->mode = TUI_MODELS_LIST;
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

#define NOT_HERE "%s isn't here; p asks the hub what it takes, and then fetches it"

static tui_action use(tui_models *m, bool *closes)
{
    const models_row *r = tui_models_selected(m);
    if (r && r->offered) {
        begin_pull(m, r->name, true);
        return (tui_action){0};
    }
    if (!r || r->in_use) {
        if (r) snprintf(m->said, sizeof m->said, "%s is in use", r->name);
        return (tui_action){0};
    }
    if (r->reason) {
        snprintf(m->said, sizeof m->said, "%s: %s%s", r->name, models_refused(r), r->reason);
        return (tui_action){0};
    }
    *closes = true;
    return tui_action_command(SLASH_MODEL, r->name);
}

static void make_default(tui_models *m)
{
    const models_row *r = tui_models_selected(m);
    tdm_error err = {0};
    if (!r || r->reason) return;
    if (r->offered) {
        snprintf(m->said, sizeof m->said, NOT_HERE, r->name);
        return;
    }
    if (models_set_default(r->name, &err)) {
        snprintf(m->said, sizeof m->said, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < m->list.n; i++) m->list.rows[i].is_default = &m->list.rows[i] == r;
    snprintf(m->said, sizeof m->said, "every start takes %s from now on (model = ... in the configuration file)",
             r->name);
}

static void ask_delete(tui_models *m)
{
    const models_row *r = tui_models_selected(m);
    const char *why = NULL;
    if (!r) return;
    if (r->in_use || (m->facts.loading && !strcmp(m->facts.loading, r->name)))
        why = "it is in use";
    else if (r->offered)
        why = "it isn't here; p fetches it";
    else if (r->builtin)
        why = "the built-in model belongs to the program";
    else if (!r->in_hub)
        why = "only what lies in the hub's cache is deleted here";
    m->said[0] = 0;
    if (why)
        snprintf(m->said, sizeof m->said, "%s: %s", r->name, why);
    else
        m->mode = TUI_MODELS_DELETE;
}

static void delete_it(tui_models *m)
{
    const models_row *r = tui_models_selected(m);
    char size[BYTES_ROOM];
    uint64_t freed;
    tdm_error err = {0};
    m->mode = TUI_MODELS_LIST;
    if (!r || r->in_use) return;
    if (models_delete(r->path, &freed, &err))
        snprintf(m->said, sizeof m->said, "%s", err.text);
    else if (freed)
        snprintf(m->said, sizeof m->said, "%s is deleted: %s", r->name, bytes_words(size, freed));
    else
        snprintf(m->said, sizeof m->said, "%s is deleted; another revision has the same files, which stay", r->name);
    m->dirty = true;
    tui_models_step(m);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------ */

static void stop(tui_models *m)
{
    if (m->pull.runs)
        tui_pull_stop(&m->pull);
    else
        snprintf(m->said, sizeof m->said, "nothing is being fetched");
}

static void begin_name(tui_models *m)
{
    m->said[0] = 0;
    const models_row *r = tui_models_selected(m);
    if (m->pull.runs && !m->pull.dry) {
        snprintf(m->said, sizeof m->said, "one is being fetched; x stops it");
        return;
    }
    if (r && r->offered && !m->pull.stopped) {
        begin_pull(m, r->name, true);
        return;
    }
    m->mode = TUI_MODELS_NAME;
    snprintf(m->input, sizeof m->input, "%.*s", (int)sizeof m->input - 1, m->pull.stopped ? m->pull.name : "");
}

static void sort_next(tui_models *m)
{
    m->order = (m->order + 1) % ORDERS;
    filter_again(m);
    snprintf(m->said, sizeof m->said, "%s", orders[m->order].name);
}

/* Shows what the row has no room for. */
static void inform(tui_models *m)
{
    const models_row *r = tui_models_selected(m);
    char token[BYTES_ROOM];
    if (!r) return;
    if (r->reason)
        snprintf(m->said, sizeof m->said, "%s: %s", r->path, r->reason);
    else if (r->offered)
        snprintf(m->said, sizeof m->said, NOT_HERE, r->name);
    else if (r->host)
        snprintf(m->said, sizeof m->said, "%s: `tandem info %s` asks the server what it is", r->path, r->path);
    else
        snprintf(m->said, sizeof m->said, "%s: %s are read for a token, to read one takes %.2g GFLOP", r->path,
                 bytes_words(token, r->token_bytes), 1e-9 * (double)r->token_flops);
}

/* A key of the list that does something to a row. */
static tui_action list_byte(tui_models *m, unsigned char c, bool *closes)
{
    switch (c) {
    case 'a':
        make_default(m);
        break;
    case 'd':
        ask_delete(m);
        break;
    case 'i':
        inform(m);
        break;
    case 'p':
        begin_name(m);
        break;
    case 'r':
        snprintf(m->said, sizeof m->said, "a model has the name of its file: it can't be renamed here");
        break;
    case 's':
        sort_next(m);
        break;
    case 'u':
        snprintf(m->said, sizeof m->said, "a deleted model does not come back by itself: p fetches it again");
        break;
    case 'x':
        stop(m);
        break;
    case '\r':
        return use(m, closes);
    default:
        break;
    }
    return (tui_action){0};
}

static tui_action list_event(tui_models *m, int rows, const struct decoder_event *e, bool *closes)
{
    bool byte = e->kind == DECODER_BYTES && e->length == 1;
    switch (tui_list_event(&m->choice, rows, e)) {
    case TUI_LIST_MOVED:
        m->said[0] = 0;
        break;
    case TUI_LIST_FILTERS:
        m->said[0] = 0;
        filter_again(m);
        break;
    case TUI_LIST_CLOSES:
        if (m->pull.runs && byte && e->data[0] != 'q') /* Ctrl-C stops the first that there is */
            tui_pull_stop(&m->pull);
        else
            *closes = true;
        break;
    case TUI_LIST_NOT_MINE:
        if (byte) return list_byte(m, (unsigned char)e->data[0], closes);
        break;
    }
    return (tui_action){0};
}

static void type_name(tui_models *m, const struct decoder_event *e)
{
    if (!tui_line_edit(m->input, sizeof m->input, e)) return;
    if (m->input[0])
        begin_pull(m, m->input, true);
    else
        m->mode = TUI_MODELS_LIST;
}

static void answer_plan(tui_models *m, unsigned char c)
{
    char name[TUI_PULL_NAME];
    if (c == '\r' && m->pull.planned) {
        snprintf(name, sizeof name, "%s", m->pull.name);
        begin_pull(m, name, false);
    } else if (c == 'q' || c == 'n') {
        tui_pull_close(&m->pull);
        m->mode = TUI_MODELS_LIST;
    }
}

static tui_action handle(void *owner, int rows, const struct decoder_event *e, bool *closes)
{
    tui_models *m = owner;
    bool byte = e->kind == DECODER_BYTES && e->length == 1;
    bool ctrl_c = byte && (e->data[0] == 3 || e->data[0] == 7);
    unsigned char c = byte ? (unsigned char)e->data[0] : 0;
    if (m->mode == TUI_MODELS_LIST) return list_event(m, rows, e, closes);
    if (e->kind == DECODER_ESC || ctrl_c) {
        if (m->mode == TUI_MODELS_PLAN) tui_pull_close(&m->pull);
        m->mode = TUI_MODELS_LIST;
        return (tui_action){0};
    }
    switch (m->mode) {
    case TUI_MODELS_NAME:
        type_name(m, e);
        break;
    case TUI_MODELS_PLAN:
        answer_plan(m, c);
        break;
    default:
        if (c == 'y')
            delete_it(m);
        else if (byte)
            m->mode = TUI_MODELS_LIST;
        break;
    }
    return (tui_action){0};
}

static bool asks(const void *owner)
{
    return ((const tui_models *)owner)->mode == TUI_MODELS_DELETE;
}

const tui_list_kind tui_models_list = {.event = handle, .fill = tui_models_fill, .asks = asks};
