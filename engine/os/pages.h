/* Memory that is read from end to end again and again: weights, states, activations. It is in pages of 2 MiB where the
 * system has them: with the usual ones of 4 KiB a core waits for the address translation at every page, and reads a
 * sixth to a tenth more slowly. */
#ifndef TANDEM_OS_PAGES_H
#define TANDEM_OS_PAGES_H

#include <stddef.h>

enum { PAGES_LARGE = 2 << 20 };

/* Zeroed memory, at the beginning of a page, of a large one if there are that many bytes. NULL: there is none. */
void *pages_map(size_t bytes);
/* bytes: as mapped. NULL is allowed. */
void pages_unmap(void *memory, size_t bytes);

#endif
