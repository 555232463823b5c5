#version 460
#include "common.glsl"
// The gated delta rule of one value head, token by token: with S [key dim][value dim], g its decay,
//   d = beta (v - g S^T k); out = g S^T q + (k . q) d; S = g S + k d^T.
// S is in registers: lane i has column i % VALUE of the keys [part KEYS, (part + 1) KEYS), part = i / VALUE. The sums of
// the parts are added in ascending order. A workgroup is a value head of a run.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint KEY = 128;
layout(constant_id = 2) const uint VALUE = 128;
layout(constant_id = 3) const uint KEYS = 64; // KEY / parts
layout(push_constant, scalar) uniform Push {
    uint64_t runs, qkv, gates, result; // qkv: after the convolution
    uint key_heads, value_heads, tiled, layer_floats; // layer_floats: before this layer's state
};
const uint PARTS = KEY / KEYS;
shared float queries[KEY], keys[KEY];
shared float sum_k[PARTS][VALUE], sum_q[PARTS][VALUE], sum_kq[PARTS];

void main()
{
    uint i = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, v = i % VALUE, part = i / VALUE, k0 = part * KEYS;
    bool works = part < PARTS;
    uint key_head = tiled == 1 ? head % key_heads : head / (value_heads / key_heads);
    uint channels = 2 * key_heads * KEY + value_heads * VALUE;
    Run run = Runs(runs).v[gl_WorkGroupID.y];
    Floats state = Floats(run.recurrent), x = Floats(qkv), gate = Floats(gates);
    uint at = layer_floats + (head * KEY + k0) * VALUE + v;
    float s[KEYS];
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++) s[k] = state.v[at + k * VALUE];
    for (uint t = 0; t < run.n; t++) {
        uint row = run.first_row + t, from = row * channels;
        for (uint e = i; e < 2 * KEY; e += gl_WorkGroupSize.x) {
            float y = x.v[from + (e / KEY * key_heads + key_head) * KEY + e % KEY];
            if (e < KEY) queries[e] = y;
            else keys[e - KEY] = y;
        }
        float target = works ? x.v[from + 2 * key_heads * KEY + head * VALUE + v] : 0;
        float g = gate.v[2 * (row * value_heads + head)], beta = gate.v[2 * (row * value_heads + head) + 1];
        barrier();
        if (works) {
            precise float by_k = 0, by_q = 0, kq = 0;
            [[unroll]] for (uint k = 0; k < KEYS; k++) {
                by_k = fma(s[k], keys[k0 + k], by_k);
                by_q = fma(s[k], queries[k0 + k], by_q);
                kq = fma(keys[k0 + k], queries[k0 + k], kq);
            }
            sum_k[part][v] = by_k, sum_q[part][v] = by_q;
            if (v == 0) sum_kq[part] = kq;
        }
        barrier();
        if (works) {
            precise float was = sum_k[0][v], seen = sum_q[0][v], kq = sum_kq[0];
            for (uint p = 1; p < PARTS; p++) {
                was += sum_k[p][v];
                seen += sum_q[p][v];
                kq += sum_kq[p];
            }
            was *= g;
            seen *= g;
            precise float less = target - was;
            precise float d = beta * less;
            precise float y = fma(kq, d, seen);
            if (part == 0) Floats(result).v[(row * value_heads + head) * VALUE + v] = y;
            [[unroll]] for (uint k = 0; k < KEYS; k++) {
                precise float kept = g * s[k];
                precise float now = fma(keys[k0 + k], d, kept);
                s[k] = now;
            }
        }
        barrier();
    }
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++) state.v[at + k * VALUE] = s[k];
}
