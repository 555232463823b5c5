/* A view of bytes that it does not own: not terminated, may hold any byte. */
#ifndef TANDEM_BASE_SPAN_H
#define TANDEM_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    const char *bytes;
    size_t length;
};

static inline struct span span_text(const char *text)
{
    return (struct span){text, __builtin_strlen(text)};
}

static inline bool span_is(struct span s, const char *text)
{
    return s.length == __builtin_strlen(text) && (!s.length || !__builtin_memcmp(s.bytes, text, s.length));
}

static inline bool span_begins(struct span s, const char *text)
{
    size_t n = __builtin_strlen(text);
    return s.length >= n && !__builtin_memcmp(s.bytes, text, n);
}

static inline bool span_ends(struct span s, const char *text)
{
    size_t n = __builtin_strlen(text);
    return s.length >= n && !__builtin_memcmp(s.bytes + s.length - n, text, n);
}

/* Nothing but white space of ASCII? */
static inline bool span_is_blank(struct span s)
{
    for (size_t i = 0; i < s.length; i++)
        if (s.bytes[i] != ' ' && (s.bytes[i] < '\t' || s.bytes[i] > '\r')) return false;
    return true;
}

/* Where `what` stands last in s; SIZE_MAX: nowhere. */
static inline size_t span_find_last(struct span s, struct span what)
{
    for (size_t at = s.length - what.length + 1; what.length <= s.length && at-- > 0;)
        if (!__builtin_memcmp(s.bytes + at, what.bytes, what.length)) return at;
    return SIZE_MAX;
}

#endif
