/* The system's memory in bytes; 0: unknown. */
#ifndef TANDEM_BASE_MEMORY_H
#define TANDEM_BASE_MEMORY_H

#include <stdint.h>

/* How much memory this process can still get: MemAvailable of /proc/meminfo, else the free pages; or what the limits of
 * its control groups (versions 1 and 2) leave, if that is less. File pages that can be dropped count as available. */
uint64_t memory_available(void);
/* The same from the files below this folder, so that tests can lay out systems of their own; "" is the real one. */
uint64_t memory_available_in(const char *root);
uint64_t memory_total(void);

#endif
