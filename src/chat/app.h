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

#include "src/chat/attach.h"
#include "src/chat/attach_job.h"
#include "src/chat/ceilings.h"
#include "src/chat/elsewhere.h"
#include "src/chat/figures.h"
#include "src/chat/job.h"
#include "src/chat/load.h"
#include "src/chat/mentions.h"
#include "src/chat/sent.h"
#include "src/cli/options.h"
#include "src/session/keeper.h"
#include "src/session/saver.h"
#include "src/session/store.h"
#include "src/watch/battery.h"
#include "src/watch/pressure.h"

typedef struct app {
    options *o;
    load_pair models;
    tdm_model_info info;
    char *model_path; /* as given; NULL: the built-in model */
    tdm_machine *machine;
    ceilings ceilings; /* of this machine with the model's kernels, as kept or measured */
    tdm_chat *chat; /* NULL before app_start, and after app_leave_model */
    session *left;  /* the conversation between app_leave_model and app_switch_model; NULL: there is none */
    char *system;   /* system prompt; NULL: none */
    size_t system_length;
    char *name; /* of the session; NULL: made of the first words once there are some */
    int64_t created_s;
    bool private;      /* nothing is written */
    uint64_t looked_at; /* the contents of the resumed session while nothing has changed; 0: something has */
    int kept_nodes;    /* messages that were in the session's file when it was opened */
    char *draft;       /* typed and not sent when the program last had to leave; NULL: none */
    bool keeps_attached; /* what is attached is saved with it, as the program has to leave */
    store_place place; /* lock -1: no place yet */
    char unsaved[400]; /* why the last save failed; "": it did not */
    bool state_old;    /* the state file is older than the conversation */
    saver saver;       /* writes it while nobody does anything */
    keeper *keeper;    /* writes the session's file; NULL: no memory for it */
    attachments attached; /* goes before the next message */
    mentions mentions;    /* which of it the words of the draft stand for */
    attach_job *attaching; /* the front end's: reads what is to be attached; NULL: commands do it at once */
    sent_messages sent;
    elsewhere elsewhere;  /* the conversation that was left while it was answered */
    bool compacting;      /* the reply that is being written is a summary (compact.h) */
    bool compact_offered; /* and the user knows that one can be had */
    bool ab;             /* /ab: speculation full and off by turns */
    bool no_turn_line;   /* /stats turn off */
    tdm_turn_stats last; /* of the last turn; enter_ns 0: none */
    int64_t last_glyph_ns;
    figures figures;
    battery battery;
    pressure pressure;
    job remembering;   /* writes the name of the model, for the next start */
    char *remembered;  /* that name, the job's while it runs */
    uint64_t full_budget; /* of the checkpoints, before memory was short; 0: it isn't */
    uint64_t given_back;  /* bytes of checkpoints that went since it is */
    char deleting[40];   /* /delete asked about this session */
    bool deleting_now;   /* and meant for good */
    store_shown shown;   /* the list of sessions that a person saw last */
    store_shown trashed; /* and that of the trash */
} app;

void app_init(app *a, options *o);
/* Takes over the models, also on failure, and the machine; NULL: it is opened now, and the models are brought to its
 * units. notice (room for 400 bytes) gets a line worth telling, or "". */
tdm_status app_start(app *a, const load_pair *models, tdm_machine *machine, char *notice, tdm_error *err);
void app_close(app *a);

/* Bookkeeping for an event; call it for each before showing it: what changes the conversation begins a save. glyph_ns:
 * TDM_EV_END only, when the first character of the reply was on the terminal (0: not measured). */
void app_event(app *a, const tdm_event *e, int64_t glyph_ns);
/* Takes what came of the saves that ended, into a->unsaved: true when one has. */
bool app_saved(app *a);
/* keeper_set_wake, which tells when to ask. */
void app_set_wake(app *a, int fd);
/* Is a save under way? */
bool app_saving(const app *a);
/* Saves what has come of a reply, if that is due; it is not waited for. Call it once what came is shown, and again at
 * the deadline (INT64_MAX: there is none). */
void app_keep(app *a, int64_t now_ns);
int64_t app_keep_deadline(const app *a);
/* Once the program has been idle for half a minute: begins to write the prefilled state. */
void app_idle(app *a);

