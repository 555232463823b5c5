#version 460
#include "common.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "products/weights.glsl"
// The products of matmul.comp for many tokens, by matrix units: out[t][r] = (or +=) sum over c of W[r][c] x[t][c].
//
// A workgroup has GROUPS subgroups; each has M rows of W and, with the others, COLUMNS tokens. A chunk of its weights and
// of its activations goes through shared memory, the next one is read meanwhile. Matrix units multiply bytes M x K by
// K x N and add up int32, which is exact; so the sums of each block of columns are those of matmul.comp. Then every lane
// scales its elements of them, in the order and with the formulas of products.glsl: the outputs have the same bits.
layout(local_size_x_id = 8) in;
layout(constant_id = 0) const uint KIND = 3; // of quants
layout(constant_id = 1) const uint SEGMENTS = 8;
layout(constant_id = 2) const uint M = 16; // M, N, K: what the device multiplies; K: a multiple of 8, at most 32
layout(constant_id = 3) const uint N = 16;
layout(constant_id = 4) const uint K = 32;
layout(constant_id = 5) const uint ELEMENTS = 8; // of M x N in a lane
layout(constant_id = 6) const uint PARTS = 4;    // of N tokens
layout(constant_id = 7) const uint GROUPS = 4;   // M GROUPS is a multiple of 32
layout(constant_id = 8) const uint LANES = 128;  // GROUPS subgroups
layout(constant_id = 9) const uint EXPERTS = 0;  // which tokens a workgroup has (batches.glsl): 0 or 2

layout(push_constant, scalar) uniform Push { // the first ones of matmul.comp
    uint64_t weights, x, result, chosen;
    uint tiles, chunks, rows, tokens, ldo, add, each;
};

const uint ROWS = M * GROUPS, COLUMNS = N * PARTS, BATCH = COLUMNS;
#include "products/batches.glsl"
// Columns whose products have one scale. Where K is more, they are followed by zeros in shared memory.
const uint BLOCK = KIND == Q6K ? 16 : 32, BLOCKS = CHUNK / BLOCK;
const uint PLACE = K > BLOCK ? K : BLOCK, STEPS = PLACE / K;
// In units of 8 bytes, with 16 bytes more, so that rows that are read together lie in different banks.
const uint ROW_UNITS = (BLOCKS * PLACE + 16) / 8, X_UNITS = (CHUNK + 16) / 8;
shared uvec2 row_units[ROWS * ROW_UNITS];
shared uvec2 x_units[COLUMNS * X_UNITS];
// What rows and tokens have besides. Rows: Q8, MXFP4: 4 scales; else d, the scales of the blocks, of Q4K -dmin m. Tokens: d, of
// Q4K d times the sum of each block.
const bool FOUR_SCALES = KIND == Q8 || KIND == MXFP4;
const uint ROW_FACTORS = FOUR_SCALES ? 4 : 9, X_FACTORS = KIND == Q4K ? 5 : 1;
shared uint row_factors[ROW_FACTORS * ROWS]; // the bits of floats, but for scales that are integers
shared float x_factors[X_FACTORS * COLUMNS];

#define MATRIX_A icoopmatNV<8, gl_ScopeSubgroup, M, K>
#define MATRIX_B icoopmatNV<8, gl_ScopeSubgroup, K, N>
#define MATRIX_C icoopmatNV<32, gl_ScopeSubgroup, M, N>

// What a lane reads of a chunk before it is needed.
const uint VECTORS = KIND == Q8 ? 8 : 4; // of a row, each with what belongs to it
const uint ROW_QUADS = (ROWS * VECTORS + LANES - 1) / LANES, ROW_SCALES = (ROWS + LANES - 1) / LANES;
const uint X_QUADS = (COLUMNS * 8 + LANES - 1) / LANES, X_SCALES = (COLUMNS + LANES - 1) / LANES;
uvec4 row_quads[ROW_QUADS], row_pairs[ROW_QUADS], x_quads[X_QUADS], x_sums[X_SCALES][2];
uvec2 row_scales[ROW_SCALES];
uint row_d[ROW_SCALES], x_d[X_SCALES];

// The first quad of a row's chunk, without the row's place in its tile.
uint chunk_at(uint row, uint c)
{
    return (min((gl_WorkGroupID.y * ROWS + row) / TILE, tiles - 1) * chunks + c) * chunk_quads(KIND);
}

