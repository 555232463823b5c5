#version 460
#define TOGETHER // what a workgroup finds is read by the last one
#include "common.glsl"
#extension GL_KHR_memory_scope_semantics : require
// The best logits of a row, from which the host samples, so that not all of them go there (engine/gpu/tune/topk.c). They are cut
// into BLOCKS blocks, each of pieces that lie far from each other, because neighbours in a vocabulary are alike. First
// every block's best one is found; then all from the one in place TOPK_RANK among these on are listed, block by block. So at
// least so many are, or all that are finite.
//
// Where the device itself samples, at temperature 0, it goes on with the best of all; only the last token of a submission has its
// logits listed then.
//
// Two dispatches, or, without a list, one whose last workgroup samples; a workgroup takes some blocks of a row. What a token of a
// reply adds to its table and lists depends on the logits alone, so that it does no harm when an earlier token has ended the
// reply and these are the logits of that one.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 256; // a power of two
layout(constant_id = 1) const uint WHAT = 0;      // TOPS: the first one; LISTS: the second; DRAWS: the only one
layout(constant_id = 2) const uint KEYS = 256;    // the larger of LANES and BLOCKS
const uint TOPS = 0, LISTS = 1, DRAWS = 2;
const uint BLOCKS = 128, TOPK_RANK = 96, TOPK_ROOM = 31; // ROOM: in the list of a block (engine/gpu/pass/pass.h)

struct Best {
    uint64_t runs, rows, index, from, tops; // rows: 0: of the first run; from: 0: there they are; else they are copied there
    uint64_t sampled, next, stops, stopped;   // sampled: 0: the device doesn't sample; stops: their number, then the ids;
                                            // behind stopped: workgroups that are done
    uint vocab, shift;                      // shift: of a piece's size
};
layout(push_constant, scalar) uniform Push {
    Best p;
};
shared uvec2 keys[KEYS];
shared uint best_found, best_from;
shared uvec2 best_of_all;
shared uint ends, all_done;
const uint AT_ONCE = 4; // logits that a lane loads before it looks at them

// A logit's place in the order of all, and its id's complement: the larger the better. 0: it can't be sampled.
uvec2 key_of(float x, uint id)
{
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7F800000u) == 0x7F800000u) return uvec2(0);
    if (bits == 0x80000000u) bits = 0; // both zeros are equal
    return uvec2(bits >> 31 == 1 ? ~bits : bits | 0x80000000u, ~id);
}

bool better(uvec2 a, uvec2 b)
{
    return a.x > b.x || (a.x == b.x && a.y > b.y);
}

uint64_t run_of(uint row)
{
    if (p.rows == 0) return p.runs;
    return p.runs + Rows(p.rows).v[Words(p.index).v[row]].run * 64;
}

// The place of a block's e-th logit; it grows with e.
uint place_of(uint block, uint e)
{
    return (block + BLOCKS * (e >> p.shift) << p.shift) + (e & (1 << p.shift) - 1);
}

// A lane's logits of a block, from the e-th on.
void load_some(WeightWords from, uint block, uint e, out uint at[AT_ONCE], out float x[AT_ONCE])
{
    [[unroll]] for (uint k = 0; k < AT_ONCE; k++) {
        at[k] = place_of(block, e + k * LANES);
        x[k] = uintBitsToFloat(from.v[min(at[k], p.vocab - 1)]);
    }
}

// The best of what all lanes have, in keys[0].
void best_of_lanes(uvec2 own)
{
    uint i = gl_LocalInvocationIndex;
    barrier();
    keys[i] = own;
    barrier();
    for (uint n = LANES / 2; n > 0; n /= 2) {
        if (i < n && better(keys[i + n], keys[i])) keys[i] = keys[i + n];
        barrier();
    }
}

// The best logit of a block. Ids from the run's limit on are none.
void top_of_block(uint block, uint row)
{
    uint i = gl_LocalInvocationIndex;
    Run run = Runs(run_of(row)).v[0];
    WeightWords from = WeightWords(p.from == 0 ? run.logits : p.from + uint64_t(row) * p.vocab * 4);
    uvec2 top = uvec2(0);
    for (uint e = i; place_of(block, e) < p.vocab; e += AT_ONCE * LANES) {
        uint at[AT_ONCE];
        float x[AT_ONCE];
        load_some(from, block, e, at, x);
        [[unroll]] for (uint k = 0; k < AT_ONCE; k++) {
            if (at[k] >= p.vocab) continue;
            if (p.from != 0) Floats(run.logits).v[at[k]] = x[k];
            uvec2 key = key_of(x[k], at[k]);
            if (at[k] < run.limit && better(key, top)) top = key;
        }
    }
    best_of_lanes(top);
    if (i == 0) Pairs(p.tops).v[row * BLOCKS + block] = keys[0];
}

