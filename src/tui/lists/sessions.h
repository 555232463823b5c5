/* The saved sessions as the screen shows them: on the card, and in a list (saved.h). */
#ifndef TANDEM_SRC_TUI_SESSIONS_H
#define TANDEM_SRC_TUI_SESSIONS_H

#include "src/session/store.h"
#include "ui/draw/view.h"

typedef struct tui tui;

enum { TUI_CARD_SESSIONS = 3 };

typedef struct {
    store_entry *all; /* at the time of the last reading */
    int n;
    struct view_session card[TUI_CARD_SESSIONS];
    char dates[TUI_CARD_SESSIONS][24];
} tui_sessions;

tdm_status tui_sessions_read(tui_sessions *s, tdm_error *err);
/* Fills the card with the latest readable ones. */
void tui_sessions_fill(tui_sessions *s, struct view_card *card);
void tui_sessions_free(tui_sessions *s);
/* Reads the list and opens it in a popup; `trash`: that of the trash. */
void tui_sessions_show(tui *t, bool trash);

#endif
