/* What waits for the user's consent to be sent to a server: the model of the start, /model and /p, or a session that is
 * resumed while one on a server talks (src/chat/consent.h says when that is asked). Until the answer nothing is
 * loaded. */
#ifndef TANDEM_SRC_TUI_CONSENT_H
#define TANDEM_SRC_TUI_CONSENT_H

#include <stdbool.h>

#include "src/slash/slashes.h"

typedef struct tui tui;

typedef enum {
    TUI_CONSENT_NONE,
    TUI_CONSENT_MODEL,
    TUI_CONSENT_PLAIN_HTTP,
    TUI_CONSENT_RESUME,
    TUI_CONSENT_OVERWRITE,
} tui_consent_kind;

/* Zeroed: no question was asked. */
typedef struct {
    tui_consent_kind kind;
    char *name;    /* of the model, or of the session; what a command is given that overwrites a file */
    slash_id command; /* that overwrites */
    char *prompt;  /* the argument of /p, which goes on with the model; NULL: none */
    bool answered; /* the answer was yes: the same is not asked about again */
} tui_consent;

/* Asks the user if that is needed. True: it was, and the work waits for TUI_ACTION_CONSENT. */
bool tui_consent_start(tui *t);
bool tui_consent_model(tui *t, const char *model, const char *prompt);
/* Asks again, since the model's server is on an overlay network: it is loaded anew after a yes. */
void tui_consent_plain_http(tui *t, const char *model, const char *prompt);
bool tui_consent_resume(tui *t, const char *wanted);
/* Asks whether a file may be overwritten. */
bool tui_consent_overwrite(tui *t, slash_id command, const char *argument);
/* Takes the answer. If it is no and there is no model, that is the reason why there is none. */
void tui_consent_answer(tui *t, bool agreed);
void tui_consent_free(tui_consent *c);

#endif
