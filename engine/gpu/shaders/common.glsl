// What all shaders share: memory by addresses, and elementary functions written out, so that a driver has no choice in
// how they are computed. `precise` keeps multiplications and additions apart where fma is not written.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_shuffle : require

// What one workgroup writes and another one of the same dispatch reads has to be coherent (token.comp).
#ifdef TOGETHER
#define SEEN coherent
#else
#define SEEN
#endif
layout(buffer_reference, scalar, buffer_reference_align = 16) SEEN buffer Quads { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) SEEN buffer Pairs { uvec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) SEEN buffer Words { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) SEEN buffer Floats { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Addresses { uint64_t v[]; };
// What no shader writes: weights.
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer WeightQuads { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer WeightPairs { uvec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer WeightWords { uint v[]; };

// Where a list may be absent (0), other memory to read in its place: Mesa 26's llvmpipe reads through an address that is
// the same in all lanes even if none of them takes the branch.
uint64_t present(uint64_t list, uint64_t other)
{
    return list == 0 ? other : list;
}

// A row of a pass (struct table_row) and a run (struct table_run): engine/gpu/pass/pass.h.
struct Row {
    uint run, position, token, index;
};
struct Run {
    uint64_t recurrent, conv_in, conv_out, pages;
    uint first_row, n, start, limit; // limit: of the ids that may be sampled
    uint64_t logits, topk;           // where those of its last token go, and the list of the best (topk.comp)
};
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Rows { Row v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Runs { Run v[]; };

// The sum of four products of signed bytes.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int sdot(int a, int b, spirv_literal int format);

// 128 columns of a token's activations: 32 words of int8, the sums of each 16 of them, the scale.
const uint CHUNK = 128, RECORD = 44, RECORD_SUMS = 32, RECORD_SCALE = 40, TILE = 32;

// 1 / x for x from 2^-126 to 1.6e38: Newton's iteration from a guess by the exponent.
float inverse(float x)
{
    precise float y = uintBitsToFloat(0x7EF311C7u - floatBitsToUint(x));
    [[unroll]] for (int i = 0; i < 4; i++) {
        precise float e = fma(-x, y, 1.0);
        y = fma(y, e, y);
    }
    return y;
}

// 1 / sqrt(x) for finite x > 2^-126.
float inverse_sqrt(float x)
{
    precise float y = uintBitsToFloat(0x5F375A86u - (floatBitsToUint(x) >> 1)), half_x = 0.5 * x;
    [[unroll]] for (int i = 0; i < 4; i++) {
        precise float yy = y * y;
        precise float e = fma(-half_x, yy, 0.5);
        y = fma(y, e, y);
    }
    return y;
}

// 1 / RMS of n elements, by the sum of their squares.
float inverse_rms(float squares, uint n, float eps)
{
    precise float mean = squares * inverse(float(n)) + eps;
    return inverse_sqrt(mean);
}

// 2^n exp(r), the polynomial of the kernel sets (engine/kernel/templates/elementwise_template.h); x is clamped.
float exp_clamped(float x)
{
    precise float y = max(min(x, 88.0), -87.0);
    precise float powers = y * 1.44269504;
    float whole = roundEven(powers);
    precise float r = fma(whole, -0.693359375, y);
    r = fma(whole, 2.12194440e-4, r);
    precise float p = 1.9875691500e-4;
    p = fma(p, r, 1.3981999507e-3);
    p = fma(p, r, 8.3334519073e-3);
    p = fma(p, r, 4.1665795894e-2);
    p = fma(p, r, 1.6666665459e-1);
    p = fma(p, r, 5.0000001201e-1);
    precise float rr = r * r;
    precise float q = fma(p, rr, r);
    precise float e = q + 1.0;
    return uintBitsToFloat(floatBitsToUint(e) + (uint(int(whole)) << 23));
}

float exp_of(float x)
{
    return x < -87.0 ? 0.0 : exp_clamped(x);
}

// Of an x below -87.9 as of that: inverse() has no guess for what is larger than 1.6e38.
float sigmoid(float x)
{
    precise float below = 1.0 + exp_clamped(min(-x, 87.9));
    return inverse(below);
}

// cap tanh(x / cap), as the kernel sets do it; doubled: 2 / cap.
float soft_cap(float x, float cap, float doubled)
{
    precise float inner = x * doubled;
    precise float y = fma(2.0, sigmoid(inner), -1.0) * cap;
    return y;
}

float silu(float x)
{
    precise float y = x * sigmoid(x);
    return y;
}

// log(1 + exp(x)), as the kernel sets do it.
float softplus(float x)
{
    precise float y = exp_of(-abs(x));
    bool low = y < 0.41421356;
    precise float less = y - 1.0;
    precise float f = low ? y : less * 0.5;
    precise float p = 7.0376836292e-2;
    p = fma(p, f, -1.1514610310e-1);
    p = fma(p, f, 1.1676998740e-1);
    p = fma(p, f, -1.2420140846e-1);
    p = fma(p, f, 1.4249322787e-1);
    p = fma(p, f, -1.6668057665e-1);
    p = fma(p, f, 2.0000714765e-1);
    p = fma(p, f, -2.4999993993e-1);
    p = fma(p, f, 3.3333331174e-1);
    precise float f2 = f * f;
    precise float pf = p * f;
    precise float q = pf * f2;
    precise float s = fma(f2, -0.5, q);
    precise float log1p = s + f;
    precise float rest = low ? 0.0 : 0.69314718;
    precise float sum = log1p + rest;
    precise float y_all = max(x, 0.0) + sum;
    return y_all;
}

vec4 four_floats(uint64_t base, uint at)
{
    return uintBitsToFloat(Quads(base).v[at / 4]);
}

// The i-th of four half floats in a uvec2.
vec4 halves(uvec2 w)
{
    return vec4(unpackHalf2x16(w.x), unpackHalf2x16(w.y));
}
