#version 460
#include "common.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#include "products/weights.glsl"
// out[t][r] = (or +=) sum over c of W[r][c] x[t][c], for 32 rows and TOKENS tokens at a time.
//
// Lane x is a row. The columns have SEGMENTS segments: one has the chunks c with c % SEGMENTS = its number, in ascending order;
// lane y works on the segments y, y + TEAMS and so on. The sums of the segments are added in ascending order. SEGMENTS follows
// from the device and the matrix's shape, so each output's arithmetic is the same for every TOKENS and TEAMS.
// Of quants the sums of 16 or 32 products are exact integers, scaled as in engine/kernel/templates/int8_template.h.
layout(local_size_x = 32, local_size_y_id = 7) in;
layout(constant_id = 0) const uint KIND = 3;
layout(constant_id = 1) const uint TOKENS = 1;
layout(constant_id = 2) const uint EXPERTS = 0; // which rows a workgroup has (products/batches.glsl); with 1 TOKENS is 1
layout(constant_id = 3) const uint SEGMENTS = 8;
// 0: x is what act.comp made. Else one token's activations are made here, by every workgroup for itself, in the way of mode
// SOURCE - 1: the same bits as act.comp's if that has as many lanes, and cheaper than a dispatch and a barrier.
layout(constant_id = 4) const uint SOURCE = 0;
layout(constant_id = 6) const uint SUBGROUP = 1;
layout(constant_id = 7) const uint TEAMS = 8; // SEGMENTS, or a divisor of it; SEGMENTS where activations are made here
layout(constant_id = 5) const uint OWN = 1; // quads of activations in shared memory

layout(push_constant, scalar) uniform Push {
    uint64_t weights; // the first tile, or those of experts
    uint64_t x;       // records [tokens][chunks]; float kinds: floats [tokens][128 chunks]
    uint64_t result;  // of the tile's first row, token 0
    uint64_t chosen;
    uint tiles, chunks, rows, tokens; // rows: of these tiles
    uint ldo, add, each;
    uint columns, ldx, ldg, head;
    float eps;
    uint64_t by, gate, index; // the source's; index: of its row, 0: row 0
    float scale;
};

const bool FLOATS = KIND <= BF16;
const bool STAGED = !FLOATS && TOKENS > 1; // activations go through shared memory
const uint QUADS = RECORD / 4;             // of a record
const uint EACH = SEGMENTS / TEAMS;        // segments of a lane
const uint MODE = SOURCE == 0 ? 0 : SOURCE - 1, MODES = 1u << MODE, LANES = TILE * TEAMS, SOME = TOKENS < 8 ? TOKENS : 8;
shared uvec4 own[OWN];
// The sums of the segments; where activations are staged they take their place.
shared float sums[STAGED ? 1 : SEGMENTS * SOME * TILE];
#include "lanes.glsl"
const uint BATCH = TOKENS;
#include "products/batches.glsl"
#include "products/activation.glsl"
#include "products/products.glsl"

void put_word(uint chunk, uint word, uint value)
{
    uint place = chunk * RECORD + word;
    own[place / 4][place % 4] = value;
}

void put_floats(uint column, vec4 v)
{
    own[column / 4] = floatBitsToUint(v);
}

uvec4 x_quad(uint place)
{
    if (SOURCE == 0 && !STAGED) return Quads(x).v[place];
    return own[place];
}

void put_sum(uint at, float sum)
{
    if (STAGED) own[at / 4][at % 4] = floatBitsToUint(sum);
    else sums[at] = sum;
}

float sum_at(uint at)
{
    return STAGED ? uintBitsToFloat(own[at / 4][at % 4]) : sums[at];
}

void float_chunk(WeightQuads w, uint at, uint c, inout vec4 total[TOKENS])
{
    [[unroll]] for (uint part = 0; part < 4; part++) {
        vec4 some[8];
        [[unroll]] for (uint i = 0; i < 8; i++) {
            uint column = 8 * part + i;
            some[i] = float_weights(KIND, w.v[at + (KIND == F32 ? column : column / 2) * TILE + gl_LocalInvocationID.x], i);
        }
        [[unroll]] for (uint t = 0; t < TOKENS; t++) {
            uint from = ((SOURCE > 0 ? 0 : input_row(t)) * chunks + c) * 32 + 8 * part;
            [[unroll]] for (uint i = 0; i < 8; i++) total[t] = float_part(some[i], x_quad(from + i), total[t]);
        }
    }
}

