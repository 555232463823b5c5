/* `tandem chat`, and `tandem` alone: picks the front end. `tandem demo`: the screen, with the demo on it. */
#include <stdlib.h>
#include <string.h>

#include "src/cli/subcommands.h"
#include "src/demo/given.h"
#include "src/demo/run.h"
#include "src/io/output.h"
#include "src/models/load.h"
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
    if (!subcommands_may_write(o, options_text(o, OPTION_TRACE))) return 1;
    if (tui_possible(o)) return tui_main(o);
    return plain_main(o);
}

/* Before there is a screen: a script that can't be played ends it with a line. */
static bool can_play(const options *o)
{
    tdm_error err = {0};
    script s = {0};
    const picture *its;
    tdm_picture *seen;
    bool good =
        !demo_given_picture(o, &its, &seen, &err) && !demo_given_script(&s, options_text(o, OPTION_SCRIPT), seen, &err);
    const char *pair = options_text(o, OPTION_DEMO_PAIR);
    char unit[TDM_UNITS][64];
    if (!good) output_note("tandem demo: %s", err.text);
    if (good && pair && demo_run_pair(pair, unit[0], unit[1], sizeof unit[0], &err)) {
        output_note("tandem demo: %s", err.text);
        good = false;
    }
    script_free(&s);
    tdm_picture_drop(seen);
    return good;
}

/* Without -m the built-in model, whatever the configuration names. Nothing is saved. */
int demo_main(options *o)
{
    tdm_error err = {0};
    if (o->n_arguments) return subcommands_usage(o, "'%s' is not expected", o->arguments[0]);
    if (!subcommands_may_write(o, options_text(o, OPTION_TRACE)) || !can_play(o)) return 1;
    if (!tui_possible(o)) {
        output_note("tandem demo: it needs a terminal that can hold a screen, as its input and its output");
        return 1;
    }
    bool named = o->values[OPTION_MODEL].origin == FROM_COMMAND_LINE;
    bool set = named || option_set(o, OPTION_MODEL, LOAD_BUILTIN, FROM_COMMAND_LINE, &err);
    if (!set || !option_set(o, OPTION_PRIVATE, "on", FROM_COMMAND_LINE, &err)) return load_failed(&err);
    return tui_main(o);
}
