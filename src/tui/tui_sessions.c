/* The saved sessions as the screen shows them: on the card, and in a list to resume and delete from. */
#include "engine/base/clock.h"
#include "src/tui/tui_private.h"

tdm_status tui_sessions_read(tui *t, tdm_error *err)
{
    store_list_free(t->sessions, t->n_sessions);
    t->sessions = NULL;
    t->n_sessions = 0;
    return store_list(&t->sessions, &t->n_sessions, err);
}

void tui_sessions_show(tui *t)
{
    tdm_error err = {0};
    t->app.deleting[0] = 0; /* another command, as others are */
    if (tui_sessions_read(t, &err)) {
        tui_notice_add(t, VIEW_NOTICE_ERROR, "%s", err.text);
        return;
    }
    if (!t->n_sessions) {
        tui_notice_add(t, VIEW_NOTICE_INFO, "there is no saved session yet");
        return;
    }
    store_show(&t->app.shown, t->sessions, t->n_sessions);
    tui_popup_sessions(&t->popup, t->sessions, t->n_sessions, t->app.place.lock >= 0 ? t->app.place.id : NULL);
}

void tui_sessions_delete(tui *t, char *id)
{
    const slash_call call = {.id = SLASH_DELETE, .argument = id};
    t->app.deleting[0] = 0;
    tui_command(t, &call, clock_ns()); /* the first call asks; the user has been asked */
    tui_notices_end(&t->notices);
    tui_command(t, &call, clock_ns());
    tui_sessions_show(t);
}
