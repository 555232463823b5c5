#include "ui/readline/stand_in.h"

#include <stddef.h>

static void in_map(Keymap map, stand_in_map *by)
{
    for (int c = 0; c < KEYMAP_SIZE; c++) {
        rl_command_func_t *command = map[c].function, *other = NULL;
        if (map[c].type == ISKMAP && command) in_map((Keymap)command, by);
        if (map[c].type == ISFUNC && command) other = by(command);
        if (other) map[c].function = other;
    }
}

void stand_in_everywhere(stand_in_map *by)
{
    in_map(emacs_standard_keymap, by);
    in_map(vi_insertion_keymap, by);
    in_map(vi_movement_keymap, by);
}

void stand_in_read(int key, stand_in_map *own)
{
    KEYMAP_ENTRY *bound = RL_ISSTATE(RL_STATE_ISEARCH) && key >= 0 ? &rl_get_keymap()[key] : NULL;
    rl_command_func_t *kept = bound && bound->type == ISFUNC ? bound->function : NULL;
    rl_command_func_t *readlines = kept ? own(kept) : NULL;
    if (readlines) bound->function = readlines;
    rl_callback_read_char();
    if (readlines) bound->function = kept;
}
