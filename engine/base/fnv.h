/* The 64-bit FNV-1a hash. Standard FNV-1a takes a byte a step; fnv_step also takes larger words. */
#ifndef TANDEM_BASE_FNV_H
#define TANDEM_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FNV_START 0xcbf29ce484222325u

static inline uint64_t fnv_step(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

static inline uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) hash = fnv_step(hash, p[i]);
    return hash;
}

/* Continues a hash with a row of floats, such as logits: equal sequences of rows have equal hashes. FNV-1a over the
 * words of four interleaved streams, whose hashes are then hashed in turn (a single stream would cost the latency of a
 * multiplication per word). */
static inline uint64_t fnv_floats(uint64_t hash, const float *row, size_t n)
{
    uint64_t stream[4];
    for (int j = 0; j < 4; j++) stream[j] = fnv_step(hash, (uint64_t)j);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t words[4];
        memcpy(words, row + i, sizeof words);
        for (int j = 0; j < 4; j++) stream[j] = fnv_step(stream[j], words[j]);
    }
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &row[i], sizeof bits);
        stream[0] = fnv_step(stream[0], bits);
    }
    for (int j = 0; j < 4; j++) hash = fnv_step(hash, stream[j]);
    return hash;
}

#endif
