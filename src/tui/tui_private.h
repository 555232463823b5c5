/* The full-screen front end: the one object that its files share, on one thread (the loader's thread touches only its
 * own struct). Each part owns a struct and has a header; what a part can't do itself it returns as an action
 * (tui_action.h), which the dispatcher does. A file calls only files that stand above it in this list:
 *
 *   tui_action.h    what is to be done             tui_notices.h    lines that come and go
 *   tui_popup.h     pages, lists, questions        tui_browse.h, tui_monitor.h    keys of these modes
 *   tui_attached.h  the list of attachments        tui_hits.h       of what a search found
 *   tui_attach.h    what is attached, read and run
 *   tui_load.h      a model, on its thread         tui_sessions.h   the saved sessions
 *   tui_consent.h   what may be sent to a server   tui_leave.h      who leaves once the reply begins
 *   tui_models.h    the list of models             tui_choose.h     and what it has to know
 *   tui_branches.h, tui_prompts.h    more lists    tui_page.h       what a list shows of itself
 *   tui_figures.h   what the monitor shows         tui_demo.h       the demo, instead of all that
 *   tui_view.h      from all of it to struct view, and a frame
 *   tui_turns.h     the conversation, as shown     tui_outside.h    editor, clipboard, links, suspending
 *   tui_transcript.h  moving in it                 tui_draft.h      the draft: read ahead, sent, taken back
 *   tui_model.h     what a loaded model begins     tui_commands.h   commands and settings of the screen
 *   tui_dispatch.h  does what the others ask for
 *   tui_keys.h      who gets an event              tui.h            opening, the loop, closing
 */
#ifndef TANDEM_SRC_TUI_PRIVATE_H
#define TANDEM_SRC_TUI_PRIVATE_H

#include "src/chat/app.h"
#include "src/chat/ceilings_job.h"
#include "src/chat/units_job.h"
#include "src/tui/tui_attach.h"
#include "src/tui/tui_browse.h"
#include "src/tui/tui_consent.h"
#include "src/tui/tui_draft.h"
#include "src/tui/tui_figures.h"
#include "src/tui/tui_leave.h"
#include "src/tui/tui_load.h"
#include "src/tui/tui_models.h"
#include "src/tui/tui_monitor.h"
#include "src/tui/tui_notices.h"
#include "src/tui/tui_popup.h"
#include "src/tui/tui_sessions.h"
#include "src/tui/tui_turns.h"
#include "src/watch/tui_socket.h"
#include "ui/screen.h"
#include "ui/terminal/decoder.h"
#include "ui/terminal/editor.h"
#include "ui/terminal/ground.h"
#include "ui/terminal/term.h"

#define TUI_MS INT64_C(1000000)
#define TUI_S INT64_C(1000000000)

struct tui {
    options *o;
    app app;
    tdm_chat_status status;       /* of its chat, as of the last frame or later */
    int64_t status_changed_ns;
    int64_t idle_since_ns;
    struct term *term;
    struct screen *screen;
    struct canvas *canvas;
    struct decoder *decoder;
    struct history_file *history;
    struct input *input;
    struct editor *editor;
    tui_socket socket;            /* other programs watch through it */
    int wake[2];                  /* a pipe: signals and the loader */
    bool quit, dirty, urgent;     /* dirty: a frame is due; urgent: at once */
    bool away;                    /* the screen belongs to somebody else: editor, copy view */
    bool copy_view;
    bool mouse;
    int clicked;                  /* the item of a list that was clicked last; -1: none */
    int64_t clicked_ns;
    char search[256];             /* the words of the last search */
    enum ground ground;           /* the terminal's background, as far as it is known */
    int64_t ground_until_ns;      /* so long the first frame waits for the terminal to tell it; 0: it has */
    struct view_options look;
    enum view_theme contrast_told; /* the theme whose contrast was looked at last */
    struct view view;             /* the last frame, or the one that is being put together */
    struct input_view in;
    int64_t frame_ns;
    char model_name[64];
    char elsewhere[ELSEWHERE_STATUS];
    int64_t leave_asked_ns;       /* when leaving was asked about, as a reply is being written elsewhere; 0: never */
    ceilings_job measuring;
    units_job choosing;
    int64_t typed_ns;             /* when the last key came */
    int64_t context_until_ns;     /* so long the state says that the context fills */
    bool context_told;

    tui_turns turns;
    tui_figures figures;
    tui_popup popup;
    tui_notices notices;
    tui_browse browse;
    tui_monitor monitor;
    tui_draft draft;
    tui_sessions sessions;
    tui_load load;
    tui_models models;
    tui_consent consent;
    tui_leave leave;
    tui_saved saved;
    tui_hits hits;
    tui_attached attached;
    tui_attach attach;
    tui_branches branches;
    tui_prompts prompts;
    char edits_prompt[TUI_PROMPTS_NAME]; /* the editor has this one, not the draft; "": none */
    char suggestion[200];         /* which model would suit this machine */
    struct tui_demo *demo;        /* it has screen and keys; NULL: none is shown */
};

#endif
