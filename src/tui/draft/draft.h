/* The handling of the draft: it is read ahead while it is typed, sent, queued, taken back, kept when the program has to
 * leave; and the effects of Ctrl-C. */
#ifndef TANDEM_SRC_TUI_DRAFT_H
#define TANDEM_SRC_TUI_DRAFT_H

#include "src/tui/action.h"
#include "ui/edit/input.h"
#include "ui/edit/input_rules.h"

typedef struct tui tui;

/* Zeroed: no draft. Only draft.c changes it. */
typedef struct {
    char *told;        /* the draft that the chat has; NULL: none, although the input may have text */
    bool told_held;    /* it may be a command, and is not read ahead */
    bool refused;      /* the chat refused it and still has the previous one; Enter shows the reason */
    unsigned told_revision; /* revision of the attachments that the chat has before the draft */
    char *sends;       /* the message that is sent once its attachments are read; NULL: none */
    char *sends_draft; /* the draft of that message: if the draft changes, it isn't sent */
    int64_t sends_ns;  /* when Enter was pressed */
    int64_t queued_ns; /* when a message was queued last */
    char *waiting;     /* the message that was sent before the model was there */
    int64_t waiting_ns;
    int editing;       /* number of the turn that is being edited; 0: none */
    char *before_edit; /* the draft that comes back after the edit */
    struct input_presses presses;
} tui_draft;

/* Does an action of the input; returns the action that follows. */
tui_action tui_draft_act(tui *t, const struct input_action *a);
/* Gives the draft to the chat if it has changed. */
void tui_draft_tell(tui *t);
/* Called when the chat has no draft, or one with another beginning: the next tui_draft_tell gives it the draft. */
void tui_draft_forget(tui *t);
/* Sends the draft, or the queued message, at once. */
void tui_draft_send_now(tui *t, int64_t now_ns);
/* Sends the message that waited for the model. */
void tui_draft_send_waiting(tui *t);
/* Puts the queued message of a conversation that was left back into the input. */
void tui_draft_take_back(tui *t);

/* Begins to edit the turn with that number, from `text`; the draft comes back afterwards. */
void tui_draft_begin_editing(tui *t, int turn, const char *text);
void tui_draft_end_editing(tui *t);

/* Takes the attachments that have been read, and sends the message that waited for them. */
void tui_draft_take_attached(tui *t);

/* Called if the model for /p could not be loaded: puts the command's line back into an empty input. prompt: its
 * argument, taken over; NULL: it was /model. */
void tui_draft_return_prompt(tui *t, char *prompt);

/* Inserts the draft of a resumed session before the text in the input. */
void tui_draft_take_kept(tui *t);
/* Called when the program has to leave: keeps all text that is in no conversation yet with the session. False:
 * there was no memory for it. */
bool tui_draft_keep(tui *t);
void tui_draft_free(tui_draft *d);

#endif
