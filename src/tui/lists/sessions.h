/* The saved sessions as the screen shows them: on the card, and in a list (saved.h). */
#ifndef TANDEM_SRC_TUI_SESSIONS_H
#define TANDEM_SRC_TUI_SESSIONS_H

#include "src/session/store.h"
#include "ui/draw/view.h"

typedef struct tui tui;

enum { TUI_CARD_SESSIONS = 3 };

typedef struct {
    store_entry *all; /* as they were when they were read last */
    int n;
    struct view_session card[TUI_CARD_SESSIONS];
    char dates[TUI_CARD_SESSIONS][24];
} tui_sessions;

tdm_status tui_sessions_read(tui_sessions *s, tdm_error *err);
/* The last ones that can be read. */
void tui_sessions_fill(tui_sessions *s, struct view_card *card);
void tui_sessions_free(tui_sessions *s);
/* Opens the list, as it is now, in a popup; that of the trash where `trash` is set. */
void tui_sessions_show(tui *t, bool trash);

#endif
