#include "src/net/header.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "src/io/number.h"

bool header_value(const char *line, size_t n, const char *name, struct span *out)
{
    size_t length = strlen(name);
    if (n <= length || strncasecmp(line, name, length) || line[length] != ':') return false;
    const char *from = line + length + 1, *end = line + n;
    while (from < end && (*from == ' ' || *from == '\t')) from++;
    while (end > from && strchr("\r\n \t", end[-1])) end--;
    *out = (struct span){from, (size_t)(end - from)};
    return true;
}

/* Names of days and months are English: no program here sets LC_TIME. */
static bool read_date(const char *text, time_t *out)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%a, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %d %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm t = {0};
        const char *end = strptime(text, forms[i], &t);
        if (!end || *end) continue;
        *out = timegm(&t);
        return true;
    }
    return false;
}

int header_seconds(struct span value)
{
    char text[64];
    int64_t seconds;
    time_t then, now = time(NULL);
    if (value.length >= sizeof text || memchr(value.bytes, 0, value.length)) return -1;
    snprintf(text, sizeof text, "%.*s", (int)value.length, value.bytes);
    if (number_int(text, 0, INT32_MAX, &seconds)) return (int)seconds;
    if (!read_date(text, &then)) return -1;
    return then <= now ? 0 : then - now > INT32_MAX ? INT32_MAX : (int)(then - now);
}
