/* Functions outside the screen: the editor, the clipboard, links, plain text for the terminal's own selection,
 * Ctrl-Z. */
#ifndef TANDEM_SRC_TUI_EXTERNAL_H
#define TANDEM_SRC_TUI_EXTERNAL_H

#include <stddef.h>

typedef struct tui tui;

/* Opens the draft in the user's editor; once editor_fd is readable, tui_external_edited puts it back into the input. */
void tui_external_edit(tui *t);
void tui_external_edited(tui *t);
/* The same with a prompt of the library, which becomes the user's own if it was changed. */
void tui_external_edit_prompt(tui *t, const char *name);
/* Stops the program with its whole job. */
void tui_external_suspend(tui *t);
/* Called when the program goes on after that, or after SIGSTOP, and again while it is in the background of the terminal
 * (term_is_behind). */
void tui_external_continue(tui *t);
/* Copies a text; `what` begins the line that says how it was copied. */
void tui_external_copy(tui *t, const char *what, const char *text, size_t n);
/* Shows the marked turn (browse mode), or the whole conversation, as plain text on the normal screen; the loop
 * continues meanwhile. */
void tui_external_copy_view(tui *t);
void tui_external_copy_view_end(tui *t);
/* Opens or copies an address that comes from a model: only web addresses are opened, everything else is copied; a line
 * shows the address. */
void tui_external_open(tui *t, const char *address);

#endif
