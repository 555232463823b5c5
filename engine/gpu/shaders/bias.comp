#version 460
#include "common.glsl"
// A workgroup is 128 columns of a row. Its size comes before what is included, which would else take it for 1.
layout(local_size_x = 128) in;
#include "bias.glsl"
layout(push_constant, scalar) uniform Push {
    Bias p;
};

void main()
{
    put_bias(p, gl_WorkGroupID.x, gl_WorkGroupID.y);
}
