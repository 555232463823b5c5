#include "src/tui/tui_choose.h"

#include "engine/base/memory.h"
#include "src/chat/first_model.h"
#include "src/tui/tui_private.h"
#include "ui/popup.h"

void tui_choose_first(tui *t)
{
    char note[300];
    tdm_error err; /* the load keeps why there is no model */
    first_model(t->o, note, sizeof note);
    if (note[0]) tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", note);
    first_model_suggest(memory_total(), t->suggestion, sizeof t->suggestion);
    if (tui_consent_start(t)) return;
    tui_load_begin(&t->load, t->o, options_text(t->o, OPTION_MODEL), false, t->app.machine, t->wake[1],
                   &err);
}

static void take_facts(tui *t)
{
    tui_models_facts *f = &t->models.facts;
    bool idle = t->app.chat && t->status.phase == TDM_IDLE && t->load.state != TUI_LOAD_RUNNING;
    *f = (tui_models_facts){
        .o = t->o,
        .models = &t->app.models,
        .model_path = t->app.model_path,
        .wake = t->wake[1],
        .ceilings = &t->app.ceilings,
        .measuring = &t->measuring,
        .machine = idle ? t->app.machine : NULL,
        .keeps = !t->app.private,
        .loading = t->load.state == TUI_LOAD_RUNNING ? t->load.path : NULL,
        .load_rate = t->load.rate,
    };
    if (!t->app.chat) return;
    f->current = (models_current){t->app.info.path, t->app.info.packed_bytes, t->app.info.from_disk_tps};
    f->name = t->model_name;
    f->kernels = t->app.info.kernels;
    f->context = tdm_chat_nodes(t->app.chat) ? t->status.context_used : 0;
    f->prefill_tps = t->status.prefill_tps;
    f->token_flops = t->app.info.flops_per_token;
}

void tui_choose_open(tui *t)
{
    take_facts(t);
    tui_models_open(&t->models);
    tui_popup_models(&t->popup, &t->models);
}

void tui_choose_step(tui *t)
{
    take_facts(t);
    if (tui_models_step(&t->models)) t->dirty = t->urgent = true;
}

void tui_choose_read(tui *t)
{
    tui_models *m = &t->models;
    t->dirty = true;
    if (!tui_models_read(m) || t->popup.kind == TUI_POPUP_MODELS) return;
    if (m->pull.done)
        tui_notices_add(&t->notices, VIEW_NOTICE_INFO, "%s is here: /model lists it", m->pull.name);
    else
        tui_notices_add(&t->notices, VIEW_NOTICE_WARN, "%s", m->said);
    m->dirty = false; /* it is looked at again when it is opened */
}

void tui_choose_fit(tui *t, int cols)
{
    take_facts(t);
    t->popup.table_cols = popup_table_cols(cols);
}
