/* A conversation in the program: model, machine, chat, and its saved session. Every front end is built on it.
 *
 *   app_init       no model yet (a front end may draw and take keys)
 *   app_start      with a loaded model: opens the machine, the chat, and the session that --resume names
 *   app_event      takes every event of the chat: figures, saving
 *   app_close      saves the state, releases the session's lock
 *
 * A front end uses the conversation through talk.h, which also works while there is none. One thread: the front end's.
 */
#ifndef TANDEM_SRC_APP_H
#define TANDEM_SRC_APP_H

#include "src/attach/attach.h"
#include "src/attach/job.h"
#include "src/attach/mentions.h"
#include "src/chat/background.h"
#include "src/chat/open_session.h"
#include "src/cli/options.h"
#include "src/figures/figures.h"
#include "src/figures/trace.h"
#include "src/models/ceilings.h"
#include "src/models/load.h"
#include "src/process/task.h"
#include "src/session/session_writer.h"
#include "src/session/state_writer.h"
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
    tdm_chat *chat;    /* NULL before app_start, and after app_leave_model */
    session *left;     /* the conversation between app_leave_model and app_switch_model; NULL: there is none */
    open_session open; /* the session of the conversation in front */
    background background;     /* the conversation that was left while it was answered */
    state_writer state_writer; /* writes the state file while the program is idle */
    char *draft;       /* text that was typed and not sent when the program last had to leave; NULL: none */
    struct {
        attachments files; /* go before the next message */
        mentions mentions; /* the words of the draft that name some of them */
        attach_job *job;   /* the front end's: reads attachments; NULL: commands read them at once */
        bool kept;         /* they are saved with the draft, since the program has to leave */
    } attach;
    struct {
        bool running;    /* the reply that is being written is a summary (compact.h), no part of the conversation */
        bool ended;      /* the reply that ended last was a summary */
        const char *said; /* a line for the user about it; NULL: none */
        bool offered;    /* the user was told that a summary can be made */
        int nodes, leaf; /* nodes and leaf of the conversation without the summary */
        int summed;      /* turns that the drafted summary replaces; 0: none was drafted */
    } compact;
    bool ab;           /* /ab: speculation alternates between full and off */
    bool no_turn_line; /* /stats turn off */
    struct {
        tdm_turn_stats stats; /* enter_ns 0: none */
        int64_t glyph_ns;
    } last; /* turn */
    figures figures;
    trace *trace; /* --trace; NULL: not asked for */
    battery battery;
    struct {
        pressure pressure;
        uint64_t full_budget; /* budget of checkpoints before memory became short; 0: memory is not short */
        uint64_t given_back;  /* bytes of checkpoints that were dropped since */
    } memory;
    struct {
        task task;  /* writes the name of the model, for the next start */
        char *name; /* belongs to the task while it runs */
    } remembering;
    struct {
        char id[40];   /* /delete asked about this session */
        bool for_good; /* to be erased, not moved to the trash */
    } deleting;
    struct {
        store_listing sessions, trash;
    } listed; /* the lists that the user saw last, in their order */
} app;

void app_init(app *a, options *o);
/* Takes over the models, also on failure, and the machine; machine NULL: it is opened now, and the models are brought
 * to its units. notice (room for 400 bytes) gets a line for the user, or "". */
tdm_status app_start(app *a, const load_pair *models, tdm_machine *machine, char *notice, tdm_error *err);
void app_close(app *a);

/* For --trace: call it at least once a second while a unit may work. */
void app_collect(app *a);
/* Before app_close: writes the file of --trace; *line gets the line of -v, or "". */
tdm_status app_report(app *a, char line[FIGURES_END_ROOM], tdm_error *err);

/* Bookkeeping for an event; call it for each event before showing it. An event that changes the conversation begins a
 * save. glyph_ns:
 * for TDM_EV_END: the time at which the first character of the reply was on the terminal; 0: not measured. */
void app_event(app *a, const tdm_event *e, int64_t glyph_ns);
/* Takes the results of saves that have ended, into a->open.unsaved; true if one has ended. */
bool app_saved(app *a);
/* Sets the descriptor that is written to when app_saved should be called (session_writer_set_wake). */
void app_set_wake(app *a, int fd);
/* Is a save under way? */
bool app_saving(const app *a);
/* Begins to save the reply's text so far, if that is due. Call it once the text is shown, and again at the deadline
 * (INT64_MAX: there is none). */
void app_keep(app *a, int64_t now_ns);
int64_t app_keep_deadline(const app *a);
/* Once the program has been idle for half a minute: begins to write the prefilled state. */
void app_idle(app *a);

