#include "src/cli/nearest.h"

#include <string.h>

#include "ui/edit/slash.h"

void nearest_offer(nearest *best, const char *wanted, const char *candidate)
{
    size_t length = strlen(wanted);
    size_t distance = slash_distance(wanted, length, candidate, strlen(candidate));
    if (length >= 2 && !strncmp(wanted, candidate, length)) distance = distance < 1 ? distance : 1;
    if (distance > slash_slips(length)) return;
    if (!best->name || distance < best->distance) {
        best->name = candidate;
        best->distance = distance;
    }
}
