#include "src/nearest.h"

#include <string.h>

enum { LONGEST = 40 }; /* of the names compared: options and commands */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) return n + m;
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= m; j++) rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = smaller(smaller(above[j] + 1, row[j - 1] + 1), above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void nearest_offer(nearest *best, const char *wanted, const char *candidate)
{
    size_t length = strlen(wanted);
    size_t distance = nearest_distance(wanted, candidate);
    if (length >= 2 && !strncmp(wanted, candidate, length)) distance = smaller(distance, 1);
    if (distance > 1 + length / 4) return;
    if (!best->name || distance < best->distance) {
        best->name = candidate;
        best->distance = distance;
    }
}
