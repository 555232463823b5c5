/* The full-screen front end: the one object that its files share, on one thread (the loader's thread touches only its
 * own struct). Each part owns a struct and has a header; for work of other parts it returns an action (action.h), which
 * the dispatcher carries out. A file calls only files above it in this list:
 *
 *   action                           actions
 *   frame/notices                    temporary lines
 *   frame/pictures                   the way in which pictures are shown
 *   load                             a model, on its thread
 *   pull                             a model that is fetched
 *   lists/list                       a list, which a table describes
 *   draft/attach                     attachments, and reading and running them
 *   lists/palette                    completions of a line
 *   frame/figures                    the figures of the monitor
 *   lists/popup                      pages, lists, questions
 *   leave                            a command that waits until the reply begins
 *   lists/browse, frame/monitor      keys of these modes
 *   lists/attached, lists/results    the lists of attachments, of search results
 *   lists/models, lists/models_view  the list of models
 *   lists/prompts, lists/branches    the prompts of the library, the branches of the conversation
 *   lists/saved, lists/sessions      the saved sessions
 *   draft/consent                    consent to send data to a server
 *   external                         editor, clipboard, links, suspending
 *   choose                           the list of models joined to the conversation
 *   frame/demo                       the demo, in place of all that
 *   frame/view                       from all of it to struct view, and a frame
 *   draft/turns                      the conversation, as shown
 *   draft/transcript                 moving in it
 *   draft/draft                      the draft: read ahead, sent, taken back
 *   slash                            the screen's own functions for commands
 *   commands                         commands and settings of the screen
 *   model                            a loaded model becomes the chat's
 *   dispatch                         carries out actions
 *   keys                             which part gets an event
 *   tui                              opening, the loop, closing
 */
#ifndef TANDEM_SRC_TUI_PRIVATE_H
#define TANDEM_SRC_TUI_PRIVATE_H

#include "src/chat/talk.h"
#include "src/models/ceilings_job.h"
#include "src/models/units_job.h"
#include "src/tui/draft/attach.h"
#include "src/tui/draft/consent.h"
#include "src/tui/draft/draft.h"
#include "src/tui/draft/turns.h"
#include "src/tui/frame/figures.h"
#include "src/tui/frame/monitor.h"
#include "src/tui/frame/notices.h"
#include "src/tui/frame/pictures.h"
#include "src/tui/leave.h"
#include "src/tui/lists/attached.h"
#include "src/tui/lists/branches.h"
#include "src/tui/draft/transcript.h"
#include "src/tui/lists/results.h"
#include "src/tui/lists/models.h"
#include "src/tui/lists/palette.h"
#include "src/tui/lists/popup.h"
#include "src/tui/lists/prompts.h"
#include "src/tui/lists/saved.h"
#include "src/tui/lists/sessions.h"
#include "src/tui/load.h"
#include "src/watch/power_meter.h"
#include "src/watch/tui_socket.h"
#include "ui/keys/decoder.h"
#include "ui/screen.h"
#include "ui/terminal/editor.h"
#include "ui/terminal/ground.h"
#include "ui/terminal/term.h"

#define TUI_MS INT64_C(1000000)
#define TUI_S INT64_C(1000000000)

struct tui {
    options *o;
    app app;
    int wake[2]; /* a pipe: signals and the loader */
    bool quit;
    struct {
        tdm_chat_status status; /* of the chat, as of the last frame or later */
        int64_t status_changed_ns, idle_since_ns;
        int64_t context_until_ns; /* until then the state says that the context fills */
        bool context_told;
        char model_name[64], background[BACKGROUND_STATUS];
        char suggestion[200]; /* a model that suits this machine */
    } known;                  /* of the conversation */
    struct {
        struct term *term;
        struct screen *screen;
        struct canvas *canvas;
        enum ground ground;      /* the terminal's background, as far as it is known */
        int64_t ground_until_ns; /* until then the first frame waits for the terminal's report; 0: reported */
        struct view_options look;
        enum view_theme contrast_told; /* the theme whose contrast was checked last */
        struct view view;              /* that of the last frame, or of the one that is being made */
        struct input_view in;
        int64_t frame_ns;
        enum view_pictures pictured; /* the way to show pictures that was chosen for this screen */
        int pictured_rows, pictured_cols;
        bool dirty, urgent; /* dirty: a frame is due; urgent: at once */
        bool away;          /* the screen belongs to another program: editor, copy view */
        bool copy_view;
    } face; /* what the user sees */
    struct {
        struct decoder *decoder;
        struct input *input;
        struct history_file *history;
        struct editor *editor;
        int64_t typed_ns; /* when the last key came */
        bool lost;        /* some were lost for lack of memory: the next Enter does nothing */
        bool mouse;
        int clicked; /* the item of a list that was clicked last; -1: none */
        int64_t clicked_ns;
    } keys; /* the user's input */
    struct {
        tui_popup popup;
        tui_browse browse;
        tui_sessions sessions;
        tui_models models;
        tui_saved saved;
        tui_results hits;
        tui_attached attached;
        tui_branches branches;
        tui_prompts prompts;
        tui_palette palette;
        char edits_prompt[TUI_PROMPTS_NAME]; /* the prompt that the editor has in place of the draft; "": none */
        char search[256];                    /* the words of the last search */
    } lists;
    struct {
        tui_load load;
        ceilings_job measuring;
        units_job choosing;
        power_meter *meter; /* for `choosing`; NULL: not opened yet */
        tui_leave leave;
        /* When the user was asked about leaving, since a reply is being written in the background; 0: never. */
        int64_t leave_asked_ns;
    } jobs;                     /* background work */
    tui_turns turns;
    tui_draft draft;
    tui_attach attach;
    tui_consent consent;
    tui_figures figures;
    tui_notices notices;
    tui_monitor monitor;
    tui_socket socket;            /* other programs watch through it */
    struct tui_demo *demo;        /* the demo that has screen and keys; NULL: none is shown */
    char *demo_waits;             /* the line that `tandem demo` prints when the screen is left; NULL: none */
};

#endif
