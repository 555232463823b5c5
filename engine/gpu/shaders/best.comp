#version 460
#include "common.glsl"
// The best logits of rows (best.glsl), in two dispatches; a workgroup takes some blocks of a row.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 256;
layout(constant_id = 1) const bool LISTS = false; // the second one
layout(constant_id = 2) const uint KEYS = 256;    // the larger of LANES and BLOCKS
layout(push_constant, scalar) uniform Push {
    uint64_t runs, rows, index, from, tops, drawn, next, stops, stopped;
    uint vocab, shift;
};
shared uvec2 keys[KEYS];

uvec2 own_key(uint at)
{
    return keys[at];
}

void put_key(uint at, uvec2 key)
{
    keys[at] = key;
}
#include "best.glsl"

void main()
{
    Best p = Best(runs, rows, index, from, tops, drawn, next, stops, stopped, vocab, shift);
    uint row = gl_WorkGroupID.y;
    if (LISTS) bound_of_blocks(p, row);
    for (uint block = gl_WorkGroupID.x; block < BLOCKS; block += gl_NumWorkGroups.x) {
        if (LISTS) list_block(p, block, row);
        else top_of_block(p, block, row);
    }
}
