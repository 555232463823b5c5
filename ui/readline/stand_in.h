/* Commands that stand in the keymaps in place of readline's own. */
#ifndef TANDEM_UI_STAND_IN_H
#define TANDEM_UI_STAND_IN_H

#include <stdio.h>
#include <readline/readline.h>

/* A command's other form; NULL: it has none. */
typedef rl_command_func_t *stand_in_map(rl_command_func_t *command);

/* Puts `by` of each command of all keymaps in its place. */
void stand_in_everywhere(stand_in_map *by);

/* rl_callback_read_char() of `key` (-1: of none). A search that goes on with every key looks in the keymap for
 * readline's Backspace, yank and searches, and takes what stands in for them for the search's end: until it has looked,
 * `own` of what is bound to the key stands there. */
void stand_in_read(int key, stand_in_map *own);

#endif