// What the list begins with, and the best of all.
void bound_of_blocks(uint row)
{
    uint i = gl_LocalInvocationIndex;
    barrier();
    for (uint e = i; e < BLOCKS; e += LANES) keys[e] = Pairs(p.tops).v[row * BLOCKS + e];
    if (i == 0) best_from = 1;
    barrier();
    for (uint e = i; e < BLOCKS; e += LANES) {
        uvec2 own = keys[e];
        uint above = 0;
        for (uint n = 0; n < BLOCKS; n++) above += better(keys[n], own) ? 1 : 0;
        if (above == 0) best_of_all = own;
        if (above == TOPK_RANK - 1 && own.x != 0) best_from = own.x;
    }
    barrier();
}

// The list of a block: how many there are, and the order of the least one (1: there are no others); then id and logit of
// those that there is room for.
void list_block(uint block, uint row)
{
    uint i = gl_LocalInvocationIndex;
    Run run = Runs(run_of(row)).v[0];
    Pairs list = Pairs(run.topk);
    if (i == 0) best_found = 0;
    barrier();
    if (keys[block].x >= best_from)
        for (uint e = i; place_of(block, e) < p.vocab; e += AT_ONCE * LANES) {
            uint at[AT_ONCE];
            float x[AT_ONCE];
            load_some(WeightWords(run.logits), block, e, at, x);
            [[unroll]] for (uint k = 0; k < AT_ONCE; k++) {
                if (at[k] >= min(p.vocab, run.limit) || key_of(x[k], at[k]).x < best_from) continue;
                uint place = atomicAdd(best_found, 1);
                if (place < TOPK_ROOM) list.v[block * (1 + TOPK_ROOM) + 1 + place] = uvec2(at[k], floatBitsToUint(x[k]));
            }
        }
    barrier();
    if (i == 0) list.v[block * (1 + TOPK_ROOM)] = uvec2(best_found, best_from);
}

// The best of all is the next token, -1 where there is none. After a token that ends the reply, or none, nothing follows.
void draw_best(uvec2 best)
{
    uint i = gl_LocalInvocationIndex, id = best.x == 0 ? 0xFFFFFFFFu : ~best.y;
    if (i == 0) ends = best.x == 0 ? 1 : 0;
    barrier();
    for (uint n = i; n < Words(p.stops).v[0]; n += LANES)
        if (Words(p.stops).v[1 + n] == id) ends = 1;
    barrier();
    if (i != 0) return;
    Words(p.sampled).v[0] = id;
    Words(p.next).v[0] = id;
    Words(p.stopped).v[0] = ends;
}

// Whether this workgroup is the last one, and sees what all have found. The counter is left as it was found.
bool is_last()
{
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
        all_done = atomicAdd(Words(p.stopped).v[1], 1) + 1 == gl_NumWorkGroups.x ? 1 : 0;
        memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
        if (all_done == 1) Words(p.stopped).v[1] = 0;
    }
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
    return all_done == 1;
}

void draw_from_tops()
{
    uvec2 top = uvec2(0);
    for (uint e = gl_LocalInvocationIndex; e < BLOCKS; e += LANES)
        if (better(Pairs(p.tops).v[e], top)) top = Pairs(p.tops).v[e];
    best_of_lanes(top);
    draw_best(keys[0]);
}

void main()
{
    uint row = gl_WorkGroupID.y;
    if (WHAT == LISTS) bound_of_blocks(row);
    for (uint block = gl_WorkGroupID.x; block < BLOCKS; block += gl_NumWorkGroups.x) {
        if (WHAT == LISTS) list_block(block, row);
        else top_of_block(block, row);
    }
    if (WHAT == LISTS && p.sampled != 0 && gl_WorkGroupID.x == 0) draw_best(best_of_all);
    if (WHAT == DRAWS && is_last()) draw_from_tops();
}
