#version 460
#include "common.glsl"
#include "vision/vision.glsl"
// The learned positions, interpolated to the picture's grid. A workgroup is a patch.
layout(local_size_x = 128) in;
layout(push_constant, scalar) uniform Push {
    uint64_t positions, between, x;
    uint width, side, merge, columns, rows;
};

void main()
{
    uvec2 place = place_of(gl_WorkGroupID.x, columns, merge);
    // Of each row, then of each column: the lower one, the higher one, the higher one's share.
    uvec4 row = Quads(between).v[place.y], column = Quads(between).v[rows + place.x];
    precise float down = uintBitsToFloat(row.z), right = uintBitsToFloat(column.z), up = 1 - down, left = 1 - right;
    Floats p = Floats(positions);
    for (uint c = gl_LocalInvocationIndex; c < width; c += 128) {
        precise float high = fma(p.v[(row.x * side + column.y) * width + c], right,
                                 p.v[(row.x * side + column.x) * width + c] * left);
        precise float low = fma(p.v[(row.y * side + column.y) * width + c], right,
                                p.v[(row.y * side + column.x) * width + c] * left);
        precise float v = fma(low, down, high * up);
        Floats(x).v[gl_WorkGroupID.x * width + c] = v;
    }
}
