#include "src/tui/choose.h"

#include "engine/base/memory.h"
#include "src/models/family.h"
#include "src/models/first_model.h"
#include "src/tui/private.h"
#include "ui/popup.h"

void tui_choose_first(tui *t)
{
    char note[300];
    tdm_error err; /* the load keeps why there is no model */
    first_model(t->o, note, sizeof note);
    if (note[0]) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", note);
    family_suggest(memory_total(), t->known.suggestion, sizeof t->known.suggestion);
    if (tui_consent_start(t)) return;
    tui_load_begin(&t->jobs.load, t->o, options_text(t->o, OPTION_MODEL), false, t->app.machine, t->wake[1], &err);
}

static void take_facts(tui *t)
{
    tui_models_facts *f = &t->lists.models.facts;
    bool idle = app_talks(&t->app) && t->known.status.phase == TDM_PHASE_IDLE && t->jobs.load.state != TUI_LOAD_RUNNING;
    *f = (tui_models_facts){
        .o = t->o,
        .models = &t->app.models,
        .model_path = t->app.model_path,
        .wake = t->wake[1],
        .ceilings = &t->app.ceilings,
        .measuring = &t->jobs.measuring,
        .machine = idle ? t->app.machine : NULL,
        .keeps = !t->app.open.private,
        .loading = t->jobs.load.state == TUI_LOAD_RUNNING ? t->jobs.load.path : NULL,
        .load_rate = t->jobs.load.rate,
    };
    if (!app_talks(&t->app)) return;
    f->current = (models_current){t->app.info.path, t->app.info.packed_bytes, t->app.info.from_disk_tps};
    f->name = t->known.model_name;
    f->kernels = t->app.info.kernels;
    f->context = app_nodes(&t->app) ? t->known.status.context_used : 0;
    f->prefill_tps = t->known.status.prefill_tps;
    f->token_flops = t->app.info.flops_per_token;
}

void tui_choose_open(tui *t)
{
    take_facts(t);
    tui_models_open(&t->lists.models);
    tui_popup_list(&t->lists.popup, &tui_models_list, &t->lists.models);
}

void tui_choose_step(tui *t)
{
    take_facts(t);
    if (tui_models_step(&t->lists.models)) t->face.dirty = t->face.urgent = true;
}

void tui_choose_read(tui *t)
{
    tui_models *m = &t->lists.models;
    t->face.dirty = true;
    if (!tui_models_read(m) || t->lists.popup.list == m) return;
    if (m->pull.done)
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s is here: /model lists it", m->pull.name);
    else
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", m->choice.said);
    m->dirty = false; /* it is looked at again when it is opened */
}

void tui_choose_fit(tui *t, int cols)
{
    take_facts(t);
    t->lists.popup.table_cols = popup_table_cols(cols);
}
