#version 460
#include "common.glsl"
#include "conv.glsl"
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
layout(constant_id = 5) const uint CONV = 0; // 1: runs have one token, and what conv.comp does is done here
layout(push_constant, scalar) uniform Push {
    uint64_t runs, qkv, gates, result; // qkv: after the convolution; CONV 1: before it
    uint key_heads, value_heads, tiled, layer_floats; // layer_floats: before this layer's state
    uint64_t a, b, weights, rate, bias; // CONV 1, as conv.comp has them
    uint taps, conv_floats;
};
const uint PARTS = KEY / KEYS, LANES = SLAB * PARTS, EACH = (2 * KEY + LANES - 1) / LANES;
shared float queries[2][2 * KEY]; // queries and keys of this token and of the next
shared float sum_k[PARTS][SLAB], sum_q[PARTS][SLAB], sum_kq[PARTS];

shared float squares[2][128];

// One token: queries, keys to queries[0]; returns the value's target and the gates. As conv.comp, lane by lane.
vec3 convolve(Run run, uint head, uint key_head, uint v)
{
    uint i = gl_LocalInvocationIndex, channels = 2 * key_heads * KEY + value_heads * VALUE;
    Floats x = Floats(qkv), before = Floats(run.conv_in), after = Floats(run.conv_out), w = Floats(weights);
    bool first = tiled == 1 ? head < key_heads : head % (value_heads / key_heads) == 0;
    for (uint e = i; e < 2 * KEY; e += LANES) {
        uint c = (e / KEY * key_heads + key_head) * KEY + e % KEY;
        queries[0][e] = convolved(x, before, w, run, 0, c, channels, taps, conv_floats);
        if (first && gl_WorkGroupID.z == 0) keep_inputs(x, before, after, run, c, channels, taps, conv_floats);
    }
    barrier();
    for (uint e = i; e < 256; e += LANES) {
        precise float sum = 0;
        for (uint d = e % 128; d < KEY; d += 128) sum = fma(queries[0][e / 128 * KEY + d], queries[0][e / 128 * KEY + d], sum);
        squares[e / 128][e % 128] = sum;
    }
    barrier();
    [[unroll]] for (uint n = 64; n > 0; n /= 2) {
        for (uint e = i; e < 2 * n; e += LANES) {
            precise float two = squares[e / n][e % n] + squares[e / n][e % n + n];
            squares[e / n][e % n] = two;
        }
        barrier();
    }
    for (uint e = i; e < 2 * KEY; e += LANES) {
        precise float y = queries[0][e] * head_scale(squares[e / KEY][0], e < KEY, KEY);
        queries[0][e] = y;
    }
    uint c = 2 * key_heads * KEY + head * VALUE + v, at = run.first_row * value_heads + head;
    float target = convolved(x, before, w, run, 0, c, channels, taps, conv_floats);
    if (i < SLAB) keep_inputs(x, before, after, run, c, channels, taps, conv_floats);
    return vec3(target, gates_of(Floats(a).v[at], Floats(b).v[at], Floats(rate).v[head], Floats(bias).v[head]));
}

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
        float next_target = 0;
        vec2 next_gates = vec2(0);
        uint row = run.first_row + min(t, run.n - 1), from = row * channels;
        if (CONV == 0) {
            [[unroll]] for (uint e = 0; e < EACH; e++) {
                uint place = min(i + e * LANES, 2 * KEY - 1);
                next[e] = x.v[from + (place / KEY * key_heads + key_head) * KEY + place % KEY];
            }
            next_target = x.v[from + 2 * key_heads * KEY + head * VALUE + v];
            next_gates = uintBitsToFloat(gate.v[row * value_heads + head]);
        } else if (t == 0) {
            vec3 all = convolve(run, head, key_head, v);
            next_target = all.x, next_gates = all.yz;
        }
        if (t > 0) {
            uint now_in = (t - 1) % 2;
            precise float by_k = 0, by_q = 0, kq = 0;
            [[unroll]] for (uint k = 0; k < KEYS; k++) {
                float q = queries[now_in][k0 + k], key = queries[now_in][KEY + k0 + k];
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
                precise float now = fma(queries[now_in][KEY + k0 + k], d, kept);
                s[k] = now;
            }
        }
        [[unroll]] for (uint e = 0; e < EACH; e++)
            if (CONV == 0 && i + e * LANES < 2 * KEY) queries[t % 2][i + e * LANES] = next[e];
        target = next_target;
        gates_now = next_gates;
        barrier();
    }
    [[unroll]] for (uint k = 0; k < KEYS; k++) state.v[at + k * VALUE] = s[k];
}
