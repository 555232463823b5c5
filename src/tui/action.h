/* Actions: how a panel asks others to do something. A panel takes an event, changes its own data and returns an action,
 * which tui_dispatch carries out. No panel calls another one. */
#ifndef TANDEM_SRC_TUI_ACTION_H
#define TANDEM_SRC_TUI_ACTION_H

#include <stdint.h>

#include "src/slash/slashes.h"
#include "ui/keys/keys.h"

typedef enum {
    TUI_ACTION_NONE,
    TUI_ACTION_KEY,        /* does what `key` stands for, `count` times */
    TUI_ACTION_COMMAND,    /* the slash command `command`, with `text` and `number` as its argument */
    TUI_ACTION_DELETE,     /* moves the session with the id `text` to the trash; the user has been asked */
    TUI_ACTION_VISIT,      /* opens the session with the id `text` at its message `number`, where a search found it */
    TUI_ACTION_BRANCH,     /* goes to the branch that ends at the message `number` */
    TUI_ACTION_PROMPT,     /* opens the prompt `text` of the library in the user's editor */
    TUI_ACTION_FIND,       /* searches for `text` (NULL: for the words of the last search), upwards if `count` is
                              negative */
    TUI_ACTION_LOOK_AT,    /* shows the text of attachment `number`, from 0 */
    TUI_ACTION_CONSENT,    /* the user's answer to a question of draft/consent.h: `number` 1: it may be sent; 0: not */
    TUI_ACTION_READ_AGAIN, /* reads attachment `number` once more from the disk, or runs its command */
} tui_action_kind;

typedef struct {
    tui_action_kind kind;
    enum key_action key;
    int count;
    slash_id command;
    long number;     /* 0: none */
    int64_t time_ns; /* when Enter was pressed; 0: now */
    char *text;      /* malloc'ed, tui_dispatch frees it; NULL: none */
} tui_action;

tui_action tui_action_key(enum key_action key, int count);
/* argument NULL: none. Without memory the action is TUI_ACTION_NONE. */
tui_action tui_action_command(slash_id command, const char *argument);
tui_action tui_action_number(slash_id command, long number);
tui_action tui_action_delete(const char *id);
tui_action tui_action_visit(const char *id, int node);
tui_action tui_action_branch(int node);
tui_action tui_action_prompt(const char *name);
tui_action tui_action_attachment(tui_action_kind kind, long number);
tui_action tui_action_find(const char *words, int direction);

#endif
