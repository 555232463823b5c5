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

static const tui_list_question name_question, plan_question, delete_question;

static const models_row *at(const void *owner, size_t row) { return &((const tui_models *)owner)->list.rows[row]; }

static size_t count(const void *owner) { return ((const tui_models *)owner)->list.n; }

static const char *name(const void *owner, size_t row, char *room)
{
    (void)room;
    return at(owner, row)->name;
}

static bool is_larger(const void *owner, size_t a, size_t b)
{
    return at(owner, a)->disk_bytes > at(owner, b)->disk_bytes;
}

static bool is_faster(const void *owner, size_t a, size_t b) { return at(owner, a)->tps > at(owner, b)->tps; }

static size_t in_use(const void *owner)
{
    size_t row = count(owner);
    while (row-- && !at(owner, row)->in_use) {}
    return row;
}

/* Which rows are shown, by the filter; the one of that name is selected, or the one that is in use. */
static void filter(tui_models *m, const char *wanted)
{
    size_t selected = wanted ? m->list.n : SIZE_MAX;
    for (size_t i = 0; wanted && i < m->list.n; i++)
        if (!strcmp(m->list.rows[i].name, wanted)) selected = i;
    tui_list_renew(&tui_models_list, m, selected);
}

void tui_models_open(tui_models *m)
{
    m->choice.question = NULL;
    m->choice.said[0] = m->choice.filter[0] = 0;
    m->choice.filtering = false;
    m->dirty = true;
    if (m->have) {
        models_judge(&m->list, ceilings_memory_of(m->facts.ceilings), &m->facts.current);
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
        tui_list_tell(&m->choice, "%s", err.text);
    m->wanted[0] = 0;
    models_judge(&m->list, ceilings_memory_of(m->facts.ceilings), &m->facts.current);
    filter(m, name);
    r = tui_models_selected(m);
    bool same = r && name && !strcmp(r->name, name);
    if (m->choice.question == &delete_question && !same) m->choice.question = NULL; /* that one is gone */
    free(name);
}

static void looked(tui_models *m)
{
    bool wanted = !task_cancelled(&m->task);
    if (m->err.code && wanted) tui_list_tell(&m->choice, "%s", m->err.text);
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
    if (j && j->failed) tui_list_tell(&m->choice, "%s", j->err.text);
    if (m->have) models_judge(&m->list, ceilings_memory_of(m->facts.ceilings), &m->facts.current);
}

void tui_models_close(tui_models *m)
{
    task_end(&m->task);
    models_free(&m->found);
    tui_pull_close(&m->pull);
    models_free(&m->list);
    tui_list_free(&m->choice);
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
    if (p->failure[0]) tui_list_tell(&m->choice, "%s", p->failure);
    if (p->dry) {
        if (!p->planned && m->choice.question == &plan_question) m->choice.question = NULL;
        return false;
    }
    if (p->stopped) tui_list_tell(&m->choice, "%s: stopped; what has come stays, p goes on with it", p->name);
    if (p->done) {
        tui_list_tell(&m->choice, "%s is here", p->name);
        snprintf(m->wanted, sizeof m->wanted, "%s", p->name);
    }
    m->dirty = true;
    return true;
}

static tui_action begin_pull(tui_models *m, const char *name, bool dry)
{
    tdm_error err = {0};
    bool begun = !tui_pull_begin(&m->pull, name, dry, &err);
    m->choice.question = begun && dry ? &plan_question : NULL;
    return tui_list_tell(&m->choice, "%s", begun ? "" : err.text);
}

/* ---- What is done to a row ------------------------------------------------------------------------------------- */

#define NOT_HERE "%s isn't here; p asks the hub what it takes, and then fetches it"

static tui_action use(void *owner, size_t row)
{
    tui_models *m = owner;
    const models_row *r = at(m, row);
    if (r->offered) return begin_pull(m, r->name, true);
    if (r->in_use) return tui_list_tell(&m->choice, "%s is in use", r->name);
    if (r->reason) return tui_list_tell(&m->choice, "%s: %s%s", r->name, models_refused(r), r->reason);
    m->choice.closes = true;
    return tui_action_command(SLASH_MODEL, r->name);
}

static tui_action make_default(void *owner, size_t row)
{
    tui_models *m = owner;
    const models_row *r = at(m, row);
    tdm_error err = {0};
    if (r->reason) return (tui_action){0};
    if (r->offered) return tui_list_tell(&m->choice, NOT_HERE, r->name);
    if (models_set_default(r->name, &err)) return tui_list_tell(&m->choice, "%s", err.text);
    for (size_t i = 0; i < m->list.n; i++) m->list.rows[i].is_default = i == row;
    return tui_list_tell(&m->choice, "every start takes %s from now on (model = ... in the configuration file)",
                         r->name);
}

static tui_action ask_delete(void *owner, size_t row)
{
    tui_models *m = owner;
    const models_row *r = at(m, row);
    const char *why = NULL;
    if (r->in_use || (m->facts.loading && !strcmp(m->facts.loading, r->name)))
        why = "it is in use";
    else if (r->offered)
        why = "it isn't here; p fetches it";
    else if (r->builtin)
        why = "the built-in model belongs to the program";
    else if (!r->in_hub)
        why = "only what lies in the hub's cache is deleted here";
    if (why) return tui_list_tell(&m->choice, "%s: %s", r->name, why);
    m->choice.question = &delete_question;
    return tui_list_tell(&m->choice, "%s", "");
}

static tui_action delete_it(void *owner, size_t row)
{
    tui_models *m = owner;
    char size[BYTES_ROOM];
    uint64_t freed;
    tdm_error err = {0};
    if (row == SIZE_MAX || at(m, row)->in_use) return (tui_action){0};
    const models_row *r = at(m, row);
    if (models_delete(r->path, &freed, &err))
        tui_list_tell(&m->choice, "%s", err.text);
    else if (freed)
        tui_list_tell(&m->choice, "%s is deleted: %s", r->name, bytes_words(size, freed));
    else
        tui_list_tell(&m->choice, "%s is deleted; another revision has the same files, which stay", r->name);
    m->dirty = true;
    tui_models_step(m);
    return (tui_action){0};
}

static bool interrupts(void *owner)
{
    tui_models *m = owner;
    bool runs = m->pull.runs;
    tui_pull_stop(&m->pull);
    return runs;
}

static tui_action stop(void *owner, size_t row)
{
    (void)row;
    return interrupts(owner) ? (tui_action){0} : tui_list_tell(owner, "nothing is being fetched");
}

static tui_action ask_name(void *owner, size_t row)
{
    tui_models *m = owner;
    if (m->pull.runs && !m->pull.dry) return tui_list_tell(&m->choice, "one is being fetched; x stops it");
    if (row != SIZE_MAX && at(m, row)->offered && !m->pull.stopped) return begin_pull(m, at(m, row)->name, true);
    m->choice.question = &name_question;
    snprintf(m->choice.input, sizeof m->choice.input, "%.*s", (int)sizeof m->choice.input - 1,
             m->pull.stopped ? m->pull.name : "");
    return tui_list_tell(&m->choice, "%s", "");
}

static tui_action plan(void *owner, size_t row)
{
    tui_models *m = owner;
    (void)row;
    return m->choice.input[0] ? begin_pull(m, m->choice.input, true) : (tui_action){0};
}

static void forget_plan(void *owner) { tui_pull_close(&((tui_models *)owner)->pull); }

static tui_action fetch(void *owner, size_t row)
{
    tui_models *m = owner;
    char name[TUI_PULL_NAME];
    (void)row;
    m->choice.question = &plan_question;
    if (!m->pull.planned) return (tui_action){0};
    snprintf(name, sizeof name, "%s", m->pull.name);
    return begin_pull(m, name, false);
}

/* Shows what the row has no room for. */
static tui_action inform(void *owner, size_t row)
{
    tui_models *m = owner;
    const models_row *r = at(m, row);
    char token[BYTES_ROOM];
    if (r->reason) return tui_list_tell(&m->choice, "%s: %s", r->path, r->reason);
    if (r->offered) return tui_list_tell(&m->choice, NOT_HERE, r->name);
    if (r->host)
        return tui_list_tell(&m->choice, "%s: `tandem info %s` asks the server what it is", r->path, r->path);
    return tui_list_tell(&m->choice, "%s: %s are read for a token, to read one takes %.2g GFLOP", r->path,
                         bytes_words(token, r->token_bytes), 1e-9 * (double)r->token_flops);
}

static const tui_list_question name_question = {.asks = "OWNER/NAME[:TAG]:",
                                                .room = TUI_LIST_INPUT,
                                                .footer = "Enter asks the hub  Esc back",
                                                .done = plan};
static const tui_list_question plan_question = {.yes = '\r', .no = "qn", .footer = "Esc back", .done = fetch,
                                                .back = forget_plan};
static const tui_list_question delete_question = {.yes = 'y', .footer = "y deletes  n keeps", .done = delete_it};

const tui_list_kind tui_models_list = {
    .title = "models",
    .footer = "Enter use  q close  p pull  a always  d delete  i info  / filter  s sort",
    .count = count,
    .filtered = name,
    .columns = {{tui_models_mark, .width = 1},
                {tui_models_short, 16, .gap = 1, .stretches = true, .shortest = 12, .widest = 60, .heading = "name"},
                {tui_models_type, .gap = 2, .heading = "type"},
                {tui_models_disk, .gap = 2, .rank = 3, .right = true, .heading = "disk"},
                {tui_models_needs, .gap = 2, .rank = 2, .right = true, .heading = "needs"},
                {tui_models_speed, .gap = 2, .rank = 1, .right = true, .heading = "expected"},
                {tui_models_verdict, .gap = 2}},
    .keys = {{'a', .act = make_default, .needs_row = true},
             {'d', .act = ask_delete, .needs_row = true},
             {'i', .act = inform, .needs_row = true},
             {'p', .act = ask_name},
             {'r', .says = "a model has the name of its file: it can't be renamed here"},
             {'u', .says = "a deleted model does not come back by itself: p fetches it again"},
             {'x', .act = stop},
             {'\r', .act = use, .needs_row = true}},
    .orders = {{"in the order in which they were found", NULL},
               {"the largest first", is_larger},
               {"the fastest first", is_faster}},
    .adapt = tui_models_adapt,
    .home = in_use,
    .interrupts = interrupts,
    .key_keeps_said = true,
};
