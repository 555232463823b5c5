#version 460
#include "common.glsl"
// x += scale times the shares of what the experts and the shared expert yield.
layout(local_size_x = 128) in;
layout(constant_id = 0) const bool SHARED = true; // there is a shared expert
layout(push_constant, scalar) uniform Push {
    uint64_t x, experts, shared_expert, shares;
    uint columns, used;
    float scale;
};

void main()
{
    uint c = gl_WorkGroupID.x * 128 + gl_LocalInvocationID.x, row = gl_WorkGroupID.y;
    if (c >= columns) return;
    Floats in_shares = Floats(shares), out_x = Floats(x);
    precise float sum = 0;
    for (uint n = 0; n < used; n++)
        sum = fma(in_shares.v[row * (used + 1) + n], Floats(experts).v[(row * used + n) * columns + c], sum);
    if (SHARED) sum = fma(in_shares.v[row * (used + 1) + used], Floats(shared_expert).v[row * columns + c], sum);
    precise float scaled = sum * scale;
    precise float y = out_x.v[row * columns + c] + scaled;
    out_x.v[row * columns + c] = y;
}