/* What is typed: the attachments go before it. held: it may be a command, then the attachments alone are read. */
tdm_status app_set_draft(app *a, const char *text, size_t n, bool held, tdm_error *err);
tdm_status app_send(app *a, const char *text, size_t n, int64_t enter_ns, tdm_error *err);
/* Sends it for several answers; text NULL: so many more to the last message, TDM_E_BUSY while a reply is written. */
tdm_status app_answers(app *a, int answers, const char *text, size_t n, int64_t enter_ns, tdm_error *err);
/* Takes back the message that waits for a reply's end, also when its conversation was left meanwhile: its words,
 * malloc'ed; its attachments are pending again. NULL: there is none. */
char *app_unqueue(app *a);
/* The words of that message, without its attachments; NULL: there is none. They live until the next call. */
const char *app_queued(const app *a);
/* Bytes at the beginning of a node's text that were attached. */
size_t app_attached(const app *a, const tdm_node *node);

/* Tokens that are free for the next message with what is attached, by a status of the chat. */
int app_room(const tdm_chat_status *now);

/* Reads ahead as on-battery says, once the machine is on its battery. True: notice (room for 100 bytes) has a line
 * worth telling. Cheap: call it with every event. */
bool app_look_at_battery(app *a, int64_t now_ns, char *notice);
/* Gives checkpoints back while the machine is short of memory, half of them at a time, the least valuable first, and
 * lets them grow again once it is over. Otherwise as app_look_at_battery. */
bool app_look_at_memory(app *a, int64_t now_ns, char *notice);
/* Live options as they are in a->o, into the chat. */
tdm_status app_configure(app *a, tdm_error *err);
tdm_status app_set_system(app *a, const char *text, size_t n, tdm_error *err);
/* Closes chat and model, so that one that takes their memory can be loaded; app_switch_model goes on with the
 * conversation. On failure all is as before: TDM_E_BUSY while a reply is being written, TDM_E_IO where the conversation
 * can't be saved first (a private one is only in memory meanwhile). */
tdm_status app_leave_model(app *a, tdm_error *err);
/* Goes on with another model, which is taken over also on failure; the old one stays then, or as before there is none
 * (app_leave_model). path: as given, copied. */
tdm_status app_switch_model(app *a, const load_pair *models, const char *path, tdm_error *err);

/* Sessions. The one that is open is saved and closed first; where it can't be saved, it stays open (TDM_E_IO: the
 * reason and what can be done). While it is answered it goes elsewhere instead (elsewhere.h; TDM_E_BUSY: it can't), and
 * one that is elsewhere is visited. What is attached stays. wanted: as in store_pick. */
tdm_status app_new(app *a, const char *name, tdm_error *err);
tdm_status app_resume(app *a, const char *wanted, char *notice, tdm_error *err);
/* Saves and closes it, to be followed by another one. */
tdm_status app_close_session(app *a, tdm_error *err);
/* Moves a saved session to the trash, or erases it for good. *open: it is the open one; on success an empty one is
 * there now, on failure all is as before. */
tdm_status app_delete(app *a, const char *id, bool for_good, bool *open, tdm_error *err);
/* Messages of the user that no file has because the session is private: they go with it. */
int app_memory_turns(const app *a);
/* Saves the session and waits for it. */
tdm_status app_save(app *a, tdm_error *err);
/* Waits for what is being saved: for whoever reads the files. */
void app_settle(app *a);
/* Begins a save, which app_saved tells of. What follows of the conversation's changes does so, too. */
void app_begin_save(app *a);
tdm_status app_rename(app *a, const char *name, tdm_error *err);
/* on: what is saved of the session is erased at once; it is private also where that fails. Off never fails. */
tdm_status app_set_private(app *a, bool on, tdm_error *err);
/* The conversation as it is now; free with session_free. */
tdm_status app_snapshot(const app *a, session *out, tdm_error *err);

/* Text that was typed and not sent, as the program has to leave: the session's file keeps it with what is attached,
 * unless the session is private or there is nothing. Takes also what no model has been loaded for. */
void app_keep_draft(app *a, const char *text);
/* What a resumed session has kept so, malloc'ed, for the input to show; NULL: nothing. */
char *app_take_draft(app *a);

#endif
