#version 460
#include "common.glsl"
// The gated delta rule where each run has a single token (delta_one.glsl). A workgroup is a slab of a value head of a run.
layout(local_size_x_id = 0) in; // SLAB / 2 * KEY / KEYS, at least 32
layout(constant_id = 0) const uint LANES = 256;
layout(constant_id = 1) const uint KEY = 128;
layout(constant_id = 2) const uint VALUE = 128;
layout(constant_id = 3) const uint KEYS = 16;
layout(constant_id = 4) const uint SLAB = 32;
layout(constant_id = 5) const uint SUBGROUP = 1;
#include "lanes.glsl"
#include "delta/conv.glsl"
#include "delta/delta.glsl"
#include "delta/delta_one.glsl"
layout(push_constant, scalar) uniform Push {
    Delta p;
};

shared float pool[SHARES * 2 * SLAB];

void wait_for_inputs() {}

void put_pool(uint at, float v)
{
    pool[at] = v;
}

float pool_float(uint at)
{
    return pool[at];
}

Gating gating_of(uint head, uint column)
{
    return Gating(vec4(0), vec4(0));
}

void put_outputs(Delta p, uint first, uint head, uint column, vec4 y, Gating gating)
{
    if (gl_LocalInvocationIndex < SLAB / 4) Quads(p.result).v[((first + head) * VALUE + column) / 4] = floatBitsToUint(y);
}

void main()
{
    delta_one(p, gl_WorkGroupID.x, gl_WorkGroupID.y, gl_WorkGroupID.z);
}
