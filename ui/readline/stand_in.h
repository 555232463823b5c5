/* Commands that replace readline's own in the keymaps. */
#ifndef TANDEM_UI_STAND_IN_H
#define TANDEM_UI_STAND_IN_H

#include <stdio.h>
#include <readline/readline.h>

/* A function from a command to its replacement, or back; NULL: there is none. */
typedef rl_command_func_t *stand_in_map(rl_command_func_t *command);

/* Replaces each command of all keymaps by its `by`. */
void stand_in_everywhere(stand_in_map *by);

/* Calls rl_callback_read_char() for `key` (-1: none). An incremental search looks in the keymap for readline's own
 * Backspace, yank and searches, and a replacement would end the search: so during the call the key's binding is its
 * `own`. */
void stand_in_read(int key, stand_in_map *own);

#endif
