#version 460
#include "common.glsl"
#include "merge.glsl"
// Merges the partial results of attend.comp. A workgroup is a head of a row.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint HEAD = 256;
layout(push_constant, scalar) uniform Push {
    uint64_t rows, partials, result;
    uint heads, blocks;
};

void main()
{
    uint head = gl_WorkGroupID.x, row = gl_WorkGroupID.y, count = Rows(rows).v[row].position / 128 + 1;
    Floats part = Floats(partials + uint64_t((row * heads + head) * blocks) * (HEAD + 2) * 4);
    for (uint d = gl_LocalInvocationID.x; d < HEAD; d += 128) {
        float most = part.v[0], sum = part.v[1], acc = part.v[2 + d];
        for (uint b = 1; b < count; b++) {
            uint at = b * (HEAD + 2);
            Merge m = merge_of(most, part.v[at]);
            most = m.most;
            sum = merged(m, sum, part.v[at + 1]);
            acc = merged(m, acc, part.v[at + 2 + d]);
        }
        precise float y = acc * inverse(sum);
        Floats(result).v[(row * heads + head) * HEAD + d] = y;
    }
}
