/* A bounded little-endian reader over bytes in memory. After the first read past the end it stays failed, yields zeros
 * and keeps the offset of the failure, so a parser checks `failed` once per item. */
#ifndef TANDEM_MODEL_CURSOR_H
#define TANDEM_MODEL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *data;
    uint64_t size, at;
    bool failed;
    uint64_t wanted; /* bytes that the failed read asked for */
};

/* The next n bytes, or NULL. */
static inline const void *cursor_take(struct cursor *c, uint64_t n)
{
    if (c->failed) return NULL;
    if (n > c->size - c->at) {
        c->failed = true;
        c->wanted = n;
        return NULL;
    }
    const void *p = c->data + c->at;
    c->at += n;
    return p;
}

static inline uint64_t cursor_left(const struct cursor *c)
{
    return c->failed ? 0 : c->size - c->at;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 4);
    return p ? p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24 : 0;
}

static inline uint64_t cursor_u64(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 8);
    uint64_t v = 0;
    if (p)
        for (int i = 7; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

#endif
