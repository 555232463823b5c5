#version 460
#include "common.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#include "products/weights.glsl"
#include "products/products.glsl"
// The products of matmul.comp for many tokens, of float types: out[t][r] = (or +=) sum over c of W[r][c] x[t][c].
//
// An output's arithmetic is that of matmul.comp: four sums over every fourth column of a segment, then the segments in
// ascending order. Four lanes have the same outputs, each one of their four sums, so that a lane has many outputs and
// few reads of shared memory for each. A workgroup has TEAMS teams, which work on as many segments at once, for the
// same outputs. 4 QUADS columns of each team's weights, as floats, and activations lie in shared memory, the next ones
// are read meanwhile.
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint KIND = 2; // of floats
layout(constant_id = 1) const uint SEGMENTS = 8;
layout(constant_id = 2) const uint R = 4; // even
layout(constant_id = 3) const uint T = 4;
layout(constant_id = 4) const uint SUBGROUP = 1;
layout(constant_id = 5) const uint QUADS = 8; // of four columns in shared memory: 4 or 8
layout(constant_id = 6) const uint TEAMS = 1; // 1, 2, 4 or 8, and SEGMENTS a multiple of it
// How far from each other the four lanes of an output are. 1: neighbours. 8: of 32 lanes those that are neighbours have
// the same column, so that they share what they read of rows, or of tokens: shared memory serves twice as many at once.
layout(constant_id = 7) const uint APART = 1;
layout(constant_id = 8) const uint EXPERTS = 0; // which tokens a workgroup has (batches.glsl): 0 or 2

layout(push_constant, scalar) uniform Push { // the first ones of matmul.comp
    uint64_t weights, x, result, chosen;
    uint tiles, chunks, rows, tokens, ldo, add, each;
};

const uint LANES = 256, TEAM = LANES / TEAMS, ROWS = 16 * R, COLUMNS = 16 * T, BATCH = COLUMNS;
#include "products/batches.glsl"
const uint STEPS = CHUNK / 4 / QUADS; // as often are there so many columns in a chunk
const uint VECTORS = KIND == F32 ? QUADS : QUADS / 2;
// [QUADS][4: the column of a quad][rows or tokens], and some more, so that what lanes read, or write, together lies in
// different banks.
const uint ROW_PITCH = ROWS + 8, ROW_QUAD = 4 * ROW_PITCH;
const bool BY_32 = T % 2 == 0;
const uint X_QUAD = 4 * COLUMNS + (BY_32 ? 24 : 8) + (QUADS == 8 ? 4 : 0);
shared vec4 row_fours[TEAMS * QUADS * ROW_QUAD / 4];
shared vec2 x_twos[TEAMS * QUADS * X_QUAD / 2];
#include "lanes.glsl"

// Of large tiles little is read at once, and totals lie in shared memory, for two workgroups to find registers.
const bool LEAN = QUADS == 4 && TEAMS == 1;
shared float held[LEAN ? R * T * LANES : 1];

// The place of a lane: 32 of them, a warp, have 8 rows of a quad and 8 tokens, so that few of their reads differ. A
// team's warps are DOWN below each other, ACROSS beside each other. Of the four lanes of an output this is the j-th.
const uint WARPS = TEAM / 32, DOWN = WARPS < 4 ? WARPS : 4, ACROSS = WARPS / DOWN;
const uint FOURS = ROWS / 8 / DOWN, TWOS = COLUMNS / 8 / ACROSS;
uint in_team = gl_LocalInvocationIndex % TEAM, team = TEAMS == 1 ? 0 : gl_LocalInvocationIndex / TEAM;
uint lane = in_team % 32, warp = in_team / 32, j = lane / APART % 4, four = lane % APART + lane / (4 * APART) * APART;
uint first_row = 4 * (four / 2 % 2 + 2 * (warp % DOWN));
uint first_token = 2 * (four % 2 + four / 4 * 2 + 4 * (warp / DOWN));

uint x_place(uint column)
{
    return column * COLUMNS + 8 * (BY_32 ? column : column / 2);
}

