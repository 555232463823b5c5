#version 460
#include "common.glsl"
// The gated delta rule, token by token, for SLAB columns of a value head's state: with S [key dim][value dim], g its decay,
//   d = beta (v - g S^T k); out = g S^T q + (k . q) d; S = g S + k d^T.
// S is in registers: lane i has column i % SLAB of the keys [part KEYS, (part + 1) KEYS), part = i / SLAB. The sums of the
// parts are added in ascending order. What the next token needs is loaded while this one is worked on. A workgroup is a
// slab of a value head of a run.
layout(local_size_x_id = 0) in; // SLAB * PARTS
layout(constant_id = 1) const uint KEY = 128;
layout(constant_id = 2) const uint VALUE = 128;
layout(constant_id = 3) const uint KEYS = 16;
layout(constant_id = 4) const uint SLAB = 32;
layout(push_constant, scalar) uniform Push {
    uint64_t runs, qkv, gates, result; // qkv: after the convolution
    uint key_heads, value_heads, tiled, layer_floats; // layer_floats: before this layer's state
};
const uint PARTS = KEY / KEYS, LANES = SLAB * PARTS, EACH = (2 * KEY + LANES - 1) / LANES;
shared float queries[2][2 * KEY]; // queries and keys of this token and of the next
shared float sum_k[PARTS][SLAB], sum_q[PARTS][SLAB], sum_kq[PARTS];

void main()
{
    uint i = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, column = i % SLAB, part = i / SLAB, k0 = part * KEYS;
    uint v = gl_WorkGroupID.z * SLAB + column;
    uint key_head = tiled == 1 ? head % key_heads : head / (value_heads / key_heads);
    uint channels = 2 * key_heads * KEY + value_heads * VALUE;
    Run run = Runs(runs).v[gl_WorkGroupID.y];
    Floats state = Floats(run.recurrent), x = Floats(qkv), out_v = Floats(result);
    Pairs gate = Pairs(gates);
    uint at = layer_floats + (head * KEY + k0) * VALUE + v;
    float s[KEYS], next[EACH], target = 0;
    vec2 gates_now = vec2(0);
    [[unroll]] for (uint k = 0; k < KEYS; k++) s[k] = state.v[at + k * VALUE];
    for (uint t = 0; t <= run.n; t++) {
        // Loads for token t; the work on token t - 1 comes after, its queries and keys are in shared memory.
        uint row = run.first_row + min(t, run.n - 1), from = row * channels;
        [[unroll]] for (uint e = 0; e < EACH; e++) {
            uint place = min(i + e * LANES, 2 * KEY - 1);
            next[e] = x.v[from + (place / KEY * key_heads + key_head) * KEY + place % KEY];
        }
        float next_target = x.v[from + 2 * key_heads * KEY + head * VALUE + v];
        vec2 next_gates = uintBitsToFloat(gate.v[row * value_heads + head]);
        if (t > 0) {
            uint b = (t - 1) % 2;
            precise float by_k = 0, by_q = 0, kq = 0;
            [[unroll]] for (uint k = 0; k < KEYS; k++) {
                float q = queries[b][k0 + k], key = queries[b][KEY + k0 + k];
                by_k = fma(s[k], key, by_k);
                by_q = fma(s[k], q, by_q);
                kq = fma(key, q, kq);
            }
            sum_k[part][column] = by_k, sum_q[part][column] = by_q;
            if (column == 0) sum_kq[part] = kq;
            barrier();
            precise float was = sum_k[0][column], seen = sum_q[0][column], all_kq = sum_kq[0];
            [[unroll]] for (uint p = 1; p < PARTS; p++) {
                was += sum_k[p][column];
                seen += sum_q[p][column];
                all_kq += sum_kq[p];
            }
            was *= gates_now.x;
            seen *= gates_now.x;
            precise float less = target - was;
            precise float d = gates_now.y * less;
            precise float y = fma(all_kq, d, seen);
            if (part == 0) out_v.v[((run.first_row + t - 1) * value_heads + head) * VALUE + v] = y;
            [[unroll]] for (uint k = 0; k < KEYS; k++) {
                precise float kept = gates_now.x * s[k];
                precise float now = fma(queries[b][KEY + k0 + k], d, kept);
                s[k] = now;
            }
        }
        [[unroll]] for (uint e = 0; e < EACH; e++)
            if (i + e * LANES < 2 * KEY) queries[t % 2][i + e * LANES] = next[e];
        target = next_target;
        gates_now = next_gates;
        barrier();
    }
    [[unroll]] for (uint k = 0; k < KEYS; k++) state.v[at + k * VALUE] = s[k];
}
