#version 460
#include "common.glsl"
// Activations in the forms that products take (activation.glsl). A workgroup is a row.
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint MODE = 0;
layout(constant_id = 1) const uint LANES = 256; // a multiple of 32, the same for all passes of a device
layout(constant_id = 2) const uint SUBGROUP = 1;
layout(push_constant, scalar) uniform Push {
    uint64_t x, by, gate;
    uint64_t floats, records, index; // 0: not wanted; index: of the rows
    uint columns, ldx, ldg, head;
    float eps, scale;
};
const uint MODES = 1u << MODE;
#include "lanes.glsl"
#include "products/activation.glsl"

void put_word(uint chunk, uint word, uint value)
{
    uint chunks = (columns + CHUNK - 1) / CHUNK;
    Words(records).v[(gl_WorkGroupID.x * chunks + chunk) * RECORD + word] = value;
}

void put_floats(uint column, vec4 v)
{
    uint chunks = (columns + CHUNK - 1) / CHUNK;
    Quads(floats).v[(gl_WorkGroupID.x * chunks * CHUNK + column) / 4] = floatBitsToUint(v);
}

void main()
{
    uint to = gl_WorkGroupID.x;
    Activation a = Activation(x, by, gate, MODE, columns, ldx, ldg, head, eps, scale, floats != 0, records != 0);
    uint listed = Words(present(index, x)).v[index == 0 ? 0 : to];
    activate(a, index == 0 ? to : listed, multipliers(a, 4 * gl_LocalInvocationIndex));
}