/* Sets the draft, which follows the attachments. held: it may be a command, so only the attachments are read ahead. */
tdm_status app_set_draft(app *a, const char *text, size_t n, bool held, tdm_error *err);
tdm_status app_send(app *a, const char *text, size_t n, int64_t enter_ns, tdm_error *err);
/* Sends a message that gets several answers; text NULL: this many more answers to the last message, TDM_E_BUSY while a
 * reply is written. */
tdm_status app_answers(app *a, int answers, const char *text, size_t n, int64_t enter_ns, tdm_error *err);
/* Takes back the queued message, also if its conversation was left meanwhile: its words, malloc'ed; its attachments are
 * pending again. NULL: there is none. */
char *app_unqueue(app *a);
/* The words of that message, without its attachments; NULL: there is none. They live until the next call. */
const char *app_queued(const app *a);
/* Bytes at the beginning of a node's text that were attached. */
size_t app_attached(const app *a, const tdm_node *node);
/* app_attach_shown attaches the pictures of a message that is edited; app_edited removes those that were not sent. */
void app_attach_shown(app *a, const tdm_node *node);
void app_edited(app *a);

/* Tokens that are free for the next message and its attachments, by a status of the chat. */
int app_room(const tdm_chat_status *now);
/* By the present one. */
int app_room_now(const app *a);

/* Limits reading ahead as --on-battery says while the machine runs on its battery. True: notice (room for 100 bytes)
 * has a line for the user. Cheap: call it with every event. */
bool app_look_at_battery(app *a, int64_t now_ns, char *notice);
/* Frees checkpoints while the machine is short of memory, half of them at a time, the least valuable first, and lets
 * them grow again afterwards. True and notice: as for app_look_at_battery. */
bool app_look_at_memory(app *a, int64_t now_ns, char *notice);
/* Gives the live options in a->o to the chat. */
tdm_status app_configure(app *a, tdm_error *err);
tdm_status app_set_system(app *a, const char *text, size_t n, tdm_error *err);
enum { APP_MODEL_NAME = 256 }; /* bytes for a model's name in a notice, its NUL among them */

/* Closes chat and model to free their memory for another model, with which app_switch_model continues the conversation.
 * name: what the model was called, cut to whole characters; a->info is zero afterwards. On failure nothing has changed:
 * TDM_E_BUSY while a reply is being written, TDM_E_IO if the conversation can't be saved first (a private one is only
 * in memory meanwhile). */
tdm_status app_leave_model(app *a, char name[APP_MODEL_NAME], tdm_error *err);
/* Continues with another model, which it takes over also on failure; then the old one stays, or there is still none
 * (after app_leave_model). path: as given, copied. */
tdm_status app_switch_model(app *a, const load_pair *models, const char *path, tdm_error *err);

/* Sessions. The one that is open is saved and closed first; if it can't be saved, it stays open (TDM_E_IO: the reason
 * and a remedy). While it is being answered it goes to the background instead (background.h; TDM_E_BUSY: it can't).
 * app_resume of the session in the background visits it. Attachments stay. wanted: as in store_pick. */
tdm_status app_new(app *a, const char *name, tdm_error *err);
tdm_status app_resume(app *a, const char *wanted, char *notice, tdm_error *err);
/* Saves and closes the open session, before another one is opened. */
tdm_status app_close_session(app *a, tdm_error *err);
/* Moves a saved session to the trash, or erases it for good. *open: it is the open session; on success an empty
 * one replaces it, on failure nothing changes. */
tdm_status app_delete(app *a, const char *id, bool for_good, bool *open, tdm_error *err);
/* The number of messages in memory alone because the session is private: they are lost with it. */
int app_memory_turns(const app *a);
/* Saves the session and waits for it. */
tdm_status app_save(app *a, tdm_error *err);
/* Waits for saves under way, before the files are read. */
void app_settle(app *a);
/* Begins a save; app_saved takes its result. Later changes of the conversation begin saves, too. */
void app_begin_save(app *a);
tdm_status app_rename(app *a, const char *name, tdm_error *err);
/* Call it when `private` has changed: private text must not get to the disk by a core dump, of this program or of
 * programs that it starts, nor be read by another process of the user. It also updates the option, which the code that
 * loads models reads. */
void app_mind_privacy(app *a);
/* on: erases the session's files at once; the session is private even if that fails. Off never fails. */
tdm_status app_set_private(app *a, bool on, tdm_error *err);
/* The conversation as it is now; free with session_free. */
tdm_status app_snapshot(const app *a, session *out, tdm_error *err);

/* Keeps text that was typed and not sent when the program has to leave: the session's file stores it with the
 * attachments, unless the session is private or both are empty. Works also before a model is loaded. False: no memory
 * for the text. */
bool app_keep_draft(app *a, const char *text);
/* The text that a resumed session kept in this way, malloc'ed, for the input line; NULL: none. */
char *app_take_draft(app *a);

#endif
