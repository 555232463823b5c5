// What products end with. Who includes this has MODE.
const uint TO_FLOATS = 0, ADDED = 1, GELU_TANH = 2, GELU_ERF = 3; // enum vision_mode
layout(push_constant, scalar) uniform Push {
    uint64_t weights, x, bias, result;
    uint columns, rows, tokens, ldo; // columns: a multiple of DEPTH; rows: a multiple of 4
};

float gelu_tanh(float v)
{
    precise float square = v * v;
    precise float inner = v * fma(square, 0.0713548162726, 1.59576912161);
    precise float y = v * sigmoid(inner);
    return y;
}

// The error function as the kernel sets have it (Abramowitz and Stegun 7.1.26).
float gelu_erf(float v)
{
    precise float a = abs(v) * 0.707106781;
    precise float below = fma(a, 0.3275911, 1.0);
    float t = inverse(below);
    precise float p = fma(1.061405429, t, -1.453152027);
    p = fma(p, t, 1.421413741);
    p = fma(p, t, -0.284496736);
    p = fma(p, t, 0.254829592);
    precise float half_of = p * t * exp_of(-a * a) * 0.5;
    precise float small = v * half_of;
    precise float large = v - small;
    return v < 0 ? small : large;
}

// Four rows' sums of a token, from row r on, which is a multiple of 4.
void finish(uint token, uint r, vec4 sums)
{
    if (token >= tokens || r >= ldo) return;
    uint at = token * ldo + r;
    precise vec4 v = r < rows ? sums + four_floats(bias, r) : vec4(0);
    if (MODE == TO_FLOATS || MODE == ADDED) {
        precise vec4 more = v;
        if (MODE == ADDED) more += four_floats(result, at);
        if (r < rows) Quads(result).v[at / 4] = floatBitsToUint(more);
        return;
    }
    if (r < rows) // of 0 it is 0
        [[unroll]] for (uint i = 0; i < 4; i++) v[i] = MODE == GELU_TANH ? gelu_tanh(v[i]) : gelu_erf(v[i]);
    Pairs(result).v[at / 4] = uvec2(halves_of(v.x, v.y), halves_of(v.z, v.w));
}
