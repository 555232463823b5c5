/* What leaves the screen: the editor, the clipboard, links, plain text for the terminal's own selection, Ctrl-Z. */
#ifndef TANDEM_SRC_TUI_OUTSIDE_H
#define TANDEM_SRC_TUI_OUTSIDE_H

#include <stddef.h>

typedef struct tui tui;

/* Opens the draft in the user's editor; once editor_fd is readable, tui_outside_edited puts it back into the input. */
void tui_outside_edit(tui *t);
void tui_outside_edited(tui *t);
/* The same with a prompt of the library, which is the user's own afterwards, if anything was changed. */
void tui_outside_edit_prompt(tui *t, const char *name);
void tui_outside_suspend(tui *t);
/* `what` stands before the line that says how it was copied. */
void tui_outside_copy(tui *t, const char *what, const char *text, size_t n);
/* In browse mode the marked turn, else all of it, as plain text on the normal screen; the loop goes on behind it. */
void tui_outside_copy_view(tui *t);
void tui_outside_copy_view_end(tui *t);
/* The address comes from a model: only web addresses are opened, everything else is copied, and it is shown which. */
void tui_outside_open(tui *t, const char *address);

#endif