// What a lane reads before it is needed.
const uint ROW_EACH = (ROWS * VECTORS + TEAM - 1) / TEAM, X_EACH = (COLUMNS * QUADS + TEAM - 1) / TEAM;
uvec4 row_ahead[ROW_EACH], x_ahead[X_EACH];

void read(uint c, uint step)
{
    WeightQuads w = WeightQuads(batch_weights);
    [[unroll]] for (uint i = 0; i < ROW_EACH; i++) {
        uint e = i * TEAM + in_team;
        uint vector = e / TILE % VECTORS, row = e / TILE / VECTORS * TILE + e % TILE;
        uint tile = min((gl_WorkGroupID.y * ROWS + row) / TILE, tiles - 1);
        uint at = (tile * chunks + c) * chunk_quads(KIND) + (step * VECTORS + vector) * TILE + row % TILE;
        if (row < ROWS) row_ahead[i] = w.v[at];
    }
    [[unroll]] for (uint i = 0; i < X_EACH; i++) {
        uint e = i * TEAM + in_team, token = input_row(min(e / QUADS, COLUMNS - 1));
        if (e < COLUMNS * QUADS) x_ahead[i] = Quads(x).v[(token * chunks + c) * (CHUNK / 4) + step * QUADS + e % QUADS];
    }
}

void put()
{
    [[unroll]] for (uint i = 0; i < ROW_EACH; i++) {
        uint e = i * TEAM + in_team;
        uint vector = e / TILE % VECTORS, row = e / TILE / VECTORS * TILE + e % TILE;
        if (row >= ROWS) continue;
        [[unroll]] for (uint half_of = 0; half_of < QUADS / VECTORS; half_of++) {
            vec4 w = float_weights(KIND, row_ahead[i], half_of);
            uint quad = team * QUADS + vector * (QUADS / VECTORS) + half_of;
            [[unroll]] for (uint k = 0; k < 4; k++) {
                uint at = quad * ROW_QUAD + k * ROW_PITCH + row;
                row_fours[at / 4][at % 4] = w[k];
            }
        }
    }
    [[unroll]] for (uint i = 0; i < X_EACH; i++) {
        uint e = i * TEAM + in_team;
        if (e >= COLUMNS * QUADS) continue;
        [[unroll]] for (uint k = 0; k < 4; k++) {
            uint at = (team * QUADS + e % QUADS) * X_QUAD + x_place(k) + e / QUADS;
            x_twos[at / 2][at % 2] = uintBitsToFloat(x_ahead[i][k]);
        }
    }
}

// A lane's sums: of rows 8 DOWN k + first_row + i, tokens 8 ACROSS n + first_token + m: [2 n + m][k][i].
vec4 sums[2 * TWOS][FOURS];

void multiply_quad(uint q)
{
    uint row_at = (team * QUADS + q) * ROW_QUAD + j * ROW_PITCH + first_row;
    uint x_at = (team * QUADS + q) * X_QUAD + x_place(j) + first_token;
    vec4 w[FOURS];
    [[unroll]] for (uint k = 0; k < FOURS; k++) w[k] = row_fours[row_at / 4 + 2 * DOWN * k];
    [[unroll]] for (uint n = 0; n < TWOS; n++) {
        vec2 some = x_twos[x_at / 2 + 4 * ACROSS * n];
        [[unroll]] for (uint k = 0; k < FOURS; k++) {
            precise vec4 a = fma(w[k], vec4(some.x), sums[2 * n][k]), b = fma(w[k], vec4(some.y), sums[2 * n + 1][k]);
            sums[2 * n][k] = a;
            sums[2 * n + 1][k] = b;
        }
    }
}

void multiply()
{
    if (LEAN) {
        [[dont_unroll]] for (uint q = 0; q < QUADS; q++) multiply_quad(q);
    } else {
        [[unroll]] for (uint q = 0; q < QUADS; q++) multiply_quad(q);
    }
}

