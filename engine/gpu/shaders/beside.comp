#version 460
#include "common.glsl"
// Experts beside a dense network: what each of both yields is normalised, then their sum, which is added to x; then x is
// multiplied with the layer's scale, if there is one. A workgroup is a row; a lane has the same columns all the time, and
// leaves them in the places of the first expert and of the dense network.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 256; // as those of act.comp
layout(constant_id = 1) const uint SUBGROUP = 1;
#include "lanes.glsl"
layout(push_constant, scalar) uniform Push {
    uint64_t x, experts, shares, dense;                // experts: [row][used][columns]; shares: [row][used + 1]
    uint64_t by_experts, by_dense, by_both, all_scale; // multipliers of norms; all_scale 0: none
    uint columns, used;
    float eps;
};

float squares_of(vec4 v, float before)
{
    precise float sum = fma(v.x, v.x, before);
    sum = fma(v.y, v.y, sum);
    sum = fma(v.z, v.z, sum);
    sum = fma(v.w, v.w, sum);
    return sum;
}

void main()
{
    const uint STEP = 4 * LANES;
    uint own = 4 * gl_LocalInvocationIndex, row = gl_WorkGroupID.x, first = row * used * columns;
    float of_experts = 0, of_dense = 0, of_both = 0;
    [[dont_unroll]] for (uint c = own; c < columns; c += STEP) {
        precise vec4 sum = vec4(0);
        for (uint n = 0; n < used; n++)
            sum = fma(vec4(Floats(shares).v[row * (used + 1) + n]), four_floats(experts, first + n * columns + c), sum);
        Quads(experts).v[(first + c) / 4] = floatBitsToUint(sum);
        of_experts = squares_of(sum, of_experts);
        of_dense = squares_of(four_floats(dense, row * columns + c), of_dense);
    }
    float by_e = inverse_rms(total_of(of_experts), columns, eps), by_d = inverse_rms(total_of(of_dense), columns, eps);
    [[dont_unroll]] for (uint c = own; c < columns; c += STEP) {
        precise vec4 a = four_floats(experts, first + c) * by_e, b = four_floats(dense, row * columns + c) * by_d;
        a *= four_floats(by_experts, c);
        b *= four_floats(by_dense, c);
        precise vec4 sum = a + b;
        Quads(dense).v[(row * columns + c) / 4] = floatBitsToUint(sum);
        of_both = squares_of(sum, of_both);
    }
    float by_b = inverse_rms(total_of(of_both), columns, eps), all = Floats(present(all_scale, by_both)).v[0];
    [[dont_unroll]] for (uint c = own; c < columns; c += STEP) {
        precise vec4 y = four_floats(dense, row * columns + c) * by_b;
        y *= four_floats(by_both, c);
        precise vec4 more = four_floats(x, row * columns + c) + y;
        if (all_scale != 0) more *= all;
        Quads(x).v[(row * columns + c) / 4] = floatBitsToUint(more);
    }
}
