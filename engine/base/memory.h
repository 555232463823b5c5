/* How much memory the system could still give: MemAvailable of /proc/meminfo, else the free pages. Bytes; 0: unknown. */
#ifndef TANDEM_BASE_MEMORY_H
#define TANDEM_BASE_MEMORY_H

#include <stdint.h>

uint64_t memory_available(void);

#endif
