/* tandem-pull as a child of the full screen: planning (--dry-run) or fetching. Its reports come through a pipe, an
 * object a line (`tandem pull --help`); this program itself opens no connection. One thread. */
#ifndef TANDEM_SRC_TUI_PULL_H
#define TANDEM_SRC_TUI_PULL_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/io/frames.h"
#include "src/io/progress_line.h"

enum { TUI_PULL_NAME = 300 };

/* Zeroed: no pull has begun. Texts have no control characters. */
typedef struct {
    bool runs, dry;
    pid_t pid;
    int fd;                   /* our end of the pipe, while the child runs */
    frames lines;             /* that the child writes */
    char name[TUI_PULL_NAME]; /* the requested model; once the pull is planned, in the form that -m takes */
    bool planned;
    char host[256], reason[240], folder[400];
    uint64_t bytes, missing_bytes, free_bytes; /* free_bytes 0: not known */
    bool fits_memory;
    progress_figures figures; /* without a name */
    char note[300];           /* the child's last note: it waits, tries again ... */
    char failure[400];        /* why it failed; "": it did not */
    bool done, stopped;       /* done: all files are there; stopped: the pull was stopped, and the files so far stay */
} tui_pull;

/* Starts a pull; stops a running one first. */
tdm_status tui_pull_begin(tui_pull *p, const char *name, bool dry, tdm_error *err);
/* Reads the pipe, once it is readable. False: the child has ended. */
bool tui_pull_read(tui_pull *p);
/* Stops the child as Ctrl-C does; tui_pull_read reports its end. */
void tui_pull_stop(tui_pull *p);
/* Stops the child, waits for its end, and frees all members. */
void tui_pull_close(tui_pull *p);

#endif
