/* A checksum as fast as memory: the bytes, padded with zeros to a multiple of 32, are little-endian 64-bit words in
 * four independent streams. Each step is a bijection of the stream, so that a single changed word always changes the
 * checksum. It detects damage, not tampering. */
#ifndef TANDEM_BASE_CHECKSUM_H
#define TANDEM_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are taken as they lie in memory");

enum { CHECKSUM_STEP = 32 };

struct checksum {
    uint64_t stream[4];
};

static const struct checksum checksum_start = {{1, 2, 3, 4}};

static inline uint64_t checksum_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9E3779B97F4A7C15;
    return h ^ h >> 32;
}

/* CHECKSUM_STEP bytes. One stream after the other: the baseline's vector units don't multiply 64 bits, and compilers
 * that put the four into one vector all the same make it several times slower. */
static inline void checksum_block(struct checksum *c, const uint8_t *p)
{
    for (int j = 0; j < 4; j++) {
        uint64_t word, h = c->stream[j];
        memcpy(&word, p + 8 * j, sizeof word);
        h = checksum_mix(h, word);
        __asm__("" : "+r"(h)); /* stays in a general register */
        c->stream[j] = h;
    }
}

/* bytes: a multiple of CHECKSUM_STEP, except in the last call, which pads the rest. */
static inline void checksum_add(struct checksum *c, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    size_t i = 0;
    for (; i + CHECKSUM_STEP <= bytes; i += CHECKSUM_STEP) checksum_block(c, p + i);
    if (i < bytes) {
        uint8_t last[CHECKSUM_STEP] = {0};
        memcpy(last, p + i, bytes - i);
        checksum_block(c, last);
    }
}

static inline uint64_t checksum_end(const struct checksum *c)
{
    uint64_t h = 0;
    for (int j = 0; j < 4; j++) h = checksum_mix(h, c->stream[j]);
    return h;
}

#endif