void quant_chunk(Raw raw, uint c, inout float total[TOKENS])
{
    int q[32];
    words_of(KIND, raw, q);
    Scales s = scales_of(KIND, raw);
    [[unroll]] for (uint t = 0; t < TOKENS; t++) {
        uint from = STAGED ? (gl_LocalInvocationID.y * TOKENS + t) * QUADS
                                 : ((SOURCE > 0 ? 0 : input_row(0)) * chunks + c) * QUADS;
        quant_token(KIND, q, s, from, total[t]);
    }
}

// The records of a chunk of TOKENS tokens, by the lanes that work on it.
void stage(uint c)
{
    uint lane = gl_LocalInvocationID.x, segment = gl_LocalInvocationID.y;
    [[unroll]] for (uint i = 0; i < (TOKENS * QUADS + TILE - 1) / TILE; i++) {
        uint e = i * TILE + lane;
        if (e >= TOKENS * QUADS) continue;
        own[segment * TOKENS * QUADS + e] = Quads(x).v[(input_row(e / QUADS) * chunks + c) * QUADS + e % QUADS];
    }
}

// The 32 lanes that work on a segment have come here.
void wait_for_lanes()
{
    if (SUBGROUP >= TILE) subgroupBarrier();
    else barrier();
}

void main()
{
    uint lane = gl_LocalInvocationID.x, segment = gl_LocalInvocationID.y;
    if (!find_batch(gl_WorkGroupID.y)) return;
    WeightQuads w = WeightQuads(batch_weights);
    Floats out_f = Floats(result);
    const uint turns = (chunks + SEGMENTS - 1) / SEGMENTS, quads = chunk_quads(KIND);
    Raw next;
    if (!FLOATS && segment < chunks) next = raw_of(KIND, w, (gl_WorkGroupID.x * chunks + segment) * quads, lane);
    if (SOURCE > 0) {
        Activation a = Activation(x, by, gate, MODE, columns, ldx, ldg, head, eps, scale, FLOATS, !FLOATS);
        activate(a, index == 0 ? 0 : Words(index).v[0], multipliers(a, 4 * gl_LocalInvocationIndex));
        barrier();
    }
    for (uint tile = gl_WorkGroupID.x; tile < tiles; tile += gl_NumWorkGroups.x) {
        float total[EACH][TOKENS];
        vec4 four[EACH][TOKENS];
        [[unroll]] for (uint s = 0; s < EACH; s++)
            [[unroll]] for (uint t = 0; t < TOKENS; t++) {
                total[s][t] = 0;
                four[s][t] = vec4(0);
            }
        for (uint turn = 0; turn < turns; turn++)
            [[unroll]] for (uint s = 0; s < EACH; s++) {
                bool last = turn + 1 == turns && s + 1 == EACH;
                uint c = turn * SEGMENTS + s * TEAMS + segment, after = last ? segment : c + TEAMS;
                uint after_tile = last ? tile + gl_NumWorkGroups.x : tile;
                if (FLOATS) {
                    if (c < chunks) float_chunk(w, (tile * chunks + c) * quads, c, four[s]);
                    continue;
                }
                if (STAGED) {
                    if (c < chunks) stage(c);
                    wait_for_lanes();
                }
                Raw now = next;
                if (after_tile < tiles && after < chunks) next = raw_of(KIND, w, (after_tile * chunks + after) * quads, lane);
                if (c < chunks) quant_chunk(now, c, total[s]);
                if (STAGED) wait_for_lanes();
            }
        if (FLOATS)
            [[unroll]] for (uint s = 0; s < EACH; s++)
                [[unroll]] for (uint t = 0; t < TOKENS; t++) total[s][t] = float_total(four[s][t]);
        if (STAGED) barrier(); // before sums take the activations' place
        [[unroll]] for (uint t0 = 0; t0 < TOKENS; t0 += 8) {
            [[unroll]] for (uint s = 0; s < EACH; s++)
                [[unroll]] for (uint t = t0; t < min(t0 + 8, TOKENS); t++)
                    put_sum(((s * TEAMS + segment) * SOME + t - t0) * TILE + lane, total[s][t]);
            if (SEGMENTS > 1) barrier();
            for (uint t = segment; t < min(8, TOKENS - t0); t += TEAMS) {
                uint row = tile * TILE + lane;
                if (!has_row(t0 + t) || row >= rows) continue;
                uint place = result_row(t0 + t) * ldo + row;
                precise float sum = sum_at(t * TILE + lane);
                [[unroll]] for (uint i = 1; i < SEGMENTS; i++) sum += sum_at((i * SOME + t) * TILE + lane);
                if (add == 1) {
                    precise float more = out_f.v[place] + sum;
                    sum = more;
                }
                out_f.v[place] = sum;
            }
            if (SEGMENTS > 1) barrier();
        }
    }
}
