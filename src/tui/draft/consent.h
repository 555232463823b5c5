/* Work that waits for the user's consent to send data to a server: the model of the start, /model and /p, or resuming a
 * session with a model on a server (src/chat/consent.h says when to ask). Nothing is loaded before the answer.
 * Overwriting a file is asked here too. */
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
    char *name;    /* of the model, or of the session; or the argument of a command that overwrites a file */
    slash_id command; /* the one that overwrites */
    char *prompt;  /* the argument of /p, which needs the model; NULL: none */
    bool answered; /* the answer was yes: it is not asked again */
} tui_consent;

/* Asks the user if necessary. True: asked, and the work waits for TUI_ACTION_CONSENT. */
bool tui_consent_start(tui *t);
bool tui_consent_model(tui *t, const char *model, const char *prompt);
/* Asks again, since the model's server is on an overlay network: after a yes it is loaded again. */
void tui_consent_plain_http(tui *t, const char *model, const char *prompt);
bool tui_consent_resume(tui *t, const char *wanted);
/* Asks whether a file may be overwritten. */
bool tui_consent_overwrite(tui *t, slash_id command, const char *argument);
/* Takes the answer. If it is no and there is no model, it becomes the failure to show. */
void tui_consent_answer(tui *t, bool agreed);
void tui_consent_free(tui_consent *c);

#endif
