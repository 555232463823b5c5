/* Standard output and standard error of the program, as outlets (engine/os/inout.h): output is neither lost nor cut if
 * another program has made them non-blocking, and the program does not wait for them once it must leave
 * (src/process/interrupt.h). Output through stdio, by libraries too, uses the outlets as well. */
#ifndef TANDEM_SRC_STREAMS_H
#define TANDEM_SRC_STREAMS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes effect from now on. Call it first in a program, before it prints. */
void streams_open(void);

/* STDOUT_FILENO or STDERR_FILENO. False with errno. */
bool streams_write(int fd, const void *bytes, size_t n);

/* For an immediate end: from now on writes wait no longer than when the program must leave. For signal handlers too. */
void streams_hurry(void);

#endif
