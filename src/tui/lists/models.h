/* The list of models (/model): rows of src/models/models.h to use, make the default, delete, and fetch. It opens over
 * the transcript as a popup and gets the keys; it returns an action for work of others.
 *
 * A thread reads the files: it writes `found` before it ends, and the list takes it in tui_models_step. The front end's
 * job measures the speed of memory (ceilings_job.h); the list begins it if the speed is unknown. tandem-pull runs as a
 * child (pull.h), also while the list is closed. */
#ifndef TANDEM_SRC_TUI_MODELS_H
#define TANDEM_SRC_TUI_MODELS_H

#include "src/models/ceilings_job.h"
#include "src/models/models.h"
#include "src/process/task.h"
#include "src/tui/action.h"
#include "src/tui/lists/list.h"
#include "src/tui/pull.h"
#include "ui/draw/view.h"
#include "ui/keys/decoder.h"

/* Facts about the conversation for the list; filled in before each use. */
typedef struct {
    const options *o;
    int wake; /* descriptor that the thread writes to */
    models_current current;
    const load_pair *models; /* of the conversation */
    const char *model_path;  /* the name as given */
    const char *name;     /* of the conversation's model ("4b q4_k"); NULL: none */
    const char *loading;  /* -m of the model that is being loaded; NULL: none, or the built-in one */
    const ceilings *ceilings; /* the known limits */
    ceilings_job *measuring;
    tdm_machine *machine; /* to measure; NULL: not possible now */
    const char *kernels;
    bool keeps;           /* measurements may be written to disk */
    uint32_t context;     /* tokens of the conversation */
    double prefill_tps;   /* of late; 0: not known */
    uint64_t token_flops; /* of the conversation's model */
    double load_rate;     /* bytes of a file that were loaded in a second; 0: not known */
} tui_models_facts;

/* Zeroed: never opened. */
typedef struct {
    tui_list choice;
    tui_models_facts facts;
    models_list list;
    bool have;                  /* the list is complete; else it is being made */
    char wanted[TUI_PULL_NAME]; /* to select once it is in the list */
    tui_pull pull;
    bool dirty; /* the list must be made again */

    task task;        /* reads the files */
    const options *o; /* for the task, as is what follows */
    models_list found;
    tdm_error err;

    char aside[160], notes[TUI_LIST_NOTES][TUI_LIST_ROW]; /* on screen (models_view.c) */
} tui_models;

/* Begins to read the list. */
void tui_models_open(tui_models *m);
/* Takes the thread's result, and starts it again if needed. True: draw a frame. */
bool tui_models_step(tui_models *m);
/* Call it when the measuring job has ended. */
void tui_models_measured(tui_models *m);
/* The child's pipe to poll, -1: none; call tui_models_read when it is readable. */
int tui_models_fd(const tui_models *m);
/* True: a pull that was begun from here has ended; pull.done, .stopped and .failure say how. */
bool tui_models_read(tui_models *m);
/* Stops the child and the thread. */
void tui_models_close(tui_models *m);

/* The owner is a tui_models. */
extern const tui_list_kind tui_models_list;

/* Its columns and lines (models_view.c), with which the kind is filled. */
const char *tui_models_mark(const void *owner, size_t row, char *room);
const char *tui_models_short(const void *owner, size_t row, char *room);
const char *tui_models_type(const void *owner, size_t row, char *room);
const char *tui_models_disk(const void *owner, size_t row, char *room);
const char *tui_models_needs(const void *owner, size_t row, char *room);
const char *tui_models_speed(const void *owner, size_t row, char *room);
const char *tui_models_verdict(const void *owner, size_t row, char *room);
void tui_models_adapt(void *owner, struct view_popup *v);

/* The row that is selected, or NULL. */
static inline const models_row *tui_models_selected(const tui_models *m)
{
    size_t row = tui_list_row(&m->choice);
    return row < m->list.n ? &m->list.rows[row] : NULL;
}

#endif