void read(uint c)
{
    WeightQuads w = WeightQuads(batch_weights);
    [[unroll]] for (uint i = 0; i < ROW_QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        uint vector = e / TILE % VECTORS, row = e / TILE / VECTORS * TILE + e % TILE;
        uint at = chunk_at(row, c) + row % TILE;
        if (row < ROWS) {
            row_quads[i] = w.v[at + vector * TILE];
            if (KIND == Q6K) row_pairs[i] = w.v[at + (4 + vector % 2) * TILE];
        }
    }
    [[unroll]] for (uint i = 0; i < ROW_SCALES; i++) {
        uint row = i * LANES + gl_LocalInvocationIndex;
        uint at = chunk_at(row, c) + (KIND == Q8 ? 8 : KIND == Q6K ? 6 : 4) * TILE;
        if (row < ROWS) {
            if (KIND != MXFP4) row_scales[i] = WeightPairs(batch_weights).v[at * 2 + row % TILE];
            if (KIND == MXFP4) row_d[i] = WeightWords(batch_weights).v[at * 4 + row % TILE];
            else if (KIND != Q8) row_d[i] = WeightWords(batch_weights).v[at * 4 + 2 * TILE + row % TILE];
        }
    }
    [[unroll]] for (uint i = 0; i < X_QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex, token = input_row(min(e / 8, COLUMNS - 1));
        if (e < COLUMNS * 8) x_quads[i] = Quads(x).v[(token * chunks + c) * (RECORD / 4) + e % 8];
    }
    [[unroll]] for (uint i = 0; i < X_SCALES; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex, token = input_row(min(e, COLUMNS - 1));
        uint at = (token * chunks + c) * RECORD;
        if (e < COLUMNS) {
            x_d[i] = Words(x).v[at + RECORD_SCALE];
            if (KIND == Q4K)
                [[unroll]] for (uint j = 0; j < 2; j++) x_sums[i][j] = Quads(x).v[(at + RECORD_SUMS) / 4 + j];
        }
    }
}

// 16 columns of a row.
void put_row(uint row, uint part, uvec4 bytes)
{
    uint at = row * ROW_UNITS + (PLACE > BLOCK ? part * 4 : part * 2);
    row_units[at] = bytes.xy;
    row_units[at + 1] = bytes.zw;
}

// Six bits with their pairs on top, as signed bytes; shift: of the pairs.
uvec4 with_pairs(uvec4 nibbles, uvec4 pairs, uint shift)
{
    uvec4 six = nibbles | (pairs >> shift & 0x03030303u) << 4;
    return ((six | 0x80808080u) - 0x20202020u) ^ 0x80808080u;
}

void put_factors(uint row, uvec2 scales, uint d)
{
    if (KIND == Q8) {
        vec4 four = halves(scales);
        [[unroll]] for (uint i = 0; i < 4; i++) row_factors[i * ROWS + row] = floatBitsToUint(four[i]);
        return;
    }
    if (KIND == MXFP4) {
        [[unroll]] for (uint i = 0; i < 4; i++) row_factors[i * ROWS + row] = floatBitsToUint(half_scale(d, i));
        return;
    }
    vec2 two = unpackHalf2x16(d);
    row_factors[row] = floatBitsToUint(two.x);
    [[unroll]] for (uint i = 0; i < (KIND == Q4K ? 4 : 8); i++)
        row_factors[(1 + i) * ROWS + row] = uint(bitfieldExtract(int(scales[i / 4]), int(i % 4 * 8), 8));
    if (KIND == Q4K)
        [[unroll]] for (uint i = 0; i < 4; i++) {
            precise float low = -two.y * float(int(bitfieldExtract(scales.y, int(i * 8), 8)));
            row_factors[(5 + i) * ROWS + row] = floatBitsToUint(low);
        }
}

void put()
{
    [[unroll]] for (uint i = 0; i < ROW_QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        uint vector = e / TILE % VECTORS, row = e / TILE / VECTORS * TILE + e % TILE;
        if (row >= ROWS) continue;
        if (KIND == Q8) {
            put_row(row, vector, row_quads[i]);
            continue;
        }
        uvec4 low = row_quads[i] & 0x0F0F0F0Fu, high = row_quads[i] >> 4 & 0x0F0F0F0Fu;
        if (KIND == Q6K) {
            low = with_pairs(low, row_pairs[i], vector / 2 * 2);
            high = with_pairs(high, row_pairs[i], vector / 2 * 2 + 4);
        }
        if (KIND == MXFP4)
            [[unroll]] for (uint j = 0; j < 4; j++) {
                low[j] = doubled(low[j]);
                high[j] = doubled(high[j]);
            }
        put_row(row, vector, low);
        put_row(row, vector + 4, high);
    }
    [[unroll]] for (uint i = 0; i < ROW_SCALES; i++) {
        uint row = i * LANES + gl_LocalInvocationIndex;
        if (row < ROWS) put_factors(row, row_scales[i], row_d[i]);
    }
    [[unroll]] for (uint i = 0; i < X_QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex, at = e / 8 * X_UNITS + e % 8 * 2;
        if (e >= COLUMNS * 8) continue;
        x_units[at] = x_quads[i].xy;
        x_units[at + 1] = x_quads[i].zw;
    }
    [[unroll]] for (uint i = 0; i < X_SCALES; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        if (e >= COLUMNS) continue;
        float d = uintBitsToFloat(x_d[i]);
        x_factors[e] = d;
        if (KIND == Q4K)
            [[unroll]] for (uint b = 0; b < 4; b++) {
                precise float by = d * float(int(x_sums[i][b / 2][b % 2 * 2]) + int(x_sums[i][b / 2][b % 2 * 2 + 1]));
                x_factors[(1 + b) * COLUMNS + e] = by;
            }
    }
}

