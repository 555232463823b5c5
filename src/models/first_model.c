#include "src/models/first_model.h"

#include <stdlib.h>

#include "engine/model/locate.h"
#include "src/files/recent.h"
#include "src/hub/environment.h"
#include "src/models/load.h"

/* The last one, where it is still there. */
static void take_last(options *o, char *note, size_t room)
{
    tdm_error err = {0};
    char *path = NULL, *last = recent_last();
    if (last && !load_is_builtin(last)) {
        if (locate_model(&path, last, hub_caches(), &err))
            snprintf(note, room, "the last model, %s, is gone: the built-in one talks", last);
        else
            option_set(o, OPTION_MODEL, last, FROM_FILE, &err);
    }
    free(path);
    free(last);
}

/* A user who asks one question may not know which model is meant without being named. An empty name is refused when it
 * is to be loaded. */
static void say_unnamed(options *o, char *note, size_t room)
{
    const char *model = options_text(o, OPTION_MODEL);
    if (load_is_builtin(model) || !model[0] || o->values[OPTION_MODEL].origin == FROM_COMMAND_LINE) return;
    if (!load_is_remote(o, model)) {
        snprintf(note, room, "%s answers; -m names another model", model);
        return;
    }
    snprintf(note, room, "%s is on a server, which has to be named with -m: the built-in one answers", model);
    option_set(o, OPTION_MODEL, LOAD_BUILTIN, FROM_FILE, NULL);
}

void first_model(options *o, char *note, size_t room)
{
    bool once = o->command == COMMAND_RUN && !options_given(o, OPTION_SCRIPT);
    note[0] = 0;
    if (o->command != COMMAND_CHAT && !once) return;
    /* --prefill-model is another form of a model that is named with it. */
    if (!options_given(o, OPTION_MODEL) && !options_given(o, OPTION_PREFILL_MODEL)) take_last(o, note, room);
    if (once && !note[0]) say_unnamed(o, note, room);
}
