#include "src/cli/bytes.h"

#include <stddef.h>
#include <stdio.h>

const char *bytes_words(char out[BYTES_ROOM], uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double value = (double)bytes / 1e3;
    size_t unit = 0;
    while (unit < 3 && value >= 999.5) value /= 1e3, unit++;
    if (bytes < 1000)
        snprintf(out, BYTES_ROOM, "%llu bytes", (unsigned long long)bytes);
    else
        snprintf(out, BYTES_ROOM, "%.*f %s", value < 99.95 ? 1 : 0, value, units[unit]);
    return out;
}
