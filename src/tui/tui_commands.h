/* The screen's side of the slash commands: what they print, the commands and settings that only a screen has. What they
 * do to the conversation is in src/chat/commands.h. */
#ifndef TANDEM_SRC_TUI_COMMANDS_H
#define TANDEM_SRC_TUI_COMMANDS_H

#include "src/cli/slashes.h"
#include "src/tui/tui_action.h"

typedef struct tui tui;

/* Runs a command. enter_ns: when Enter was pressed. What follows from it comes back. */
tui_action tui_commands_run(tui *t, const slash_call *call, int64_t enter_ns);
/* /model, once its model has been loaded. */
void tui_commands_model(tui *t, const char *path);
/* What waited for the user's consent goes on, or does not. */
tui_action tui_commands_consent(tui *t, bool agreed);
/* Moves the session with that id to the trash; the user has been asked. */
void tui_commands_delete(tui *t, char *id);
/* Opens the session with that id at a message that /search has found; what follows comes back. */
tui_action tui_commands_visit(tui *t, const char *id, int node);
/* Takes the options of the screen over. */
void tui_commands_look(tui *t);
/* Says once of a theme of the user's own that it is hard to read; call it when the background is known. */
void tui_commands_contrast(tui *t);
/* Leaves; once more is needed while a conversation is answered elsewhere. */
void tui_commands_quit(tui *t);

#endif
