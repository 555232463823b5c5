/* A view of bytes owned by someone else: not terminated, may hold any byte. */
#ifndef TANDEM_BASE_SPAN_H
#define TANDEM_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>

struct span {
    const char *bytes;
    size_t length;
};

static inline bool span_is(struct span s, const char *text)
{
    return s.length == __builtin_strlen(text) && !__builtin_memcmp(s.bytes, text, s.length);
}

#endif
