/* A conversation in the program: model, machine, chat, and the saved session behind it. Every front end stands on it.
 *
 *   app_init       no model yet (a front end may draw and take keys)
 *   app_start      with a loaded model: the machine, the chat, the session asked for with --resume
 *   app_event      every event of the chat passes through it: figures, saving
 *   app_close      saves the state, gives the lock back
 *
 * One thread: the front end's. */
#ifndef TANDEM_SRC_APP_H
#define TANDEM_SRC_APP_H

#include "src/ceilings.h"
#include "src/figures.h"
#include "src/keeper.h"
#include "src/load.h"
#include "src/options.h"
#include "src/saver.h"
#include "src/store.h"

typedef struct {
    options *o;
    load_pair models;
    tdm_model_info info;
    char *model_path; /* as given; NULL: the built-in model */
    tdm_machine *machine;
    ceilings ceilings; /* of this machine with the model's kernels, as kept or measured */
    tdm_chat *chat; /* NULL before app_start */
    char *system;   /* system prompt; NULL: none */
    size_t system_length;
    char *name; /* of the session; NULL: made of the first words once there are some */
    int64_t created_s;
    bool private;      /* nothing is written */
    store_place place; /* lock -1: no place yet */
    char unsaved[400]; /* why the last save failed; "": it did not */
    bool state_old;    /* the state file is older than the conversation */
    saver saver;       /* writes it while nobody does anything */
    keeper keeper;     /* saves the reply that is being written */
    char *attached;    /* text that goes before the next message; NULL: none */
    size_t attached_length;
    bool ab;             /* /ab: speculation full and off by turns */
    bool no_turn_line;   /* /stats turn off */
    tdm_turn_stats last; /* of the last turn; enter_ns 0: none */
    int64_t last_glyph_ns;
    figures figures;
    char deleting[40]; /* /delete asked about this session */
} app;

void app_init(app *a, options *o);
/* Takes over the models, also on failure. notice (room for 400 bytes) gets a line worth telling, or "". */
tdm_status app_start(app *a, const load_pair *models, char *notice, tdm_error *err);
void app_close(app *a);

/* Bookkeeping for an event; call it for each before showing it. glyph_ns: TDM_EV_END only, when the first character of
 * the reply was on the terminal (0: not measured). */
void app_event(app *a, const tdm_event *e, int64_t glyph_ns);
/* Saves what has come of a reply, if that is due; it is not waited for. Call it once what came is shown, and again at the
 * deadline (INT64_MAX: there is none). */
void app_keep(app *a, int64_t now_ns);
int64_t app_keep_deadline(const app *a);
/* Once the program has been idle for half a minute: begins to write the prefilled state. */
void app_idle(app *a);

/* What is typed: the attachment goes before it. */
tdm_status app_set_draft(app *a, const char *text, size_t n, bool held, tdm_error *err);
tdm_status app_send(app *a, const char *text, size_t n, int64_t enter_ns, tdm_error *err);

/* Live options as they are in a->o, into the chat. */
tdm_status app_configure(app *a, tdm_error *err);
tdm_status app_set_system(app *a, const char *text, size_t n, tdm_error *err);
/* Goes on with another model, which is taken over also on failure; the old one stays then. path: as given, copied. */
tdm_status app_switch_model(app *a, const load_pair *models, const char *path, tdm_error *err);

/* Sessions. The one that is open is saved and closed first. */
tdm_status app_new(app *a, const char *name, tdm_error *err);
tdm_status app_resume(app *a, const char *wanted, char *notice, tdm_error *err);
tdm_status app_save(app *a, tdm_error *err);
tdm_status app_rename(app *a, const char *name, tdm_error *err);
void app_set_private(app *a, bool on);
/* The conversation as it is now; free with session_free. */
tdm_status app_snapshot(const app *a, session *out, tdm_error *err);

#endif
