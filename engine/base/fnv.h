/* The 64-bit FNV-1a hash. Standard FNV-1a takes a byte a step; fnv_step also takes larger words. */
#ifndef TANDEM_BASE_FNV_H
#define TANDEM_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

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

#endif