// Which row and which column of M x N the elements of this lane are: no specification says it, so a matrix of their own
// numbers is loaded. Drivers give each lane M N / lanes of them.
void places(out uint row[ELEMENTS], out uint column[ELEMENTS])
{
    for (uint i = gl_LocalInvocationIndex; i < M * N / 2; i += LANES) row_units[i] = uvec2(2 * i, 2 * i + 1);
    barrier();
    MATRIX_C all;
    coopMatLoadNV(all, row_units, 0, N / 2, false);
    [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
        row[e] = uint(all[e]) / N;
        column[e] = uint(all[e]) % N;
    }
    barrier();
}

// A chunk more of a subgroup's totals, of rows from `first` on: as quant_token in products.glsl has it.
void multiply(uint first, uint row[ELEMENTS], uint column[ELEMENTS], inout float total[PARTS][ELEMENTS])
{
    float part[PARTS][ELEMENTS]; // Q8
    int whole[PARTS][ELEMENTS];
    [[unroll]] for (uint p = 0; p < PARTS; p++)
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
            part[p][e] = 0;
            whole[p][e] = 0;
        }
    [[unroll]] for (uint b = 0; b < BLOCKS; b++) {
        MATRIX_A a[STEPS];
        uint factor[ELEMENTS], low[ELEMENTS];
        [[unroll]] for (uint s = 0; s < STEPS; s++)
            coopMatLoadNV(a[s], row_units, first * ROW_UNITS + (b * PLACE + s * K) / 8, ROW_UNITS, false);
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
            factor[e] = row_factors[(FOUR_SCALES ? b : 1 + b) * ROWS + first + row[e]];
            if (KIND == Q4K) low[e] = row_factors[(5 + b) * ROWS + first + row[e]];
        }
        [[unroll]] for (uint p = 0; p < PARTS; p++) {
            if (EXPERTS != 0 && !has_row(p * N)) continue; // of all parts behind the batch's last row
            MATRIX_C dots = MATRIX_C(0);
            [[unroll]] for (uint s = 0; s < STEPS; s++) {
                MATRIX_B some;
                coopMatLoadNV(some, x_units, p * N * X_UNITS + (b * BLOCK + s * K) / 8, X_UNITS, true);
                dots = coopMatMulAddNV(a[s], some, dots);
            }
            [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
                precise float sum = part[p][e], all = total[p][e];
                if (FOUR_SCALES) sum = fma(float(dots[e]), uintBitsToFloat(factor[e]), sum);
                else whole[p][e] += int(factor[e]) * dots[e];
                uint token = p * N + column[e];
                if (KIND == Q4K) all = fma(uintBitsToFloat(low[e]), x_factors[(1 + b) * COLUMNS + token], all);
                part[p][e] = sum;
                total[p][e] = all;
            }
        }
    }
    [[unroll]] for (uint p = 0; p < PARTS; p++)
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
            precise float d = x_factors[p * N + column[e]], scaled = float(whole[p][e]) * d, all = total[p][e];
            if (FOUR_SCALES) all = fma(part[p][e], d, all);
            else all = fma(scaled, uintBitsToFloat(row_factors[first + row[e]]), all);
            total[p][e] = all;
        }
}

void main()
{
    uint row[ELEMENTS], column[ELEMENTS], first = gl_SubgroupID * M;
    float sum[PARTS][ELEMENTS], total[PARTS][ELEMENTS];
    if (!find_batch(gl_WorkGroupID.x)) return;
    read(0);
    places(row, column);
    if (PLACE > BLOCK) // zeros that stay
        for (uint i = gl_LocalInvocationIndex; i < ROWS * ROW_UNITS; i += LANES) row_units[i] = uvec2(0);
    [[unroll]] for (uint p = 0; p < PARTS; p++)
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++) sum[p][e] = 0;
    for (uint segment = 0; segment < SEGMENTS; segment++) {
        [[unroll]] for (uint p = 0; p < PARTS; p++)
            [[unroll]] for (uint e = 0; e < ELEMENTS; e++) total[p][e] = 0;
        for (uint c = segment; c < chunks; c += SEGMENTS) {
            barrier(); // all are done with the chunk before
            put();
            barrier();
            uint after = c + SEGMENTS < chunks ? c + SEGMENTS : segment + 1;
            if (after < chunks) read(after);
            multiply(first, row, column, total);
        }
        [[unroll]] for (uint p = 0; p < PARTS; p++)
            [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
                precise float more = sum[p][e] + total[p][e];
                sum[p][e] = segment == 0 ? total[p][e] : more;
            }
    }
    Floats out_f = Floats(result);
    [[unroll]] for (uint p = 0; p < PARTS; p++)
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
            uint r = gl_WorkGroupID.y * ROWS + first + row[e], t = p * N + column[e];
            if (!has_row(t) || r >= rows) continue;
            uint to = result_row(t);
            precise float more = out_f.v[to * ldo + r] + sum[p][e];
            out_f.v[to * ldo + r] = add == 1 ? more : sum[p][e];
        }
}
