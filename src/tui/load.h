/* Loads the model, and the prefill unit's own model if it has one, on a thread of its own, so that the first frame
 * comes at once and keys are handled meanwhile. The thread also opens the machine, whose GPU may have to be tested, and
 * copies the weights to it.
 *
 * The thread writes `models`, `machine` and `err`; the front end reads them after tui_load_take. Progress is atomic. */
#ifndef TANDEM_SRC_TUI_LOAD_H
#define TANDEM_SRC_TUI_LOAD_H

#include <stdatomic.h>

#include "src/models/load.h"
#include "src/process/task.h"

typedef enum { TUI_LOAD_NONE, TUI_LOAD_RUNNING, TUI_LOAD_DONE, TUI_LOAD_FAILED } tui_load_state;

typedef struct {
    tui_load_state state; /* the front end's view of it */
    task task;
    const options *o;
    char *path;           /* NULL: the built-in model */
    char *prompt;         /* the argument of the /p that needs this model; NULL: it was /model */
    bool switching;       /* /model: a chat is there already */
    atomic_int step;      /* tdm_step */
    atomic_uint_fast64_t done_bytes, total_bytes;
    load_pair models;     /* the thread's result */
    tdm_machine *machine; /* opened with the first model; NULL: `used` is taken */
    tdm_machine *used;    /* the machine that the model will be on; NULL: there is none yet */
    bool plain_http;      /* the next load may go to a server on an overlay network by plain http */
    bool lacks_plain_http; /* the thread's result: it failed for lack of that */
    int64_t began_ns;
    double rate; /* bytes of a file that were loaded a second, the last time; 0: not known */
    tdm_error err;
    char failure[400];    /* why there is no model; "": there is one, or it is not known yet */
} tui_load;

/* TDM_E_BUSY while a model is being loaded. For a model on a server the user's consent was asked before
 * (draft/consent.h). used: as above; it stays open until the thread is joined. */
tdm_status tui_load_begin(tui_load *l, const options *o, const char *path, bool switching, tdm_machine *used, int wake,
                          tdm_error *err);
/* Whether the thread has just ended. Then it was joined: models or err hold its result, and the state is DONE. */
bool tui_load_take(tui_load *l);
/* Stops the thread and waits for it. */
void tui_load_cancel(tui_load *l);
/* Takes the argument of the /p that needs the model, malloc'ed; NULL: there is none. */
char *tui_load_take_prompt(tui_load *l);
/* Notes why there is no model. */
void tui_load_fail(tui_load *l, const char *why);
void tui_load_free(tui_load *l);

#endif
