/* The screen's side of the slash commands: their output and further actions, and the settings of the screen.
 * src/slash/commands.h and slash.h carry the commands out. */
#ifndef TANDEM_SRC_TUI_COMMANDS_H
#define TANDEM_SRC_TUI_COMMANDS_H

#include "src/slash/slashes.h"
#include "src/tui/action.h"

typedef struct tui tui;

/* Runs a command. enter_ns: when Enter was pressed. Returns the action that follows from it. */
tui_action tui_commands_run(tui *t, const slash_call *call, int64_t enter_ns);
/* Completes /model once its model has been loaded. */
void tui_commands_model(tui *t, const char *path);
/* Carries out the work that waited for the user's consent, or drops it. */
tui_action tui_commands_consent(tui *t, bool agreed);
/* Moves the session with that id to the trash; the user has been asked. */
void tui_commands_delete(tui *t, char *id);
/* Opens the session with that id at a message that /search has found; returns the action that follows. */
tui_action tui_commands_visit(tui *t, const char *id, int node);
/* Applies the options of the screen. */
void tui_commands_look(tui *t);
/* Warns once if a theme of the user's own is hard to read; call it when the background is known. */
void tui_commands_contrast(tui *t);
/* Leaves the program; while a conversation is answered in the background, only when asked twice. */
void tui_commands_quit(tui *t);

#endif
