#include "src/tui/action.h"

#include <stdlib.h>
#include <string.h>

static tui_action with_text(tui_action a, const char *text)
{
    if (text && !(a.text = strdup(text))) a.kind = TUI_ACTION_NONE;
    return a;
}

tui_action tui_action_key(enum key_action key, int count)
{
    return (tui_action){.kind = TUI_ACTION_KEY, .key = key, .count = count};
}

tui_action tui_action_command(slash_id command, const char *argument)
{
    return with_text((tui_action){.kind = TUI_ACTION_COMMAND, .command = command}, argument);
}

tui_action tui_action_number(slash_id command, long number)
{
    return (tui_action){.kind = TUI_ACTION_COMMAND, .command = command, .number = number};
}

tui_action tui_action_delete(const char *id)
{
    return with_text((tui_action){.kind = TUI_ACTION_DELETE}, id);
}

tui_action tui_action_visit(const char *id, int node)
{
    return with_text((tui_action){.kind = TUI_ACTION_VISIT, .number = node}, id);
}

tui_action tui_action_branch(int node)
{
    return (tui_action){.kind = TUI_ACTION_BRANCH, .number = node};
}

tui_action tui_action_prompt(const char *name)
{
    return with_text((tui_action){.kind = TUI_ACTION_PROMPT}, name);
}

tui_action tui_action_attachment(tui_action_kind kind, long number)
{
    return (tui_action){.kind = kind, .number = number};
}

tui_action tui_action_find(const char *words, int direction)
{
    return with_text((tui_action){.kind = TUI_ACTION_FIND, .count = direction}, words);
}
