/* Where keys come from, and where output goes: a terminal, a pipe or a file that is shared with other programs. One
 * thread. */
#ifndef TANDEM_OS_INOUT_H
#define TANDEM_OS_INOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- Keys ----------------------------------------------------------------------------------------------------------
 *
 * Between poll(2) and the read another program may take the input; a shell does so while this program is stopped. So
 * the terminal is opened a second time, for this program alone and non-blocking, and a read that finds nothing returns
 * at once. Where that can't be done, the descriptor is polled again right before each read. */

struct inlet {
    int fd;  /* the caller's: for poll */
    int own; /* the same terminal; -1: none */
};

void inlet_open(struct inlet *i, int fd);
void inlet_close(struct inlet *i); /* fd stays open */

/* As read(2), at once; file_again() says whether the terminal had no input. */
ssize_t inlet_read(struct inlet *i, void *bytes, size_t n);

/* ---- Output --------------------------------------------------------------------------------------------------------
 *
 * Any program may have made the descriptor non-blocking (all programs that share a file share O_NONBLOCK), and it may
 * accept nothing for any length of time: a terminal stopped by Ctrl-S, a reader that doesn't read. The outlet waits
 * until all bytes are written. Once the program is asked to end, it waits for OUTLET_PATIENCE_MS in all, and drops what
 * it could not write by then. A signal handler may call outlet_write() on an outlet that is open. */

enum { OUTLET_PATIENCE_MS = 300 };

struct outlet {
    int fd;       /* the caller's */
    int own;      /* the same terminal opened once more, for us alone and non-blocking; -1: none */
    dev_t device; /* the file of fd when `own` was opened; once fd is another file, own isn't written to */
    ino_t inode;
    int leave;       /* readable for good once the program is to leave; -1: never */
    bool hurries;    /* the program is to leave */
    int patience_ms; /* the time left for writing then */
};

void outlet_open(struct outlet *o, int fd, int leave);
void outlet_close(struct outlet *o); /* fd stays open */

/* As though the program were to leave. */
void outlet_hurry(struct outlet *o);

/* All of the bytes. False with errno: ETIMEDOUT when they found no room. */
bool outlet_write(struct outlet *o, const void *bytes, size_t n);

#endif
