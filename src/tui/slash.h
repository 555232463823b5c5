/* What the full screen does for a slash command by functions of its own: in place of what is done to the conversation,
 * or before and after it. The rows of src/slash/slashes.h name them. */
#ifndef TANDEM_SRC_TUI_SLASH_H
#define TANDEM_SRC_TUI_SLASH_H

#include "engine/base/buffer.h"
#include "src/slash/commands.h"
#include "src/tui/action.h"

typedef struct tui tui;

/* A command while it is carried out: what commands_front.ctx is on the screen. */
typedef struct {
    tui *t;
    struct buffer said; /* what the command prints */
    tui_action next;    /* the action that follows */
    bool loaded;        /* t->load has the model that the command asks for */
    bool quiet;         /* the line that it would print is shown already */
    bool renames;       /* an open list of sessions has to be shown anew */
} tui_slash;

extern slash_function *const tui_slash_own[SLASH_COUNT];

/* Loads another model, after asking the user if needed. prompt: the argument of the /p that goes on with it; NULL: it
 * was /model. */
void tui_slash_switch_model(tui *t, const char *path, const char *prompt);

#endif
