#include "src/io/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool number_int(const char *text, int64_t low, int64_t high, int64_t *out)
{
    if (!isdigit((unsigned char)text[0]) && !(text[0] == '-' && isdigit((unsigned char)text[1]))) return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || value < low || value > high) return false;
    *out = value;
    return true;
}

bool number_whole(const char *text, uint64_t *out)
{
    if (!isdigit((unsigned char)text[0])) return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end) return false;
    *out = value;
    return true;
}

bool number_real(const char *text, double low, double high, double *out)
{
    /* strtod also reads blanks, hexadecimal, "inf" and "nan": none of these is meant. */
    if (!text[0] || text[strspn(text, "0123456789.+-eE")]) return false;
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < low || value > high) return false;
    *out = value;
    return true;
}

bool number_size(const char *text, uint64_t *out)
{
    if (!isdigit((unsigned char)text[0])) return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno) return false;
    static const char units[] = "KMGT";
    int shift = 0;
    if (*end) {
        const char *unit = strchr(units, toupper((unsigned char)*end));
        if (!unit || end[1]) return false;
        shift = 10 * (int)(unit - units + 1);
    }
    if (value > UINT64_MAX >> shift) return false;
    *out = (uint64_t)value << shift;
    return true;
}

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
