/* Where a program's output goes: a terminal, a pipe or a file that it shares with other programs. Any of them may have
 * made it non-blocking (all programs that share a file share O_NONBLOCK), and it may accept nothing for any length of
 * time: a terminal stopped by Ctrl-S, a reader that doesn't read. The outlet waits until all bytes are written. Once
 * the program is asked to end, it waits for OUTLET_PATIENCE_MS in all, and drops what it could not write by then.
 *
 * One thread. A signal handler may call outlet_write() on an outlet that is open.
 */
#ifndef TANDEM_BASE_OUTLET_H
#define TANDEM_BASE_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { OUTLET_PATIENCE_MS = 300 };

struct outlet {
    int fd;          /* the caller's */
    int own;         /* the same terminal opened once more, for us alone and non-blocking; -1: none */
    dev_t device;    /* the file of fd when `own` was opened; once fd is another file, own isn't written to */
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
