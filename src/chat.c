/* `tandem chat`, and `tandem` alone: picks the front end. */
#include "src/mains.h"
#include "src/plain.h"
#include "src/play.h"
#include "src/tui.h"

int chat_main(options *o)
{
    if (o->n_arguments) return mains_usage(o, "'%s' is not expected; 'tandem run' answers a prompt", o->arguments[0]);
    if (tui_possible(o)) return tui_main(o);
    return options_given(o, OPTION_SCRIPT) ? play_main(o) : plain_main(o);
}
