#include "ui/unicode/cluster.h"

#include <stdbool.h>
#include <utf8proc.h>

#include "engine/base/utf8.h"

/* How far back a cluster's beginning is looked for at most: a rule of UAX #29 may reach any number of flags back, and a
 * key must not take the longer the longer the draft is. */
enum { REACH = 1024 };

/* A byte that is no UTF-8 counts as U+FFFD, which joins nothing but marks. */
static size_t take(const char *text, size_t n, utf8proc_int32_t *code)
{
    int32_t point;
    size_t length = utf8_decode(text, n, &point);
    *code = point < 0 ? 0xFFFD : point;
    return length;
}

size_t cluster_end(const char *text, size_t n, size_t at)
{
    if (at >= n) return n;
    utf8proc_int32_t last, next, state = 0;
    at += take(text + at, n - at, &last);
    for (; at < n; last = next) {
        size_t length = take(text + at, n - at, &next);
        if (utf8proc_grapheme_break_stateful(last, next, &state)) break;
        at += length;
    }
    return at;
}

/* A place at or before `at` where a cluster begins whatever stands before it: ASCII joins nothing to its left. */
static size_t certain(const char *text, size_t at)
{
    size_t from = at;
    while (from > 0 && at - from < REACH && ((unsigned char)text[from] >= 0x80 || text[from] == '\n')) from--;
    while (from > 0 && utf8_continues(text[from])) from--;
    return from;
}

size_t cluster_before(const char *text, size_t n, size_t at)
{
    if (at > n) at = n;
    if (at == 0) return 0;
    size_t start = certain(text, at - 1), end;
    while ((end = cluster_end(text, n, start)) < at) start = end;
    return start;
}

size_t cluster_start(const char *text, size_t n, size_t at)
{
    if (at >= n || at == 0) return at > n ? n : at;
    size_t start = cluster_before(text, n, at);
    return cluster_end(text, n, start) <= at ? at : start;
}
