#version 460
#include "common.glsl"
// A workgroup is 128 columns of a row. Its size comes before what is included, which would else take it for 1.
layout(local_size_x = 128) in;
#include "products/weights.glsl"
#include "embed.glsl"
layout(constant_id = 0) const uint KIND = 3;
layout(push_constant, scalar) uniform Push {
    Embed p;
};

void main()
{
    embed(KIND, p, gl_WorkGroupID.x, gl_WorkGroupID.y);
}
