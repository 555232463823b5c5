#version 460
#include "common.glsl"
#include "vision/vision.glsl"
// Full attention where there are no matrix units for half floats. A workgroup has QUERIES queries of a head, and goes
// through the keys in blocks with a running softmax to the base 2.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint DIM = 64;
layout(push_constant, scalar) uniform Push {
    uint64_t heads_at, result; // as rope.comp leaves them
    uint heads, dims, patches, padded, ld;
};
const uint LANES = 128, QUERIES = 16, KEYS = 64, EACH = QUERIES * KEYS / LANES, OUT = QUERIES * DIM / LANES;
shared float q[QUERIES * DIM], weight[QUERIES * KEYS], top[QUERIES], by[QUERIES], sum[QUERIES];

vec2 pair_of(uint which, uint patch_of, uint d)
{
    uint at = ((which * heads + gl_WorkGroupID.y) * padded + patch_of) * DIM + d;
    return unpackHalf2x16(Words(heads_at).v[at / 2]);
}

// The scores of a block become shares of the sum, by the largest so far.
void soften(uint row, uint n)
{
    float before = top[row], largest = before;
    for (uint k = 0; k < n; k++) largest = max(largest, weight[row * KEYS + k]);
    float all = 0;
    for (uint k = 0; k < n; k++) {
        float share = exp2(weight[row * KEYS + k] - largest);
        weight[row * KEYS + k] = share;
        all += share;
    }
    by[row] = exp2(before - largest);
    sum[row] = fma(sum[row], by[row], all);
    top[row] = largest;
}

void main()
{
    uint i = gl_LocalInvocationIndex, first = gl_WorkGroupID.x * QUERIES;
    for (uint e = i; e < QUERIES * DIM / 2; e += LANES) {
        vec2 two = pair_of(0, first + e / (DIM / 2), 2 * (e % (DIM / 2)));
        q[2 * e] = two.x;
        q[2 * e + 1] = two.y;
    }
    if (i < QUERIES) {
        top[i] = -1e30;
        sum[i] = 0;
    }
    float mixed[OUT];
    [[unroll]] for (uint o = 0; o < OUT; o++) mixed[o] = 0;
    for (uint block = 0; block < patches; block += KEYS) {
        uint n = min(KEYS, patches - block), key = i % KEYS;
        barrier();
        for (uint row = i / KEYS; row < QUERIES && key < n; row += LANES / KEYS) {
            float score = 0;
            for (uint d = 0; d < DIM; d += 2) {
                vec2 two = pair_of(1, block + key, d);
                score = fma(q[row * DIM + d], two.x, score);
                score = fma(q[row * DIM + d + 1], two.y, score);
            }
            weight[row * KEYS + key] = score;
        }
        barrier();
        if (i < QUERIES) soften(i, n);
        barrier();
        [[unroll]] for (uint o = 0; o < OUT; o += 2) {
            uint e = o / 2 * LANES + i, row = e / (DIM / 2), d = 2 * (e % (DIM / 2));
            vec2 all = by[row] * vec2(mixed[o], mixed[o + 1]);
            for (uint k = 0; k < n; k++) all = fma(vec2(weight[row * KEYS + k]), pair_of(2, block + k, d), all);
            mixed[o] = all.x;
            mixed[o + 1] = all.y;
        }
    }
    [[unroll]] for (uint o = 0; o < OUT; o += 2) {
        uint e = o / 2 * LANES + i, row = e / (DIM / 2), d = 2 * (e % (DIM / 2));
        float share = inverse(sum[row]);
        if (first + row < patches && d < dims)
            Words(result).v[((first + row) * ld + gl_WorkGroupID.y * dims + d) / 2] =
                halves_of(mixed[o] * share, mixed[o + 1] * share);
    }
}
