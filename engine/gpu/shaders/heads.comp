#version 460
#include "common.glsl"
// Queries normalised, rotated and scaled; keys normalised and rotated, and values, into the state's pages. A workgroup is
// a head of a row: heads of queries first, then of keys and values.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint HALF = 0; // keys and values are float16
layout(constant_id = 1) const uint HEAD = 256;
layout(push_constant, scalar) uniform Push {
    uint64_t rows, runs, angles; // angles: [row][pair] cosine, then [row][pair] sine
    uint64_t q_gate, k, v, q_norm, k_norm, q;
    uint heads, kv_heads, rope_pairs, n_rows, layer_bytes, kv_bytes; // of a layer in a page; of one head's keys
    float eps, scale;
};
shared float part[64];
shared float value[HEAD];

void main()
{
    uint i = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
    bool key = head >= heads;
    uint kv_head = head - heads;
    Floats x = Floats(key ? k : q_gate);
    uint from = key ? (row * kv_heads + kv_head) * HEAD : (row * heads + head) * 2 * HEAD;
    precise float sum = 0;
    for (uint d = i; d < HEAD; d += 64) {
        value[d] = x.v[from + d];
        sum = fma(value[d], value[d], sum);
    }
    part[i] = sum;
    barrier();
    [[unroll]] for (uint n = 32; n > 0; n /= 2) {
        if (i < n) {
            precise float two = part[i] + part[i + n];
            part[i] = two;
        }
        barrier();
    }
    precise float mean = part[0] * inverse(float(HEAD)) + eps;
    precise float by = inverse_sqrt(mean);
    Floats norm = Floats(key ? k_norm : q_norm);
    for (uint d = i; d < HEAD; d += 64) {
        precise float y = value[d] * by * norm.v[d];
        value[d] = y;
    }
    barrier();
    Floats angle = Floats(angles);
    for (uint p = i; p < rope_pairs; p += 64) {
        float a = value[p], b = value[p + rope_pairs];
        float cosine = angle.v[row * rope_pairs + p], sine = angle.v[(n_rows + row) * rope_pairs + p];
        precise float bs = b * sine, as = a * sine;
        precise float first = fma(a, cosine, -bs), second = fma(b, cosine, as);
        value[p] = first;
        value[p + rope_pairs] = second;
    }
    barrier();
    if (!key) {
        Floats out_q = Floats(q);
        for (uint d = i; d < HEAD; d += 64) {
            precise float y = value[d] * scale;
            out_q.v[(row * heads + head) * HEAD + d] = y;
        }
        return;
    }
    Row r = Rows(rows).v[row];
    uint64_t page = Addresses(Runs(runs).v[r.run].pages).v[r.position / 32];
    uint64_t keys = page + layer_bytes + uint64_t(kv_head) * 2 * kv_bytes;
    Floats in_v = Floats(v);
    uint at = r.position % 32 * HEAD;
    if (HALF == 1) {
        Words out_k = Words(keys), out_v = Words(keys + kv_bytes);
        for (uint d = 2 * i; d < HEAD; d += 128) {
            out_k.v[(at + d) / 2] = packHalf2x16(vec2(value[d], value[d + 1]));
            out_v.v[(at + d) / 2] = packHalf2x16(vec2(in_v.v[from + d], in_v.v[from + d + 1]));
        }
    } else {
        Floats out_k = Floats(keys), out_v = Floats(keys + kv_bytes);
        for (uint d = i; d < HEAD; d += 64) {
            out_k.v[at + d] = value[d];
            out_v.v[at + d] = in_v.v[from + d];
        }
    }
}
