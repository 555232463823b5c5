/* The system's memory in bytes; 0: unknown. */
#ifndef TANDEM_BASE_MEMORY_H
#define TANDEM_BASE_MEMORY_H

#include <stdint.h>

/* How much it could still give: MemAvailable of /proc/meminfo, else the free pages. */
uint64_t memory_available(void);
uint64_t memory_total(void);

#endif
