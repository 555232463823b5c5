#include "src/plain/greet.h"

#include "engine/base/memory.h"
#include "src/chat/talk.h"
#include "src/io/output.h"
#include "src/models/family.h"
#include "src/models/load.h"

static void greet_with_model(const app *a)
{
    const tdm_model_info *info = &a->info;
    char cost[400];
    if (!info->on_server) {
        output_note("tandem with %s; nothing you write leaves this computer", info->name);
        return;
    }
    output_note("tandem with %s on %s: what you write goes there%s", info->name, info->path,
                a->open.private ? ", and not to disk" : "");
    if (load_cost_note(&a->models, cost, sizeof cost)) output_note("%s", cost);
}

void plain_greet(const app *a)
{
    store_entry *entries;
    int n;
    greet_with_model(a);
    if (store_list(&entries, &n, NULL)) return;
    if (n)
        output_note("/help lists the commands, /resume continues '%.100s', Ctrl-D leaves", entries[0].name);
    else
        output_note("/help lists the commands, Ctrl-C stops a reply, Ctrl-D leaves");
    char suggestion[200];
    family_suggest(memory_total(), suggestion, sizeof suggestion);
    if (!n && !a->model_path) output_note("%s", suggestion);
    store_list_free(entries, n);
}

/* What was asked for on the command line. */
static bool report(app *a)
{
    char line[FIGURES_END_ROOM];
    tdm_error err;
    tdm_status status = app_report(a, line, &err);
    if (line[0]) output_note("%s", line);
    if (status) output_note("tandem: the trace: %s", err.text);
    return !status;
}

/* Whether the session is saved, if it was to be. */
static bool save(app *a, bool terminal)
{
    tdm_error unheard;
    app_save(a, &unheard); /* once more: there may be room by now */
    bool saved = a->open.slot.lock >= 0 && !a->open.private && !a->open.unsaved[0];
    int gone = app_memory_turns(a);
    if (terminal && gone) output_note("a private session of %d turn%s is gone", gone, gone == 1 ? "" : "s");
    if (a->open.unsaved[0]) output_note("the session could not be saved: %s", a->open.unsaved);
    if (terminal && saved && a->open.name && (a->left || tdm_chat_nodes(a->chat, TDM_FRONT)))
        output_note("saved as '%.200s': tandem --plain --resume continues it", a->open.name);
    return !a->open.unsaved[0];
}

bool plain_goodbye(app *a, bool terminal)
{
    bool saved = save(a, terminal);
    return report(a) && saved;
}
