#version 460
#include "common.glsl"
#include "vision/vision.glsl"
// Pixels to patches, as half floats in the order channel, y, x. A workgroup is a patch.
layout(local_size_x = 128) in;
layout(push_constant, scalar) uniform Push {
    uint64_t pixels, patches;
    uint side, merge, columns, values, ld; // side: of a patch; columns: patches of the picture
    float mean[3], by[3];
};

float value(uvec2 place, uint i)
{
    if (i >= values) return 0;
    uint channel = i / (side * side), y = i / side % side, x = i % side;
    uint at = 3 * ((place.y * side + y) * columns * side + place.x * side + x) + channel;
    precise float v = (float(Words(pixels).v[at / 4] >> 8 * (at % 4) & 0xFFu) - mean[channel]) * by[channel];
    return v;
}

void main()
{
    uvec2 place = place_of(gl_WorkGroupID.x, columns, merge);
    for (uint i = 2 * gl_LocalInvocationIndex; i < ld; i += 256)
        Words(patches).v[(gl_WorkGroupID.x * ld + i) / 2] = halves_of(value(place, i), value(place, i + 1));
}
