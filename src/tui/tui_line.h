/* A line of text that is typed into a panel: what to search for, a filter, a name. */
#ifndef TANDEM_SRC_TUI_LINE_H
#define TANDEM_SRC_TUI_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/terminal/decoder.h"

/* What an event does to the line, which has `room` bytes and ends with a zero: characters come to its end, Backspace
 * takes the last one, Ctrl-U all; other control characters of a paste are left out. True: Enter was pressed. */
bool tui_line_edit(char *text, size_t room, const struct decoder_event *e);

#endif
