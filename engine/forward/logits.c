#include "engine/forward/logits.h"

#include <math.h>
#include <string.h>

uint64_t logits_hash(uint64_t hash, const float *logits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &logits[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}

double logits_log_probability(const float *logits, size_t n, tdm_id id)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (logits[i] > max) max = logits[i];
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += exp((double)logits[i] - max);
    return (double)logits[id] - max - log(sum);
}
