#version 460
#include "common.glsl"
#include "vision/vision.glsl"
// Products of half floats where there are no matrix units for them: out[t][r] from sum over c of W[r][c] x[t][c]. A
// workgroup has SIDE rows and as many tokens, a lane 4 x 4 of them.
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint MODE = 0;
#include "vision/product.glsl"

const uint SIDE = 64, PITCH = SIDE + 4;
shared vec4 row_fours[DEPTH * PITCH / 4], x_fours[DEPTH * PITCH / 4];

// A lane's 8 halves of one of SIDE rows, from column c on.
uvec4 read(uint64_t from, uint row, uint all, uint c)
{
    return Quads(from).v[(min(row, all - 1) * columns + c) / 8 + gl_LocalInvocationIndex % 4];
}

void main()
{
    uint i = gl_LocalInvocationIndex, own = i / 4, first_row = 4 * (i % 16), first_token = 4 * (i / 16);
    uint row = gl_WorkGroupID.y * SIDE, token = gl_WorkGroupID.x * SIDE;
    vec4 sums[4] = vec4[4](vec4(0), vec4(0), vec4(0), vec4(0));
    for (uint c = 0; c < columns; c += DEPTH) {
        uvec4 w = read(weights, row + own, rows, c), a = read(x, token + own, tokens, c);
        barrier(); // all are done with the columns before
        [[unroll]] for (uint k = 0; k < 8; k++) {
            uint at = (8 * (i % 4) + k) * PITCH + own;
            row_fours[at / 4][at % 4] = unpackHalf2x16(w[k / 2])[k % 2];
            x_fours[at / 4][at % 4] = unpackHalf2x16(a[k / 2])[k % 2];
        }
        barrier();
        for (uint k = 0; k < DEPTH; k++) {
            vec4 of_rows = row_fours[(k * PITCH + first_row) / 4], of_tokens = x_fours[(k * PITCH + first_token) / 4];
            [[unroll]] for (uint t = 0; t < 4; t++) sums[t] = fma(of_rows, vec4(of_tokens[t]), sums[t]);
        }
    }
    [[unroll]] for (uint t = 0; t < 4; t++) finish(token + first_token + t, row + first_row, sums[t]);
}
