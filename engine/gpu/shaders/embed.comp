#version 460
#include "common.glsl"
#include "weights.glsl"
#include "embed.glsl"
// A workgroup is 128 columns of a row.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint KIND = 3;
layout(push_constant, scalar) uniform Push {
    Embed p;
};

void main()
{
    embed(KIND, p, gl_WorkGroupID.x, gl_WorkGroupID.y);
}
