#version 460
#include "common.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "vision/vision.glsl"
// The products of product.comp by matrix units that multiply half floats and add up floats.
//
// A subgroup has M TM tokens and N TN rows; a workgroup GM of them for more tokens, times GN for more rows. DEPTH
// columns of its tokens and rows lie in shared memory; the next ones are read, and put beside them, meanwhile.
layout(local_size_x_id = 8) in;
layout(constant_id = 0) const uint MODE = 0;
layout(constant_id = 1) const uint M = 16; // M, N, K: what the device multiplies
layout(constant_id = 2) const uint N = 16;
layout(constant_id = 3) const uint K = 16;
layout(constant_id = 4) const uint TM = 4;
layout(constant_id = 5) const uint TN = 4;
layout(constant_id = 6) const uint GM = 2;
layout(constant_id = 7) const uint GN = 2;
layout(constant_id = 8) const uint LANES = 128;
#include "vision/product.glsl"

// In quads, with one more, so that rows that are read together lie in different banks.
const uint TOKENS = M * TM * GM, ROWS = N * TN * GN, EACH = DEPTH / 8, PITCH = EACH + 1;
const uint PLACE = (TOKENS + ROWS) * PITCH, QUADS = ((TOKENS + ROWS) * EACH + LANES - 1) / LANES;
// Of a subgroup, in the end: M tokens' sums.
const uint OUT_PITCH = N * TN / 4 + 1, OUT_PLACE = M * OUT_PITCH, OUT_QUADS = GM * GN * OUT_PLACE;
shared uvec4 units[2 * PLACE > OUT_QUADS ? 2 * PLACE : OUT_QUADS];

#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, M, K>
#define MATRIX_B fcoopmatNV<16, gl_ScopeSubgroup, K, N>
#define MATRIX_C fcoopmatNV<32, gl_ScopeSubgroup, M, N>

uvec4 ahead[QUADS];

void read(uint c)
{
    [[unroll]] for (uint i = 0; i < QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex, own = e / EACH;
        uint token = min(gl_WorkGroupID.x * TOKENS + own, tokens - 1);
        uint row = min(gl_WorkGroupID.y * ROWS + own - TOKENS, rows - 1);
        bool of_tokens = own < TOKENS;
        if (e < (TOKENS + ROWS) * EACH)
            ahead[i] = Quads(of_tokens ? x : weights).v[((of_tokens ? token : row) * columns + c) / 8 + e % EACH];
    }
}

void put(uint place)
{
    [[unroll]] for (uint i = 0; i < QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        if (e < (TOKENS + ROWS) * EACH) units[place + e / EACH * PITCH + e % EACH] = ahead[i];
    }
}

void main()
{
    uint first_token = gl_SubgroupID % GM * M * TM, first_row = gl_SubgroupID / GM * N * TN, place = 0;
    MATRIX_C sums[TM][TN];
    [[unroll]] for (uint t = 0; t < TM; t++)
        [[unroll]] for (uint r = 0; r < TN; r++) sums[t][r] = MATRIX_C(0);
    read(0);
    put(0);
    barrier();
    for (uint c = 0; c < columns; c += DEPTH) {
        bool more = c + DEPTH < columns;
        if (more) read(c + DEPTH);
        [[unroll]] for (uint k = 0; k < DEPTH / K; k++) {
            MATRIX_A a[TM];
            [[unroll]] for (uint t = 0; t < TM; t++)
                coopMatLoadNV(a[t], units, place + (first_token + t * M) * PITCH + k * (K / 8), PITCH, false);
            [[unroll]] for (uint r = 0; r < TN; r++) {
                MATRIX_B b;
                coopMatLoadNV(b, units, place + (TOKENS + first_row + r * N) * PITCH + k * (K / 8), PITCH, true);
                [[unroll]] for (uint t = 0; t < TM; t++) sums[t][r] = coopMatMulAddNV(a[t], b, sums[t][r]);
            }
        }
        place = PLACE - place;
        if (more) put(place);
        barrier(); // all have put what is next, and are done with what was before
    }
    uint own = gl_SubgroupID * OUT_PLACE;
    [[unroll]] for (uint t = 0; t < TM; t++) {
        [[unroll]] for (uint r = 0; r < TN; r++)
            coopMatStoreNV(sums[t][r], units, own + r * (N / 4), OUT_PITCH, false);
        subgroupBarrier();
        for (uint e = gl_SubgroupInvocationID; e < M * (N * TN / 4); e += gl_SubgroupSize) {
            uint token = e / (N * TN / 4), four = e % (N * TN / 4);
            uint r = gl_WorkGroupID.y * ROWS + first_row + 4 * four;
            vec4 all = uintBitsToFloat(units[own + token * OUT_PITCH + four]);
            finish(gl_WorkGroupID.x * TOKENS + first_token + t * M + token, r, all);
        }
        subgroupBarrier();
    }
}
