#version 460
#include "common.glsl"
// Heads of queries first, then of keys and values (heads.glsl). A workgroup is a head of a row.
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint KV = 0;
layout(constant_id = 1) const uint HEAD = 256;
layout(constant_id = 2) const uint SUBGROUP = 1;
const uint LANES = 32;
#include "lanes.glsl"
#include "heads.glsl"
layout(push_constant, scalar) uniform Push {
    Heads p;
};
shared float of_head[HEAD];

float head_float(uint at)
{
    return of_head[at];
}

void put_head_float(uint at, float v)
{
    of_head[at] = v;
}

void main()
{
    uint head = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
    bool key = head >= p.heads;
    turn_head(p, turn_of(p, key, row), head, row, true, 0);
    if (key) {
        Row r = Rows(p.rows).v[row];
        uint64_t page = Addresses(Runs(p.runs).v[r.run].pages).v[r.position / 32];
        put_kv(p, page, r.position % 32, head - p.heads, row, 0);
        return;
    }
    for (uint d = gl_LocalInvocationIndex; d < HEAD; d += LANES) Floats(p.q).v[(row * p.heads + head) * HEAD + d] = of_head[d];
}
