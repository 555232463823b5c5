#version 460
#include "common.glsl"
#include "weights.glsl"
#include "products.glsl"
// The products of matmul.comp for many tokens, of float types: out[t][r] = (or +=) sum over c of W[r][c] x[t][c].
//
// An output's arithmetic is that of matmul.comp: four sums over every fourth column of a segment, then the segments in
// ascending order. Four lanes that are neighbours have the same outputs, each one of their four sums, so that a lane has many
// outputs and few reads of shared memory for each: 64 such teams have 2 R rows and 2 T tokens each. 32 columns of weights, as
// floats, and of activations lie in shared memory, the next ones are read meanwhile.
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint KIND = 2; // of floats
layout(constant_id = 1) const uint SEGMENTS = 8;
layout(constant_id = 2) const uint R = 4; // even
layout(constant_id = 3) const uint T = 4;
layout(constant_id = 4) const uint SUBGROUP = 1;

layout(push_constant, scalar) uniform Push { // the first ones of matmul.comp
    uint64_t weights, x, result, unused;
    uint tiles, chunks, rows, tokens, ldo, add;
};

const uint LANES = 256, ROWS = 16 * R, COLUMNS = 16 * T;
const uint QUADS = 8, STEPS = CHUNK / 4 / QUADS; // of four columns in shared memory; as often in a chunk
const uint VECTORS = KIND == F32 ? QUADS : QUADS / 2;
// [QUADS][4: the column of a quad][rows or tokens], and some more, so that what lanes read, or write, together lies in
// different banks.
const uint ROW_PITCH = ROWS + 8, ROW_QUAD = 4 * ROW_PITCH + 4, X_PITCH = COLUMNS + 8, X_QUAD = 4 * X_PITCH + 4;
shared vec4 row_fours[QUADS * ROW_QUAD / 4];
shared vec2 x_twos[QUADS * X_QUAD / 2];
#include "lanes.glsl"

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
        [[unroll]] for (uint half_of = 0; half_of < QUADS / VECTORS; half_of++) {
            vec4 w = float_weights(KIND, row_ahead[i], half_of);
            [[unroll]] for (uint j = 0; j < 4; j++) {
                uint at = (vector * (QUADS / VECTORS) + half_of) * ROW_QUAD + j * ROW_PITCH + row;
                row_fours[at / 4][at % 4] = w[j];
            }
        }
    }
    [[unroll]] for (uint i = 0; i < X_EACH; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        if (e >= COLUMNS * QUADS) continue;
        [[unroll]] for (uint j = 0; j < 4; j++) {
            uint at = e % QUADS * X_QUAD + j * X_PITCH + e / QUADS;
            x_twos[at / 2][at % 2] = uintBitsToFloat(x_ahead[i][j]);
        }
    }
}

// A lane's sums: of rows 32 k + first_row + i, tokens 16 n + first_token + m: [2 n + m][k][i].
const uint FOURS = R / 2, TWOS = T;
vec4 sums[2 * TWOS][FOURS];

void multiply(uint j, uint first_row, uint first_token)
{
    [[unroll]] for (uint q = 0; q < QUADS; q++) {
        vec4 w[FOURS];
        [[unroll]] for (uint k = 0; k < FOURS; k++)
            w[k] = row_fours[(q * ROW_QUAD + j * ROW_PITCH + 32 * k + first_row) / 4];
        [[unroll]] for (uint n = 0; n < TWOS; n++) {
            vec2 some = x_twos[(q * X_QUAD + j * X_PITCH + 16 * n + first_token) / 2];
            [[unroll]] for (uint k = 0; k < FOURS; k++) {
                precise vec4 a = fma(w[k], vec4(some.x), sums[2 * n][k]), b = fma(w[k], vec4(some.y), sums[2 * n + 1][k]);
                sums[2 * n][k] = a;
                sums[2 * n + 1][k] = b;
            }
        }
    }
}

// Of four rows' sums that each of four lanes has one of, the j-th lane gets the j-th row's total, as float_total has it.
float total_of_row(uint j, vec4 v)
{
    bool odd = (j & 1) == 1, high = (j & 2) == 2;
    precise float low_pair = (odd ? v.y : v.x) + of_other(odd ? v.x : v.y, 1);
    precise float high_pair = (odd ? v.w : v.z) + of_other(odd ? v.z : v.w, 1);
    precise float total = (high ? high_pair : low_pair) + of_other(high ? low_pair : high_pair, 2);
    return total;
}

void main()
{
    // 32 lanes have 8 rows of a quad and 8 tokens, so that few of their reads differ.
    uint lane = gl_LocalInvocationIndex, j = lane % 4, team = lane / 4 % 8, warp = lane / 32;
    uint first_row = 4 * (team % 2 + 2 * (warp % 4)), first_token = 2 * (team / 2 + 4 * (warp / 4));
    float all[2 * TWOS][FOURS]; // of the segments before, of row j of each four
    read(0, 0);
    for (uint segment = 0; segment < SEGMENTS; segment++) {
        [[unroll]] for (uint t = 0; t < 2 * TWOS; t++)
            [[unroll]] for (uint k = 0; k < FOURS; k++) sums[t][k] = vec4(0);
        for (uint c = segment; c < chunks; c += SEGMENTS)
            for (uint step = 0; step < STEPS; step++) {
                barrier(); // all are done with the columns before
                put();
                barrier();
                uint after = step + 1 < STEPS ? c : c + SEGMENTS < chunks ? c + SEGMENTS : segment + 1;
                if (after < chunks) read(after, (step + 1) % STEPS);
                multiply(j, first_row, first_token);
            }
        [[unroll]] for (uint t = 0; t < 2 * TWOS; t++)
            [[unroll]] for (uint k = 0; k < FOURS; k++) {
                float total = total_of_row(j, sums[t][k]);
                precise float more = all[t][k] + total;
                all[t][k] = segment == 0 ? total : more;
            }
    }
    Floats out_f = Floats(result);
    [[unroll]] for (uint t = 0; t < 2 * TWOS; t++)
        [[unroll]] for (uint k = 0; k < FOURS; k++) {
            uint r = gl_WorkGroupID.y * ROWS + 32 * k + first_row + j;
            uint to = gl_WorkGroupID.x * COLUMNS + t / 2 * 16 + first_token + t % 2;
            if (to >= tokens || r >= rows) continue;
            precise float more = out_f.v[to * ldo + r] + all[t][k];
            out_f.v[to * ldo + r] = add == 1 ? more : all[t][k];
        }
}
