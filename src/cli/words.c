#include "src/cli/words.h"

#include <ctype.h>
#include <string.h>

#include "ui/edit/slash.h"

char *trim(char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) text[--n] = 0;
    return text;
}

void nearest_offer(nearest *best, const char *wanted, const char *candidate)
{
    size_t length = strlen(wanted), same = 0;
    while (wanted[same] && wanted[same] == candidate[same]) same++; /* names of models may be long */
    size_t distance = slash_distance(wanted + same, length - same, candidate + same, strlen(candidate + same));
    if (length >= 2 && !strncmp(wanted, candidate, length)) distance = distance < 1 ? distance : 1;
    if (distance > slash_slips(length)) return;
    if (!best->name || distance < best->distance) {
        best->name = candidate;
        best->distance = distance;
    }
}
