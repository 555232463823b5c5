/* The list of models (/model): rows of src/models/models.h to use, make the default, delete, and to get more. It opens
 * over the transcript as a popup and has the keys then; what it can't do itself it returns as an action.
 *
 * The files are looked at on a thread: it writes `found` before it sets `done`, and the list takes it in
 * tui_models_step. How fast memory is read the front end's own job measures (ceilings_job.h), which the list begins
 * where nothing is known. tandem-pull runs as a child (pull.h), also while the list is closed. */
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

/* What the list has to know of the conversation; filled before each use. */
typedef struct {
    const options *o;
    int wake; /* descriptor that the thread writes to */
    models_current current;
    const load_pair *models; /* of the conversation */
    const char *model_path;  /* as it was named */
    const char *name;     /* of the model that talks ("4b q4_k"); NULL: none does */
    const char *loading;  /* -m of the model that is being loaded; NULL: none, or the built-in one */
    const ceilings *ceilings; /* what is known */
    ceilings_job *measuring;
    tdm_machine *machine; /* to measure on; NULL: not now */
    const char *kernels;
    bool keeps;           /* measurements may be written to disk */
    uint32_t context;     /* tokens of the conversation */
    double prefill_tps;   /* of late; 0: not known */
    uint64_t token_flops; /* of the model that talks */
    double load_rate;     /* bytes of a file that were loaded in a second; 0: not known */
} tui_models_facts;

typedef enum {
    TUI_MODELS_LIST,
    TUI_MODELS_NAME,
    TUI_MODELS_PLAN,
    TUI_MODELS_DELETE
} tui_models_mode;

enum { TUI_MODELS_INPUT = 200 };

/* Zeroed: never opened. */
typedef struct {
    tui_models_facts facts;
    models_list list;
    bool have;              /* a list; else it is being made */
    tui_list choice;
    tui_models_mode mode;
    unsigned order;             /* which one s has chosen */
    char input[TUI_MODELS_INPUT];
    char wanted[TUI_PULL_NAME]; /* to be selected once it is in the list */
    char said[500];             /* what the last key did */
    tui_pull pull;
    bool dirty; /* the list is to be made anew */

    task task;        /* looks at the files */
    const options *o; /* for the task, as is what follows */
    models_list found;
    tdm_error err;

    struct tui_models_page *page; /* what is shown (models_view.c) */
} tui_models;

/* Begins to look at what is there. */
void tui_models_open(tui_models *m);
/* Takes what the thread has done, and gives it more to do. True: something is to be drawn. */
bool tui_models_step(tui_models *m);
/* What the job has measured, or why it could not, is known now. */
void tui_models_measured(tui_models *m);
/* The child's pipe, to be waited for; -1: there is none. Readable: tui_models_read. */
int tui_models_fd(const tui_models *m);
/* True: a pull that was begun from here has ended; pull.done, .stopped and .failure say how. */
bool tui_models_read(tui_models *m);
/* Stops the child and the thread. */
void tui_models_close(tui_models *m);

/* Its `fill` (models_view.c). */
void tui_models_fill(void *owner, int cols, struct view_popup *v);
extern const tui_list_kind tui_models_list;              /* the owner is a tui_models */
void tui_models_free_page(struct tui_models_page *page); /* NULL is allowed */

/* The row that is selected, or NULL. */
static inline const models_row *tui_models_selected(const tui_models *m)
{
    size_t row = tui_list_row(&m->choice);
    return row < m->list.n ? &m->list.rows[row] : NULL;
}

#endif
