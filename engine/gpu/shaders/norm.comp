#version 460
#include "common.glsl"
// The RMS norm of rows that lie anywhere. A workgroup is a row.
layout(local_size_x = 128) in;
layout(push_constant, scalar) uniform Push {
    uint64_t from, to, by;          // by: the multipliers
    uint64_t from_rows, to_rows;    // addresses of each row; 0: they follow each other from `from`, `to` on
    uint columns, ld_from, ld_to;
    float eps;
};
shared float part[128];

void main()
{
    uint i = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
    uint64_t first = from + uint64_t(row) * ld_from * 4, last = to + uint64_t(row) * ld_to * 4;
    uint64_t listed_first = Addresses(present(from_rows, by)).v[from_rows == 0 ? 0 : row];
    uint64_t listed_last = Addresses(present(to_rows, by)).v[to_rows == 0 ? 0 : row];
    if (from_rows != 0) first = listed_first;
    if (to_rows != 0) last = listed_last;
    Floats x = Floats(first), y = Floats(last), w = Floats(by);
    precise float sum = 0;
    for (uint c = i; c < columns; c += 128) sum = fma(x.v[c], x.v[c], sum);
    part[i] = sum;
    barrier();
    [[unroll]] for (uint n = 64; n > 0; n /= 2) {
        if (i < n) {
            precise float two = part[i] + part[i + n];
            part[i] = two;
        }
        barrier();
    }
    precise float mean = part[0] * inverse(float(columns)) + eps;
    float scale = inverse_sqrt(mean);
    for (uint c = i; c < columns; c += 128) {
        precise float v = x.v[c] * scale * w.v[c];
        y.v[c] = v;
    }
}
