/* `tandem chat`, and `tandem` alone: picks the front end. `tandem demo` is a chat with the prepared script. */
#include <stdlib.h>

#include "src/chat/play.h"
#include "src/cli/subcommands.h"
#include "src/plain/plain.h"
#include "src/tui/tui.h"

int chat_main(options *o)
{
    if (o->n_arguments)
        return subcommands_usage(o, "'%s' is not expected; 'tandem run' answers a prompt", o->arguments[0]);
    if (tui_possible(o)) return tui_main(o);
    return options_given(o, OPTION_SCRIPT) ? play_main(o) : plain_main(o);
}

int demo_main(options *o)
{
    tdm_error err = {0};
    if (o->n_arguments) return subcommands_usage(o, "'%s' is not expected", o->arguments[0]);
    if (!options_given(o, OPTION_SCRIPT)) {
        char *path = tui_demo_script();
        bool set = path && option_set(o, OPTION_SCRIPT, path, FROM_COMMAND_LINE, &err);
        free(path);
        if (!set) {
            fprintf(stderr, "tandem: the demo is not installed\n");
            return 1;
        }
    }
    return chat_main(o);
}
