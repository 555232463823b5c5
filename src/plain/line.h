/* Sets readline up, draws and completes the line, and attaches files whose names are dropped into it. */
#ifndef TANDEM_SRC_PLAIN_LINE_H
#define TANDEM_SRC_PLAIN_LINE_H

#include "src/chat/app.h"

/* Sets readline up for this program; called once. */
void plain_line_set_up(void);

/* Draws the line for readline. Its text may come from a model or a file (a draft, the history, a paste), and readline
 * writes control characters of several bytes raw; here they are drawn as '?'. The line itself does not change. */
void plain_line_draw(void);

/* Completion for readline: names of commands, prompts, files. */
char **plain_line_complete(const char *text, int start, int end);

/* For a line that was pasted or dropped and consists of names of files: attaches them, or prints why not. False: it is
 * a text. */
bool plain_line_attach(app *a, const char *text);

#endif
