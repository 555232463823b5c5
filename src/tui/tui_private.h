/* The full-screen front end, as its files share it. One object, one thread (the loader's thread touches only what
 * tui_load.c says); everything on the screen is in here or in what the app holds.
 *
 *   tui.c           opening, the loop, closing          tui_keys.c        who gets an event
 *   tui_load.c      the model, on a thread of its own   tui_draft.c       the draft: read ahead, sent, taken back
 *   tui_turns.c     the conversation as it is shown     tui_transcript.c  moving in it, and what is done to one turn
 *   tui_view.c      from all of it to struct view       tui_sessions.c    the saved sessions
 *   tui_figures.c   what the monitor shows              tui_commands.c    commands and settings of the screen
 *   tui_demo.c      a conversation that types itself    tui_outside.c     editor, clipboard, links, suspending
 *   tui_dispatch.c  does what the others ask for
 *
 * Panels have headers of their own and know nothing of this one: tui_popup.h (pages, lists, questions, prompts),
 * tui_browse.h, tui_monitor.h and tui_notices.h. They return actions (tui_action.h); so do a command and the draft.
 */
#ifndef TANDEM_SRC_TUI_PRIVATE_H
#define TANDEM_SRC_TUI_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/buffer.h"
#include "src/chat/app.h"
#include "src/chat/commands.h"
#include "src/tui/tui_browse.h"
#include "src/tui/tui_monitor.h"
#include "src/tui/tui_notices.h"
#include "src/tui/tui_popup.h"
#include "src/watch/sensing.h"
#include "src/watch/tui_socket.h"
#include "ui/edit/input.h"
#include "ui/edit/input_rules.h"
#include "ui/screen.h"
#include "ui/terminal/decoder.h"
#include "ui/terminal/editor.h"
#include "ui/terminal/term.h"

#define TUI_MS INT64_C(1000000)
#define TUI_S INT64_C(1000000000)

enum {
    TUI_FRAME_MS = 33,    /* between frames while text streams; a key and the first glyph are drawn at once */
    TUI_SPANS = 8192,     /* of a unit, as many as the engine keeps */
    TUI_HISTORY_S = 60,
    TUI_ENTERS = 32,
    TUI_MONITOR_TURNS = 64,
};

/* ---- The conversation as it is shown --------------------------------------------------------------------------- */

typedef struct {
    int node; /* of the chat */
    struct buffer text, thinking;
    int64_t enter_ns;    /* the reply's clock */
    int64_t glyph_ns;    /* its first character was on the terminal; 0: not yet, or from a file */
    int64_t thought_ns, answer_ns;
    struct view_turn v;  /* text pointers are set for each frame */
} tui_turn;

typedef struct {
    tui_turn *turns;
    size_t n, room;
    struct view_turn *shown; /* room for all of them */
    uint32_t conversation;   /* raised by /new, /resume ...: nodes are numbered anew then */
    int replying;            /* the node that streams; 0: none */
    struct view_ttft ttft;   /* of the running turn, once its reply has begun, else of the last one */
    double tok_s;            /* decode rate of the last reply, of the same turn as ttft; 0: none */
    int after_enter;         /* tokens that it read after Enter */
    int64_t enter_ns;        /* the running turn's clock */
    int64_t cut_ns;          /* the send-now key of the turn that follows; 0: it follows by itself */
    bool waits_for_glyph;
    bool just_sent;          /* with nothing left to read, and not drawn since */
} tui_turns;

/* ---- Loading --------------------------------------------------------------------------------------------------- */

typedef enum { TUI_LOAD_NONE, TUI_LOAD_RUNNING, TUI_LOAD_DONE, TUI_LOAD_FAILED } tui_load_state;

typedef struct {
    tui_load_state state; /* the front end's view of it */
    pthread_t thread;
    int wake;             /* descriptor that the thread writes to when it is done */
    const options *o;
    char *path;           /* NULL: the built-in model */
    bool switching;       /* /model: an app is there already */
    atomic_bool cancel, packing, done;
    atomic_uint_fast64_t done_bytes, total_bytes;
    load_pair models;     /* the thread's result */
    tdm_error err;
} tui_load;

/* ---- Figures --------------------------------------------------------------------------------------------------- */

typedef struct {
    struct view_span spans[TDM_UNITS][TUI_SPANS];
    size_t n_spans[TDM_UNITS];
    tdm_unit_info unit[TDM_UNITS];
    uint8_t history[TDM_UNITS][TUI_HISTORY_S];
    uint64_t busy_ns[TDM_UNITS]; /* totals at the last second */
    int64_t second_ns;           /* when the last value of the histories was taken */
    int64_t sampled_ns;
    struct view_enter enters[TUI_ENTERS];
    size_t n_enters;
    struct view_monitor_turn turns[TUI_MONITOR_TURNS];
    size_t n_turns;
    int seen_turns;      /* since the program began */
    sensing sensing;
    uint32_t base;       /* the follower's target when the reply began */
    int64_t first_key_ns, turn_start_ns, turn_end_ns;
} tui_figures;

/* ---- All of it ------------------------------------------------------------------------------------------------- */

struct tui_demo;

