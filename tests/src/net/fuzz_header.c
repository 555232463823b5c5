/* Any bytes as the lines of a head: a value lies within its line, and a wait is a number of seconds or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/net/header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line, size_t n)
{
    struct span v;
    if (header_seconds((struct span){line, n}) < -1) abort(); /* as a value of its own */
    if (!header_value(line, n, "Retry-After", &v)) return;
    if (v.bytes < line + 12 || v.bytes + v.length > line + n) abort();
    if (v.length && strchr(" \t\r\n", v.bytes[v.length - 1])) abort();
    if (header_seconds(v) < -1) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end ? (size_t)(end - data) + 1 - at : size - at;
        char *line = malloc(n); /* of just its size, so that a byte too many is noticed */
        if (!line) return 0;
        memcpy(line, data + at, n);
        check_line(line, n);
        free(line);
        at += n;
    }
    return 0;
}
