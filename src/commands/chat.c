/* `tandem chat`, and `tandem` alone: picks the front end. `tandem demo`: the screen, with the demo on it. */
#include <stdlib.h>
#include <string.h>

#include "src/chat/load.h"
#include "src/cli/subcommands.h"
#include "src/demo/demo_run.h"
#include "src/plain/plain.h"
#include "src/tui/tui.h"

static bool is_command(const char *word)
{
    for (command_id c = 0; c < COMMAND_COUNT; c++)
        if (!strcmp(word, command_table[c].name)) return true;
    return false;
}

int chat_main(options *o)
{
    const char *word = o->n_arguments ? o->arguments[0] : NULL;
    if (word && is_command(word))
        return subcommands_usage(o, "the command comes before its options: 'tandem %s ...'", word);
    if (word) return subcommands_usage(o, "'%s' is not expected; 'tandem run' answers a prompt", word);
    if (tui_possible(o)) return tui_main(o);
    return plain_main(o);
}

/* Before there is a screen: a script that can't be played ends it with a line. */
static bool can_play(const options *o)
{
    tdm_error err = {0};
    script s = {0};
    char *own = demo_run_script();
    const char *path = options_text(o, OPTION_SCRIPT);
    if (!path) path = own;
    bool good = path && !script_read(&s, path, &err) && !demo_run_check(&s, path, &err);
    if (!good) fprintf(stderr, "tandem demo: %s\n", path ? err.text : "the demo is not installed");
    script_free(&s);
    free(own);
    return good;
}

/* Without -m the built-in model, whatever the configuration names. Nothing is saved. */
int demo_main(options *o)
{
    tdm_error err = {0};
    if (o->n_arguments) return subcommands_usage(o, "'%s' is not expected", o->arguments[0]);
    if (!can_play(o)) return 1;
    if (!tui_possible(o)) {
        fputs("tandem demo: it needs a terminal that can hold a screen, as its input and its output\n", stderr);
        return 1;
    }
    bool named = o->values[OPTION_MODEL].origin == FROM_COMMAND_LINE;
    bool set = named || option_set(o, OPTION_MODEL, LOAD_BUILTIN, FROM_COMMAND_LINE, &err);
    if (!set || !option_set(o, OPTION_PRIVATE, "on", FROM_COMMAND_LINE, &err)) return load_failed(&err);
    return tui_main(o);
}
