#version 460
#include "common.glsl"
#include "conv.glsl"
// Gated DeltaNet before the delta rule: causal convolution and silu of a head's channels, the L2 norm of queries and keys,
// the gates. The state after the pass goes to other memory than the one before, which rows still read. A workgroup is a
// head of a row: query heads, key heads, value heads.
layout(local_size_x = 128) in;
layout(push_constant, scalar) uniform Push {
    uint64_t rows, runs, qkv, a, b, weights, rate, bias, result, gates; // gates: [row][value head] decay, beta
    uint key_heads, value_heads, key_dim, value_dim, taps, layer_floats; // layer_floats: before this layer's state
};
shared float part[128];
shared float value[256];

void main()
{
    uint i = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, row_at = gl_WorkGroupID.y;
    bool is_value = head >= 2 * key_heads;
    uint dim = is_value ? value_dim : key_dim, value_head = head - 2 * key_heads;
    uint c0 = is_value ? 2 * key_heads * key_dim + value_head * value_dim : head * key_dim;
    uint channels = 2 * key_heads * key_dim + value_heads * value_dim;
    Row row = Rows(rows).v[row_at];
    Run run = Runs(runs).v[row.run];
    Floats x = Floats(qkv), w = Floats(weights), before = Floats(run.conv_in), after = Floats(run.conv_out);
    precise float sum = 0;
    for (uint d = i; d < dim; d += 128) {
        uint c = c0 + d;
        precise float y = convolved(x, before, w, run, row.index, c, channels, taps, layer_floats);
        value[d] = y;
        sum = fma(y, y, sum);
        if (row.index == run.n - 1) keep_inputs(x, before, after, run, c, channels, taps, layer_floats);
    }
    part[i] = sum;
    barrier();
    [[unroll]] for (uint n = 64; n > 0; n /= 2) {
        if (i < n) {
            precise float two = part[i] + part[i + n];
            part[i] = two;
        }
        barrier();
    }
    float scale = is_value ? 1 : head_scale(part[0], head < key_heads, key_dim);
    for (uint d = i; d < dim; d += 128) {
        precise float y = value[d] * scale;
        Floats(result).v[row_at * channels + c0 + d] = y;
    }
    if (is_value && i == 0) {
        uint at = row_at * value_heads + value_head;
        vec2 both = gates_of(Floats(a).v[at], Floats(b).v[at], Floats(rate).v[value_head], Floats(bias).v[value_head]);
        Floats(gates).v[2 * at] = both.x;
        Floats(gates).v[2 * at + 1] = both.y;
    }
}
