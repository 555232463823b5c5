/* What becomes of the draft: read ahead while it is typed, sent, queued, taken back, kept when the program has to
 * leave; and what Ctrl-C does to it all. */
#ifndef TANDEM_SRC_TUI_DRAFT_H
#define TANDEM_SRC_TUI_DRAFT_H

#include "src/tui/tui_action.h"
#include "ui/edit/input.h"
#include "ui/edit/input_rules.h"

typedef struct tui tui;

/* Zeroed: nothing was typed. Only tui_draft.c changes it. */
typedef struct {
    char *told;        /* the draft that the chat knows; NULL: none, whatever stands in the input */
    bool told_held;    /* it may be a command, and is not read ahead */
    unsigned told_revision; /* of the attachments that it knows before it */
    char *sends;       /* the message that is sent once its attachments are read; NULL: none */
    char *sends_draft; /* the draft that it is: with another one it isn't sent */
    int64_t sends_ns;  /* when Enter was pressed */
    int64_t queued_ns; /* when a message was queued last */
    char *waiting;     /* sent before the model was there */
    int64_t waiting_ns;
    int editing;       /* number of the turn that is written anew; 0: none */
    char *before_edit; /* the draft that comes back after that */
    struct input_presses presses;
} tui_draft;

/* Does an action of the input; what follows from it comes back. */
tui_action tui_draft_act(tui *t, const struct input_action *a);
/* Tells the chat about the draft if it has changed. */
void tui_draft_tell(tui *t);
/* The chat knows no draft, or one with another beginning: the next tui_draft_tell tells it. */
void tui_draft_forget(tui *t);
/* Sends what stands in the input, or what is queued, at once. */
void tui_draft_send_now(tui *t, int64_t now_ns);
/* Sends what was sent before the model was there. */
void tui_draft_send_waiting(tui *t);
/* A queued message of a conversation that was left comes back into the input. */
void tui_draft_take_back(tui *t);

/* The turn with that number is written anew from `text`; what stands in the input comes back afterwards. */
void tui_draft_begin_editing(tui *t, int turn, const char *text);
void tui_draft_end_editing(tui *t);

/* Takes what has been attached, and sends the message that has waited for it. */
void tui_draft_take_attached(tui *t);

/* The model that /p asked for isn't there, as has been said: its line comes back into an empty input. prompt: its
 * argument, taken over; NULL: it was /model. */
void tui_draft_return_prompt(tui *t, char *prompt);

/* Puts the draft that a resumed session has kept before what stands in the input. */
void tui_draft_take_kept(tui *t);
/* The program has to leave: all that was typed and is in no conversation yet stays with the session. */
void tui_draft_keep(tui *t);
void tui_draft_free(tui_draft *d);

#endif
