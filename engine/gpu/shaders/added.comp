#version 460
#include "common.glsl"
// A workgroup is a row.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 256; // as those of act.comp
layout(constant_id = 1) const uint SUBGROUP = 1;
#include "lanes.glsl"
#include "added.glsl"
layout(push_constant, scalar) uniform Push {
    Added p;
};

void main()
{
    add_normed(p, gl_WorkGroupID.x, 0, 1);
}
