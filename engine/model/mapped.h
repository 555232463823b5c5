/* The list of the files that are mapped now, in which a signal handler may look: a mapped file that another program
 * makes shorter raises SIGBUS where it is read beyond its new end.
 *
 * Threads: files are added and removed by several threads at once; a thread that asks for an address has it mapped
 * meanwhile.
 */
#ifndef TANDEM_MODEL_MAPPED_H
#define TANDEM_MODEL_MAPPED_H

#include "engine/tandem.h"

/* A place in the list, taken by a file or free. */
struct mapped;

/* Takes a place for a file that is mapped at `data`. path is copied, fd belongs to the place from here on. NULL: no
 * memory; fd still belongs to the caller. */
struct mapped *mapped_add(const char *path, int fd, const void *data, uint64_t bytes);
void mapped_remove(struct mapped *m); /* closes fd */

/* The file that has this address; NULL: none has. Async-signal-safe, as the two below. */
const struct mapped *mapped_find(const void *address);
const char *mapped_path(const struct mapped *m); /* fit for a line of text (engine/base/harmless.h) */
int mapped_fd(const struct mapped *m);
const uint8_t *mapped_data(const struct mapped *m);
uint64_t mapped_bytes(const struct mapped *m);

#endif
