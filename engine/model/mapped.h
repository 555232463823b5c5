/* The list of the mapped files, for a handler of SIGBUS: reading a mapped file beyond its end raises that signal, after
 * another program truncated it.
 *
 * Threads: files are added and removed by several threads at once; a thread that looks an address up must keep it
 * mapped meanwhile.
 */
#ifndef TANDEM_MODEL_MAPPED_H
#define TANDEM_MODEL_MAPPED_H

#include "engine/tandem.h"

/* An entry of the list, used by a file or free. */
struct mapped;

/* Takes an entry for a file that is mapped at `data`. path is copied; the entry owns fd from now on. NULL: no memory;
 * fd still belongs to the caller. */
struct mapped *mapped_add(const char *path, int fd, const void *data, uint64_t bytes);
void mapped_remove(struct mapped *m); /* closes fd */

/* The file whose mapping contains this address; NULL: none. Async-signal-safe, as are the functions below. */
const struct mapped *mapped_find(const void *address);
const char *mapped_path(const struct mapped *m); /* fit for a line of text (engine/base/harmless.h) */
int mapped_fd(const struct mapped *m);
const uint8_t *mapped_data(const struct mapped *m);
uint64_t mapped_bytes(const struct mapped *m);

#endif
