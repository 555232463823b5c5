#version 460
#include "common.glsl"
// The best logits of a row, from which the host draws, so that not all of them go there (engine/gpu/best.c). They are cut
// into BLOCKS blocks, each of pieces that lie far from each other, because neighbours in a vocabulary are alike. First
// every block's best one is found; then all from the one in place BEST_RANK among these on are listed, block by block. So at
// least so many are, or all that are finite.
//
// Where the device itself draws, at temperature 0, it goes on with the best of all.
//
// Two dispatches; a workgroup takes some blocks of a row. What a token of a reply adds to its table and lists depends on the
// logits alone, so that it does no harm when an earlier token has ended the reply and these are the logits of that one.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 256; // a power of two
layout(constant_id = 1) const bool LISTS = false; // the second one
layout(constant_id = 2) const uint KEYS = 256;    // the larger of LANES and BLOCKS
const uint BLOCKS = 128, BEST_RANK = 96, BEST_ROOM = 31; // ROOM: in the list of a block (engine/gpu/pass.h)

struct Best {
    uint64_t runs, rows, index, from, tops; // from: 0: where the run has its logits; else they are copied there
    uint64_t drawn, next, stops, stopped;   // drawn: 0: the device doesn't draw; stops: their number, then the ids
    uint vocab, shift;                      // shift: of a piece's size
};
layout(push_constant, scalar) uniform Push {
    Best p;
};
shared uvec2 keys[KEYS];
shared uint best_found, best_from;
shared uvec2 best_of_all;

// A logit's place in the order of all, and its id's complement: the larger the better. 0: it can't be drawn.
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
    return p.runs + Rows(p.rows).v[Words(p.index).v[row]].run * 64;
}

// The place of a block's e-th logit; it grows with e.
uint place_of(uint block, uint e)
{
    return (block + BLOCKS * (e >> p.shift) << p.shift) + (e & (1 << p.shift) - 1);
}

// The best logit of a block. Ids from the run's limit on are none.
void top_of_block(uint block, uint row)
{
    uint i = gl_LocalInvocationIndex;
    Run run = Runs(run_of(row)).v[0];
    Floats from = Floats(p.from == 0 ? run.logits : p.from + uint64_t(row) * p.vocab * 4), to = Floats(run.logits);
    uint limit = run.limit;
    uvec2 top = uvec2(0);
    for (uint e = i, at; (at = place_of(block, e)) < p.vocab; e += LANES) {
        float x = from.v[at];
        if (p.from != 0) to.v[at] = x;
        uvec2 key = key_of(x, at);
        if (at < limit && better(key, top)) top = key;
    }
    barrier();
    keys[i] = top;
    barrier();
    for (uint n = LANES / 2; n > 0; n /= 2) {
        if (i < n && better(keys[i + n], keys[i])) keys[i] = keys[i + n];
        barrier();
    }
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
        if (above == BEST_RANK - 1 && own.x != 0) best_from = own.x;
    }
    barrier();
}

// The list of a block: how many there are, and the order of the least one (1: there are no others); then id and logit of
// those that there is room for.
void list_block(uint block, uint row)
{
    uint i = gl_LocalInvocationIndex;
    Run run = Runs(run_of(row)).v[0];
    Floats from = Floats(run.logits);
    Pairs list = Pairs(run.best);
    if (i == 0) best_found = 0;
    barrier();
    if (keys[block].x >= best_from)
        for (uint e = i, at; (at = place_of(block, e)) < p.vocab; e += LANES) {
            float x = from.v[at];
            if (at >= run.limit || key_of(x, at).x < best_from) continue;
            uint place = atomicAdd(best_found, 1);
            if (place < BEST_ROOM) list.v[block * (1 + BEST_ROOM) + 1 + place] = uvec2(at, floatBitsToUint(x));
        }
    barrier();
    if (i == 0) list.v[block * (1 + BEST_ROOM)] = uvec2(best_found, best_from);
}

// The best of all is the next token, -1 where there is none. After a token that ends the reply, or none, nothing follows.
void draw_best()
{
    if (p.drawn == 0 || gl_LocalInvocationIndex != 0) return;
    uint id = best_of_all.x == 0 ? 0xFFFFFFFFu : ~best_of_all.y, stops = Words(p.stops).v[0], stop = best_of_all.x == 0 ? 1 : 0;
    for (uint n = 0; n < stops; n++)
        if (Words(p.stops).v[1 + n] == id) stop = 1;
    Words(p.drawn).v[0] = id;
    Words(p.next).v[0] = id;
    Words(p.stopped).v[0] = stop;
}

void main()
{
    uint row = gl_WorkGroupID.y;
    if (LISTS) bound_of_blocks(row);
    for (uint block = gl_WorkGroupID.x; block < BLOCKS; block += gl_NumWorkGroups.x) {
        if (LISTS) list_block(block, row);
        else top_of_block(block, row);
    }
    if (LISTS && gl_WorkGroupID.x == 0) draw_best();
}