typedef struct tui {
    options *o;
    app app;
    tui_load load;
    struct term *term;
    struct screen *screen;
    struct canvas *canvas;
    struct decoder *decoder;
    struct history_file *history;
    struct input *input;
    struct editor *editor;
    tui_socket socket; /* other programs watch through it */
    int wake[2]; /* a pipe: signals and the loader */
    bool quit, dirty, urgent;
    int64_t frame_ns;
    bool away;      /* the screen belongs to somebody else: editor, copy view */
    bool copy_view;

    tui_turns turns;
    tui_figures figures;
    tui_popup popup;
    tui_notices notices;
    struct view view;
    struct input_view in;
    tdm_chat_status status;
    int64_t status_changed_ns;

    char *queued;        /* the message that waits for the reply's end */
    int64_t queued_ns;
    char *waiting;       /* sent before the model was there */
    int64_t waiting_ns;
    char *told;          /* the draft that the chat knows */
    bool told_held;
    int editing;         /* number of the turn that is written anew; 0: none */
    char *before_edit;
    enum view_state ended; /* STOPPED, LENGTH, FULL until the next turn; IDLE: none */
    bool context_told;
    int64_t context_until_ns;
    int64_t answered_until_ns;
    struct input_presses presses;
    tui_browse browse;
    tui_monitor monitor;
    char search[256];
    bool mouse;
    struct view_options look;
    store_entry *sessions;
    int n_sessions;
    struct view_session card[3];
    struct view_attachment *attached; /* those of the app, for the view */
    char card_dates[3][24];
    struct tui_demo *demo;
    int64_t idle_since_ns;
    char model_name[64];
    char failure[400];   /* why there is no model */
} tui;

/* tui.c */
void tui_quit(tui *t);
void tui_notice_add(tui *t, enum view_notice_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Draws and shows a frame now. */
void tui_draw(tui *t);
/* Works on what is in the input's queue. */
void tui_input(tui *t);
/* Puts the draft that a resumed session has kept before what stands in the input. */
void tui_take_draft(tui *t);

/* tui_load.c */
bool tui_load_begin(tui *t, const char *path, bool switching);
/* After the thread has ended: takes its result over. */
void tui_load_end(tui *t);
void tui_load_cancel(tui *t); /* and waits for it */

/* tui_turns.c */
void tui_turns_sync(tui *t);   /* after anything that changes the path */
void tui_turns_fresh(tui *t);  /* the nodes are numbered anew */
void tui_turns_event(tui *t, const tdm_event *e);
void tui_turns_events(tui *t); /* all that are there */
void tui_turns_free(tui_turns *turns);
/* The turn with that id (0: the last reply), or NULL. */
tui_turn *tui_turns_find(tui *t, uint64_t id);
/* Tokens a second of the reply that is being written, else of the last one; 0: none. */
double tui_turns_tok_s(const tui *t);
/* A message of ours is on its way. */
void tui_turns_sent(tui *t, int64_t enter_ns);

/* tui_view.c */
enum { TUI_TIPS = 3 };
extern const char *const tui_tips[TUI_TIPS]; /* of the first run */
void tui_view_fill(tui *t, int64_t now_ns);
/* The view with the turns as they are now: between two frames they may have moved in memory. */
struct view *tui_view_turns(tui *t);
void tui_view_name_model(tui *t);

/* tui_figures.c */
void tui_figures_fill(tui *t, int64_t now_ns);
void tui_figures_enter(tui *t, int64_t enter_ns);
void tui_figures_glyph(tui *t, double ttft_ms);
void tui_figures_turn(tui *t, const struct view_ttft *ttft, int64_t end_ns);
/* When the sensors are to be read again. */
int64_t tui_figures_deadline(const tui *t, int64_t now_ns);
void tui_figures_free(tui_figures *f);

/* tui_draft.c */
/* What follows from an action of the input comes back. */
tui_action tui_draft_act(tui *t, const struct input_action *a);
/* Tells the chat about the draft if it has changed. */
void tui_draft_tell(tui *t);
bool tui_draft_send(tui *t, const char *text, size_t n, int64_t enter_ns);
void tui_draft_send_now(tui *t, int64_t now_ns);
void tui_draft_leave_editing(tui *t);

/* tui_keys.c */
void tui_keys_event(tui *t, const struct decoder_event *e);
enum view_form tui_keys_drawn_form(const tui *t);
/* The full-screen monitor has the keys: it is drawn, and has not been left since. */
bool tui_keys_in_monitor(const tui *t);

/* tui_transcript.c */
/* Scrolls, copies, opens ...: what a key does to the transcript, n times. What follows from it comes back. */
tui_action tui_transcript_act(tui *t, enum key_action action, int n);
/* words NULL: those of the last search. A negative direction searches up. */
void tui_transcript_find(tui *t, const char *words, int direction);

/* tui_sessions.c */
/* Reads the list of the saved sessions as they are now. */
tdm_status tui_sessions_read(tui *t, tdm_error *err);
void tui_sessions_show(tui *t); /* in a popup */
void tui_sessions_delete(tui *t, char *id);

/* tui_dispatch.c */
/* Does an action and what follows from it, and frees it. */
void tui_act(tui *t, tui_action a);

/* tui_commands.c */
void tui_look(tui *t); /* takes the options of the screen over */
/* What follows from the command comes back. */
tui_action tui_command(tui *t, const slash_call *call, int64_t enter_ns);
/* /model, once its model has been loaded. */
void tui_command_model(tui *t, const char *path);

/* tui_outside.c */
void tui_outside_edit(tui *t);
void tui_outside_edited(tui *t);
void tui_outside_suspend(tui *t);
/* `what` stands before the line that says how it was copied. */
void tui_outside_copy(tui *t, const char *what, const char *text, size_t n);
void tui_outside_copy_view(tui *t);
void tui_outside_copy_view_end(tui *t);
void tui_outside_open(tui *t, const char *address);

/* tui_demo.c */
bool tui_demo_begin(tui *t, const char *path);
void tui_demo_end(tui *t);
int64_t tui_demo_deadline(const tui *t); /* INT64_MAX: nothing to do by itself */
void tui_demo_step(tui *t, int64_t now_ns);
void tui_demo_event(tui *t, const tdm_event *e);

/* A string that replaces *at; NULL without memory. */
void tui_set(char **at, const char *text);

#endif
