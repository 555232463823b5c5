#include "src/tui/lists/sessions.h"

#include "src/tui/private.h"
#include "ui/text/format.h"

tdm_status tui_sessions_read(tui_sessions *s, tdm_error *err)
{
    tui_sessions_free(s);
    return store_list(&s->all, &s->n, err);
}

void tui_sessions_free(tui_sessions *s)
{
    store_list_free(s->all, s->n);
    *s = (tui_sessions){0};
}

void tui_sessions_fill(tui_sessions *s, struct view_card *card)
{
    size_t n = 0;
    for (int i = 0; i < s->n && n < TUI_CARD_SESSIONS; i++) {
        const store_entry *e = &s->all[i];
        if (e->damage[0]) continue;
        format_date(s->dates[n], e->changed_s);
        s->card[n] = (struct view_session){e->name, s->dates[n], e->model, e->turns};
        n++;
    }
    card->sessions = s->card;
    card->n_sessions = n;
}

void tui_sessions_show(tui *t, bool trash)
{
    tdm_error err = {0};
    t->app.deleting.id[0] = 0; /* another command, as others are */
    app_settle(&t->app);
    const char *open = t->app.open.slot.lock >= 0 ? t->app.open.slot.id : NULL;
    store_listing *shown = trash ? &t->app.listed.trash : &t->app.listed.sessions;
    if (tui_saved_open(&t->lists.saved, trash, open, shown, &err)) {
        enum view_notice_level level = err.code == TDM_E_NOT_FOUND ? VIEW_NOTICE_INFO : VIEW_NOTICE_ERROR;
        tui_notices_add(&t->notices, level, "%s", err.text);
        if (t->lists.popup.list == &t->lists.saved) tui_popup_close(&t->lists.popup); /* its last row is gone */
        return;
    }
    const background *e = &t->app.background;
    tui_saved_tell(&t->lists.saved, e->there && e->open.slot.lock >= 0 ? e->open.slot.id : NULL, e->writing);
    tui_popup_list(&t->lists.popup, trash ? &tui_trash_list : &tui_saved_list, &t->lists.saved);
}
