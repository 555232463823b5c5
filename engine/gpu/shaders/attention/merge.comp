#version 460
#include "common.glsl"
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint HEAD = 256;
#include "attention/merge.glsl"
#include "attention/attend.glsl"
// Merges the partial results of attend.comp. A workgroup is a head of a row.
layout(push_constant, scalar) uniform Push {
    uint64_t rows, partials, result;
    uint heads, blocks, window;
};

void main()
{
    uint head = gl_WorkGroupID.x, row = gl_WorkGroupID.y, position = Rows(rows).v[row].position;
    uint first = first_seen(window, position) / BLOCK, count = position / BLOCK + 1;
    Floats part = Floats(partials + uint64_t((row * heads + head) * blocks) * (HEAD + 2) * 4);
    for (uint d = gl_LocalInvocationID.x; d < HEAD; d += 128)
        Floats(result).v[(row * heads + head) * HEAD + d] = merge_blocks(part, first, count, d);
}
