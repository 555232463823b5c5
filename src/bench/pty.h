/* A program in a pseudo-terminal, read through a terminal emulation (libvterm): the screen that a user would see, and
 * the time of each change. For tandem-bench and the end-to-end tests. One thread; any number of them. */
#ifndef TANDEM_SRC_PTY_H
#define TANDEM_SRC_PTY_H

#include <sys/types.h>
#include <vterm.h>

#include "engine/tandem.h"

enum { PTY_WIDEST = 400, PTY_ROW = 4 * PTY_WIDEST + 1 }; /* columns; bytes of a row as text */

typedef struct {
    int rows, cols;
    const char *term;                /* TERM */
    bool no_utf8;                    /* the terminal shows bytes, not UTF-8 */
    const char *const *environment;  /* NAME=VALUE, or NAME to unset it; NULL-terminated; or NULL */
} pty_options;

typedef struct {
    pid_t child; /* 0: none, or it was waited for */
    int fd, rows, cols;
    VTerm *vt;
    VTermScreen *screen;
    bool alternate; /* its alternate screen is on */
    bool cooked;    /* pty_end: the line discipline was as before the program (canonical, with echo) */
    bool hung_up;   /* the program has ended, or closed the terminal */
    int64_t got_ns; /* when the last bytes came */
    char answers[4096]; /* answers of the terminal that the program has not read yet */
    size_t n_answers;
    /* Called with all of the program's output, before the emulation gets it. */
    void (*seen)(void *ctx, const char *bytes, size_t n);
    void *seen_ctx;
} pty;

/* Starts the program with these arguments (NULL-terminated, arguments[0] its name). The object must stay where
 * it is. */
tdm_status pty_open(pty *p, const char *program, const char *const *arguments, const pty_options *o, tdm_error *err);
/* Ends the program with that signal (0: waits until it ends by itself, a minute; then kills it) and returns its wait
 * status. The screen stays readable. */
int pty_end(pty *p, int number);
void pty_close(pty *p); /* frees everything; first calls pty_end with SIGTERM if it wasn't called */

/* Types; meanwhile it takes the program's output, since otherwise both would wait for each other. */
tdm_status pty_keys(pty *p, const char *bytes, size_t n, tdm_error *err);
/* Takes output that comes within wait_ms; returns after the first bytes. TDM_E_IO when the program has ended. A signal
 * ends the wait as well. */
tdm_status pty_take(pty *p, int wait_ms, tdm_error *err);

/* A row as UTF-8 without its trailing blanks. */
void pty_row(const pty *p, int row, char out[PTY_ROW]);
/* The first row at or below `from` that holds the text, or -1. */
int pty_find(const pty *p, int from, const char *text);

#endif
