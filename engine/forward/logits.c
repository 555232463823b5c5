#include "engine/forward/logits.h"

#include <math.h>
#include <string.h>

#include "engine/base/fnv.h"

uint64_t logits_hash(uint64_t hash, const float *logits, size_t n)
{
    uint64_t stream[4];
    for (int j = 0; j < 4; j++) stream[j] = fnv_step(hash, (uint64_t)j);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t words[4];
        memcpy(words, logits + i, sizeof words);
        for (int j = 0; j < 4; j++) stream[j] = fnv_step(stream[j], words[j]);
    }
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &logits[i], sizeof bits);
        stream[0] = fnv_step(stream[0], bits);
    }
    for (int j = 0; j < 4; j++) hash = fnv_step(hash, stream[j]);
    return hash;
}
