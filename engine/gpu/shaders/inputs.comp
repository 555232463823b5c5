#version 460
#include "common.glsl"
// What each layer is told of the token (engine/forward/inputs.c): (norm(projected * before) + told) * sqrt(1/2). A workgroup is
// a layer of a row.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 256; // as those of act.comp
layout(constant_id = 1) const uint SUBGROUP = 1;
#include "lanes.glsl"
layout(push_constant, scalar) uniform Push {
    uint64_t projected, told, by; // projected, told: [row][layer][width]; the latter is the table's, scaled; by: multipliers
    uint width;
    float before, eps;
};

void main()
{
    const uint STEP = 4 * LANES;
    uint own = 4 * gl_LocalInvocationIndex, first = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * width;
    precise vec4 four = vec4(0);
    for (uint c = own; c < width; c += STEP) {
        precise vec4 v = four_floats(projected, first + c) * before;
        four = fma(v, v, four);
    }
    precise float low = four.x + four.y, high = four.z + four.w;
    precise float sum = low + high;
    float scale = inverse_rms(total_of(sum), width, eps);
    for (uint c = own; c < width; c += STEP) {
        precise vec4 v = four_floats(projected, first + c) * before;
        precise vec4 y = v * scale;
        y *= four_floats(by, c);
        precise vec4 both = y + four_floats(told, first + c);
        both *= 0.70710678;
        Quads(projected).v[(first + c) / 4] = floatBitsToUint(both);
    }
}
