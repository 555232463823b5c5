/* Where keys come from: a terminal that is shared with other programs. Between poll(2) and the read another program may
 * take the input; a shell does so while this program is stopped. So the terminal is opened a second time, for this
 * program alone and non-blocking, and a read that finds nothing returns at once. Where that can't be done, the
 * descriptor is polled again right before each read.
 *
 * One thread. */
#ifndef TANDEM_BASE_INLET_H
#define TANDEM_BASE_INLET_H

#include <stddef.h>
#include <sys/types.h>

struct inlet {
    int fd;  /* the caller's: for poll */
    int own; /* the same terminal; -1: none */
};

void inlet_open(struct inlet *i, int fd);
void inlet_close(struct inlet *i); /* fd stays open */

/* As read(2), at once; file_again() says whether the terminal had no input. */
ssize_t inlet_read(struct inlet *i, void *bytes, size_t n);

#endif
