#version 460
#include "common.glsl"
#include "weights.glsl"
#include "products.glsl"
// The products of matmul.comp for many tokens, of float types: out[t][r] = (or +=) sum over c of W[r][c] x[t][c].
//
// A workgroup of 16 x 16 lanes has 16 R rows and 16 T tokens, a lane R x T of the outputs. 32 columns of weights, as floats,
// and of activations lie in shared memory, the next ones are read meanwhile. An output's arithmetic is that of matmul.comp:
// four sums over every fourth column of a segment, then the segments in ascending order.
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint KIND = 2; // of floats
layout(constant_id = 1) const uint SEGMENTS = 8;
layout(constant_id = 2) const uint R = 4; // even
layout(constant_id = 3) const uint T = 4;

layout(push_constant, scalar) uniform Push { // the first ones of matmul.comp
    uint64_t weights, x, result, unused;
    uint tiles, chunks, rows, tokens, ldo, add;
};

const uint LANES = 256, ROWS = 16 * R, COLUMNS = 16 * T;
const uint QUADS = 8, STEPS = CHUNK / 4 / QUADS; // of four columns in shared memory; as often in a chunk
const uint VECTORS = KIND == F32 ? QUADS : QUADS / 2;
// [QUADS][rows], and one more, so that what lanes write together lies in different banks.
shared vec4 row_quads[QUADS * ROWS], x_quads[QUADS * (COLUMNS + 1)];

// What a lane reads before it is needed.
const uint ROW_EACH = (ROWS * VECTORS + LANES - 1) / LANES, X_EACH = (COLUMNS * QUADS + LANES - 1) / LANES;
uvec4 row_ahead[ROW_EACH], x_ahead[X_EACH];

void read(uint c, uint step)
{
    WeightQuads w = WeightQuads(weights);
    [[unroll]] for (uint i = 0; i < ROW_EACH; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        uint vector = e / TILE % VECTORS, row = e / TILE / VECTORS * TILE + e % TILE;
        uint tile = min((gl_WorkGroupID.y * ROWS + row) / TILE, tiles - 1);
        uint at = (tile * chunks + c) * chunk_quads(KIND) + (step * VECTORS + vector) * TILE + row % TILE;
        if (row < ROWS) row_ahead[i] = w.v[at];
    }
    [[unroll]] for (uint i = 0; i < X_EACH; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex, token = min(gl_WorkGroupID.x * COLUMNS + e / QUADS, tokens - 1);
        if (e < COLUMNS * QUADS) x_ahead[i] = Quads(x).v[(token * chunks + c) * (CHUNK / 4) + step * QUADS + e % QUADS];
    }
}

void put()
{
    [[unroll]] for (uint i = 0; i < ROW_EACH; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        uint vector = e / TILE % VECTORS, row = e / TILE / VECTORS * TILE + e % TILE;
        if (row >= ROWS) continue;
        [[unroll]] for (uint half_of = 0; half_of < QUADS / VECTORS; half_of++)
            row_quads[(vector * (QUADS / VECTORS) + half_of) * ROWS + row] = float_weights(KIND, row_ahead[i], half_of);
    }
    [[unroll]] for (uint i = 0; i < X_EACH; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        if (e < COLUMNS * QUADS) x_quads[e % QUADS * (COLUMNS + 1) + e / QUADS] = uintBitsToFloat(x_ahead[i]);
    }
}

// first_row, first_token: a lane's, of which it has every 16th.
void multiply(uint first_row, uint first_token, inout vec4 four[R][T])
{
    [[unroll]] for (uint q = 0; q < QUADS; q++) {
        vec4 w[R];
        [[unroll]] for (uint r = 0; r < R; r++) w[r] = row_quads[q * ROWS + first_row + 16 * r];
        [[unroll]] for (uint t = 0; t < T; t++) {
            uvec4 some = floatBitsToUint(x_quads[q * (COLUMNS + 1) + first_token + 16 * t]);
            [[unroll]] for (uint r = 0; r < R; r++) four[r][t] = float_part(w[r], some, four[r][t]);
        }
    }
}

void main()
{
    // 32 lanes have 8 rows and 4 tokens, so that few of their reads differ.
    uint lane = gl_LocalInvocationIndex;
    uint first_row = lane % 8 + lane / 32 % 2 * 8, first_token = lane / 8 % 4 + lane / 64 * 4;
    float sum[R][T];
    vec4 four[R][T];
    [[unroll]] for (uint r = 0; r < R; r++)
        [[unroll]] for (uint t = 0; t < T; t++) sum[r][t] = 0;
    read(0, 0);
    for (uint segment = 0; segment < SEGMENTS; segment++) {
        [[unroll]] for (uint r = 0; r < R; r++)
            [[unroll]] for (uint t = 0; t < T; t++) four[r][t] = vec4(0);
        for (uint c = segment; c < chunks; c += SEGMENTS)
            for (uint step = 0; step < STEPS; step++) {
                barrier(); // all are done with the columns before
                put();
                barrier();
                uint after = step + 1 < STEPS ? c : c + SEGMENTS < chunks ? c + SEGMENTS : segment + 1;
                if (after < chunks) read(after, (step + 1) % STEPS);
                multiply(first_row, first_token, four);
            }
        [[unroll]] for (uint r = 0; r < R; r++)
            [[unroll]] for (uint t = 0; t < T; t++) {
                float total = float_total(four[r][t]);
                precise float more = sum[r][t] + total;
                sum[r][t] = segment == 0 ? total : more;
            }
    }
    Floats out_f = Floats(result);
    [[unroll]] for (uint t = 0; t < T; t++)
        [[unroll]] for (uint i = 0; i < R; i++) {
            uint r = gl_WorkGroupID.y * ROWS + first_row + 16 * i, to = gl_WorkGroupID.x * COLUMNS + first_token + 16 * t;
            if (to >= tokens || r >= rows) continue;
            precise float more = out_f.v[to * ldo + r] + sum[i][t];
            out_f.v[to * ldo + r] = add == 1 ? more : sum[i][t];
        }
}
