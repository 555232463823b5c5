#version 460
#include "common.glsl"
// Gated DeltaNet before the delta rule: causal convolution and silu of a head's channels, the L2 norm of queries and keys,
// the gates. The state after the pass goes to other memory than the one before, which rows still read. 32 lanes are a head of a
// row: query heads, key heads, value heads; the rows of a workgroup follow each other, so that they read much the same.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint SUBGROUP = 1;
const uint LANES = 128, TEAMS = LANES / 32;
#include "lanes.glsl"
#include "delta/conv.glsl"
layout(push_constant, scalar) uniform Push {
    uint64_t rows, runs, qkv, a, b, weights, rate, bias, result, gates; // gates: [row][value head] decay, beta
    uint key_heads, value_heads, key_dim, value_dim, taps, layer_floats; // layer_floats: before this layer's state
    uint n_rows;
};

// Four channels from c on, 32 apart, of those before `end`: their inputs, and what is to be multiplied with these. At most four
// taps. All are loaded together.
float in_x[4][4], in_w[4][4];
void load_four(Run run, uint index, uint c, uint end, uint channels)
{
    Floats x = Floats(qkv), before = Floats(run.conv_in), w = Floats(weights);
    [[unroll]] for (uint k = 0; k < 4; k++)
        [[unroll]] for (uint j = 0; j < 4; j++) {
            // from: less taps - 1, the token whose input this tap takes
            uint tap = min(j, taps - 1), from = index + tap, at = min(c + 32 * k, end - 1);
            in_w[k][j] = w.v[tap * channels + at];
            if (from + 1 >= taps) in_x[k][j] = x.v[(run.first_row + from + 1 - taps) * channels + at];
            else in_x[k][j] = before.v[layer_floats + from * channels + at];
        }
}

float convolved(uint k)
{
    precise float y = 0;
    [[unroll]] for (uint j = 0; j < 4; j++)
        if (j < taps) y = fma(in_w[k][j], in_x[k][j], y);
    return silu(y);
}

void main()
{
    uint i = gl_LocalInvocationIndex, lane = i % 32, head = gl_WorkGroupID.x, row_at = gl_WorkGroupID.y * TEAMS + i / 32;
    bool is_value = head >= 2 * key_heads, there = row_at < n_rows;
    uint dim = is_value ? value_dim : key_dim, value_head = head - 2 * key_heads;
    uint c0 = is_value ? 2 * key_heads * key_dim + value_head * value_dim : head * key_dim;
    uint channels = 2 * key_heads * key_dim + value_heads * value_dim;
    Row row = Rows(rows).v[min(row_at, n_rows - 1)];
    Run run = Runs(runs).v[row.run];
    Floats after = Floats(run.conv_out);
    float y[8]; // a head has at most 256 elements
    precise float some[4];
    [[unroll]] for (uint k = 0; k < 8; k++) {
        if (k < 4) some[k] = 0;
        y[k] = 0;
        if (k / 4 * 128 >= dim) continue;
        uint d = lane + 32 * k;
        if (k % 4 == 0) load_four(run, row.index, c0 + d, c0 + dim, channels);
        if (d >= dim) continue;
        y[k] = convolved(k % 4);
        some[k % 4] = fma(y[k], y[k], some[k % 4]);
        if (!there || row.index != run.n - 1) continue;
        [[unroll]] for (uint j = 0; j < 3; j++)
            if (j + 1 < taps) after.v[layer_floats + j * channels + c0 + d] = in_x[k % 4][j + 1];
    }
    float squares = sum_of_parts(some), scale = is_value ? 1 : head_scale(squares, head < key_heads, key_dim);
    if (!there) return;
    [[unroll]] for (uint k = 0; k < 8; k++) {
        precise float scaled = y[k] * scale;
        if (lane + 32 * k < dim) Floats(result).v[row_at * channels + c0 + lane + 32 * k] = scaled;
    }
    if (is_value && lane == 0) {
        uint at = row_at * value_heads + value_head;
        vec2 of = gates_of(Floats(a).v[at], Floats(b).v[at], Floats(rate).v[value_head], Floats(bias).v[value_head]);
        Floats(gates).v[2 * at] = of.x;
        Floats(gates).v[2 * at + 1] = of.y;
    }
}
