/* The full screen's own functions for slash commands, which replace those for the conversation, or run before and after
 * these. The rows of src/slash/slashes.h name them. */
#ifndef TANDEM_SRC_TUI_SLASH_H
#define TANDEM_SRC_TUI_SLASH_H

#include "engine/base/buffer.h"
#include "src/slash/commands.h"
#include "src/tui/action.h"

typedef struct tui tui;

/* A command while it is carried out: the screen's commands_front.ctx. */
typedef struct {
    tui *t;
    struct buffer said; /* what the command prints */
    tui_action next;    /* the action that follows */
    bool loaded;        /* t->load has the model that the command needs */
    bool quiet;         /* the line that it would print is shown already */
    bool renames;       /* an open list of sessions must be read again */
} tui_slash;

extern slash_function *const tui_slash_own[SLASH_COUNT];

/* Loads another model, after asking the user if needed. prompt: the argument of the /p that needs it; NULL: it was
 * /model. */
void tui_slash_switch_model(tui *t, const char *path, const char *prompt);

#endif
