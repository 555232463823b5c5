#include "engine/base/memory.h"

#include <stdio.h>
#include <unistd.h>

static uint64_t pages_bytes(int which)
{
    long pages = sysconf(which), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

uint64_t memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (file) {
        char line[128];
        unsigned long long kib;
        while (fgets(line, sizeof line, file)) {
            if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
                fclose(file);
                return (uint64_t)kib * 1024;
            }
        }
        fclose(file);
    }
    return pages_bytes(_SC_AVPHYS_PAGES);
}

uint64_t memory_total(void)
{
    return pages_bytes(_SC_PHYS_PAGES);
}