// Of four rows' sums that each of four lanes has one of the j-th lane gets the j-th row's total, as float_total has it.
float total_of_row(vec4 v)
{
    bool odd = (j & 1) == 1, high = (j & 2) == 2;
    precise float low_pair = (odd ? v.y : v.x) + of_other(odd ? v.x : v.y, APART);
    precise float high_pair = (odd ? v.w : v.z) + of_other(odd ? v.z : v.w, APART);
    precise float total = (high ? high_pair : low_pair) + of_other(high ? low_pair : high_pair, 2 * APART);
    return total;
}

// The totals of the segments before. A place in a team has TEAMS R T outputs, of row j of each four; of these the lanes
// of all teams at this place have R T each, every TEAMS-th.
float all[R * T];

float before(uint g)
{
    if (LEAN) return held[g * LANES + in_team];
    return all[g];
}

void keep(uint g, float total)
{
    if (LEAN) held[g * LANES + in_team] = total;
    else all[g] = total;
}

// Adds the totals of the segments that the teams have worked on.
void add_totals(bool first)
{
    if (TEAMS == 1) {
        [[unroll]] for (uint g = 0; g < R * T; g++) {
            float total = total_of_row(sums[g / FOURS][g % FOURS]);
            precise float more = before(g) + total;
            keep(g, first ? total : more);
        }
        return;
    }
    // R for each lane at a time: there is room for them where weights lie.
    [[unroll]] for (uint t = 0; t < T; t++) {
        barrier(); // all are done with what lies there
        [[unroll]] for (uint i = 0; i < R * TEAMS; i++) {
            uint e = t * R * TEAMS + i, at = (team * R * TEAMS + i) * TEAM + in_team;
            row_fours[at / 4][at % 4] = total_of_row(sums[e / FOURS][e % FOURS]);
        }
        barrier();
        [[unroll]] for (uint i = 0; i < R; i++)
            [[unroll]] for (uint n = 0; n < TEAMS; n++) {
                uint at = (n * R + i) * LANES + gl_LocalInvocationIndex;
                float total = row_fours[at / 4][at % 4];
                precise float more = before(t * R + i) + total;
                keep(t * R + i, first && n == 0 ? total : more);
            }
    }
    barrier();
}

// The lanes of a team have come here.
void wait_for_team()
{
    if (TEAM == 32 && SUBGROUP >= 32) subgroupBarrier();
    else barrier();
}

void main()
{
    if (!find_batch(gl_WorkGroupID.x)) return;
    if (team < chunks) read(team, 0);
    for (uint turn = 0; turn < SEGMENTS / TEAMS; turn++) {
        [[unroll]] for (uint t = 0; t < 2 * TWOS; t++)
            [[unroll]] for (uint k = 0; k < FOURS; k++) sums[t][k] = vec4(0);
        // The same for all teams, though some may have a chunk less: they meet at barriers.
        for (uint c = turn * TEAMS; c < chunks; c += SEGMENTS)
            for (uint step = 0; step < STEPS; step++) {
                bool is_there = TEAMS == 1 || c + team < chunks;
                wait_for_team(); // all are done with the columns before
                if (is_there) put();
                wait_for_team();
                uint after = team + (step + 1 < STEPS ? c : c + SEGMENTS < chunks ? c + SEGMENTS : (turn + 1) * TEAMS);
                if (after < chunks) read(after, (step + 1) % STEPS);
                if (is_there) multiply();
            }
        add_totals(turn == 0);
    }
    Floats out_f = Floats(result);
    [[unroll]] for (uint g = 0; g < R * T; g++) {
        uint e = g * TEAMS + team, t = e / FOURS, k = e % FOURS;
        uint r = gl_WorkGroupID.y * ROWS + 8 * DOWN * k + first_row + j;
        uint token = t / 2 * 8 * ACROSS + first_token + t % 2;
        if (!has_row(token) || r >= rows) continue;
        uint to = result_row(token);
        precise float more = out_f.v[to * ldo + r] + before(g);
        out_f.v[to * ldo + r] = add == 1 ? more : before(g);
    }
}
