/* Readline's commands for characters, as commands for grapheme clusters (ui/unicode/cluster.h): readline's own commands
 * work on characters of the C library, of which an emoji sequence has up to ten. Both front ends replace them by
 * these. */
#ifndef TANDEM_UI_CLUSTERS_H
#define TANDEM_UI_CLUSTERS_H

#include <stdio.h>
#include <readline/readline.h>

int clusters_forward(int count, int key);
int clusters_backward(int count, int key);
int clusters_rubout(int count, int key);
int clusters_delete(int count, int key);

/* The replacement of a command of readline; and the command that a replacement replaces (ui/readline/stand_in.h). */
rl_command_func_t *clusters_stand_in(rl_command_func_t *of);
rl_command_func_t *clusters_own(rl_command_func_t *by);

/* After each command: vi's cursor stands on a whole cluster, not on the last code point of one. */
void clusters_settle(void);

#endif
