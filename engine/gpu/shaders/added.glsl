// x += the RMS norm of what a sublayer yields, then x *= scale, if there is one: a part of a row, of which every workgroup sums all squares for itself, as
// activation.glsl does. Who includes this has included lanes.glsl.
struct Added {
    uint64_t x, from, by; // by: the multipliers
    uint columns;
    float eps;
    uint64_t scale; // 0: none
};

void add_normed(Added p, uint row, uint part, uint parts)
{
    const uint STEP = 4 * LANES;
    float all = Floats(present(p.scale, p.by)).v[0];
    uint own = 4 * gl_LocalInvocationIndex;
    precise vec4 four = vec4(0);
    [[dont_unroll]] for (uint c = own; c < p.columns; c += STEP) {
        vec4 v = four_floats(p.from, row * p.columns + c);
        four = fma(v, v, four);
    }
    precise float low = four.x + four.y, high = four.z + four.w;
    precise float sum = low + high;
    float scale = inverse_rms(total_of(sum), p.columns, p.eps);
    [[dont_unroll]] for (uint c = part * STEP + own; c < p.columns; c += parts * STEP) {
        uint at = row * p.columns + c;
        precise vec4 y = four_floats(p.from, at) * scale;
        y *= four_floats(p.by, c);
        precise vec4 more = four_floats(p.x, at) + y;
        if (p.scale != 0) more *= all;
        Quads(p.x).v[at / 4] = floatBitsToUint(more);
    }
}
