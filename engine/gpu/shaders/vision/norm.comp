#version 460
#include "common.glsl"
#include "vision/vision.glsl"
// LayerNorm of rows, as half floats; `each` rows that follow each other become one. A workgroup is a row.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint SUBGROUP = 1;
const uint LANES = 128;
#include "lanes.glsl"
layout(push_constant, scalar) uniform Push {
    uint64_t x, by, bias, result;
    uint width, each, ld; // width: a multiple of 4
    float eps;
};

void main()
{
    uint row = gl_WorkGroupID.x, part_of = row % each, first = 4 * gl_LocalInvocationIndex;
    precise float sum = 0, squares = 0;
    for (uint c = first; c < width; c += 4 * LANES) {
        vec4 v = four_floats(x, row * width + c);
        sum += (v.x + v.y) + (v.z + v.w);
    }
    precise float mean = total_of(sum) * inverse(float(width));
    for (uint c = first; c < width; c += 4 * LANES) {
        precise vec4 v = four_floats(x, row * width + c) - mean;
        squares += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
    }
    float scale = inverse_rms(total_of(squares), width, eps);
    uint at = (row / each * ld + part_of * width) / 4;
    for (uint c = first; c < width; c += 4 * LANES) {
        precise vec4 near = four_floats(x, row * width + c) - mean;
        precise vec4 v = fma(near * scale, four_floats(by, c), four_floats(bias, c));
        Pairs(result).v[at + c / 4] = uvec2(halves_of(v.x, v.y), halves_of(v.z, v.w));
    }
    if (part_of + 1 == each) // what no column stands for
        for (uint c = each * width + first; c < ld; c += 4 * LANES)
            Pairs(result).v[(row / each * ld + c) / 4] = uvec2(0);
}
