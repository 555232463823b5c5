#version 460
#include "common.glsl"
// Reads memory once, 16 bytes a lane, EACH vectors in flight: how fast the device reads (measure.c).
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint EACH = 8;
layout(push_constant, scalar) uniform Push {
    uint64_t from, result;
    uint quads; // a multiple of EACH times the lanes of a workgroup
};

void main()
{
    Quads in_quads = Quads(from);
    uint lanes = gl_WorkGroupSize.x, piece = lanes * EACH;
    uvec4 sum = uvec4(0);
    for (uint at = gl_WorkGroupID.x * piece; at < quads; at += gl_NumWorkGroups.x * piece) {
        uvec4 some[EACH];
        [[unroll]] for (uint k = 0; k < EACH; k++) some[k] = in_quads.v[at + k * lanes + gl_LocalInvocationID.x];
        [[unroll]] for (uint k = 0; k < EACH; k++) sum ^= some[k];
    }
    uint all = sum.x ^ sum.y ^ sum.z ^ sum.w;
    if (all == 0x12345678u) Words(result).v[0] = all;
}
