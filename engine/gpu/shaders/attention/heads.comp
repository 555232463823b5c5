#version 460
#include "common.glsl"
// Heads of queries first, then of keys and values (heads.glsl). A workgroup is a head of a row.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KV = 0;
layout(constant_id = 1) const uint HEAD = 256;
layout(constant_id = 2) const bool NORMED = true;
layout(constant_id = 3) const bool VALUES_NORMED = false;
#include "attention/heads.glsl"
layout(push_constant, scalar) uniform Push {
    Heads p;
};

void main()
{
    prepare_head(p, gl_WorkGroupID.x, gl_WorkGroupID.y);
}
