#version 460
#include "common.glsl"
// Logits with a soft cap, in their place. A workgroup is 1024 of a row.
layout(local_size_x = 128) in;
#include "cap.glsl"
layout(push_constant, scalar) uniform Push {
    Cap p;
};

void main()
{
    cap_logits(p, p.logits + uint64_t(gl_WorkGroupID.y) * p.vocab * 4, gl_WorkGroupID.x);
}
