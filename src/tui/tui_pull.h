/* tandem-pull as a child of the full screen: asked what it would take (--dry-run), or fetching. What it tells comes
 * through a pipe, an object a line (`tandem pull --help`); this program itself opens no connection. One thread. */
#ifndef TANDEM_SRC_TUI_PULL_H
#define TANDEM_SRC_TUI_PULL_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/base/buffer.h"
#include "src/cli/progress_line.h"

enum { TUI_PULL_NAME = 300 };

/* Zeroed: nothing has been begun. Texts have no control characters. */
typedef struct {
    bool runs, dry;
    pid_t pid;
    int fd;                   /* the pipe's end, while it runs */
    struct buffer text;       /* of a line that is not whole yet */
    char name[TUI_PULL_NAME]; /* what was asked for; once it is planned, as -m will take it */
    bool planned;
    char host[256], reason[240], folder[400];
    uint64_t bytes, missing_bytes, free_bytes; /* free_bytes 0: not known */
    bool fits_memory;
    progress_figures figures; /* without a name */
    char note[300];           /* what it said last: it waits, tries again ... */
    char failure[400];        /* why it failed; "": it did not */
    bool done, stopped;       /* all is there; it was stopped, and what has come stays */
} tui_pull;

/* Starts it; one that runs is stopped first. */
tdm_status tui_pull_begin(tui_pull *p, const char *name, bool dry, tdm_error *err);
/* Takes what the pipe has, once it is readable. False: it has ended. */
bool tui_pull_read(tui_pull *p);
/* As Ctrl-C does; the end comes by tui_pull_read. */
void tui_pull_stop(tui_pull *p);
/* Stops it, waits for its end and frees what is held. */
void tui_pull_close(tui_pull *p);

#endif
