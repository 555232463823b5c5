/* How readline is set up, draws and completes the line that is typed. */
#ifndef TANDEM_SRC_PLAIN_LINE_H
#define TANDEM_SRC_PLAIN_LINE_H

/* Sets readline up for this program; called once. */
void plain_line_set_up(void);

/* What stands in the line may be a model's or a file's (a draft, the history, a paste): readline draws control
 * characters of one byte as ^X and gives all others raw, so it draws '?' for these. The line itself stays as it is. */
void plain_line_draw(void);

/* Completion for readline: names of commands, prompts, files. */
char **plain_line_complete(const char *text, int start, int end);

#endif
