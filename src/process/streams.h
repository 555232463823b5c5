/* Standard output and standard error of the program, as outlets (engine/os/outlet.h): nothing that is written there
 * gets lost or cut because another program has made them non-blocking, and the program does not wait for them once it
 * is to leave (src/process/interrupt.h). What is printed through stdio, by libraries too, takes the same way. */
#ifndef TANDEM_SRC_STREAMS_H
#define TANDEM_SRC_STREAMS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes effect from now on. Call it first in a program, before it prints. */
void streams_open(void);

/* STDOUT_FILENO or STDERR_FILENO. False with errno. */
bool streams_write(int fd, const void *bytes, size_t n);

/* The program ends at once: from now on writes wait no longer than when it is to leave. For signal handlers too. */
void streams_hurry(void);

#endif
