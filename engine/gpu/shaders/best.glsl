// The best logits of a row, from which the host draws, so that not all of them go there (engine/gpu/best.c). They are cut
// into BLOCKS blocks, each of pieces that lie far from each other, because neighbours in a vocabulary are alike. First
// every block's best one is found; then all from the one in place BEST_RANK among these on are listed, block by block. So at
// least so many are, or all that are finite.
//
// Where the device itself draws, at temperature 0, it goes on with the best of all.
//
// Who includes this has declared LANES, a power of two, and keys for at least LANES and BLOCKS of them: own_key, put_key.
const uint BLOCKS = 128, BEST_RANK = 96, BEST_ROOM = 31; // ROOM: in the list of a block (engine/gpu/pass.h)

struct Best {
    uint64_t runs, rows, index, from, tops; // from: 0: where the run has its logits; else they are copied there
    uint64_t drawn, next, stops, stopped;   // drawn: 0: the device doesn't draw; stops: their number, then the ids
    uint vocab, shift;                      // shift: of a piece's size
};
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

uint64_t run_of(Best p, uint row)
{
    return p.runs + Rows(p.rows).v[Words(p.index).v[row]].run * 64;
}

// The place of a block's e-th logit; it grows with e.
uint place_of(Best p, uint block, uint e)
{
    return (block + BLOCKS * (e >> p.shift) << p.shift) + (e & (1 << p.shift) - 1);
}

// The best logit of a block. Ids from the run's limit on are none.
void top_of_block(Best p, uint block, uint row)
{
    uint i = gl_LocalInvocationIndex;
    Run run = Runs(run_of(p, row)).v[0];
    Floats from = Floats(p.from == 0 ? run.logits : p.from + uint64_t(row) * p.vocab * 4), to = Floats(run.logits);
    uint limit = run.limit;
    uvec2 top = uvec2(0);
    for (uint e = i, at; (at = place_of(p, block, e)) < p.vocab; e += LANES) {
        float x = from.v[at];
        if (p.from != 0) to.v[at] = x;
        uvec2 key = key_of(x, at);
        if (at < limit && better(key, top)) top = key;
    }
    barrier();
    put_key(i, top);
    barrier();
    for (uint n = LANES / 2; n > 0; n /= 2) {
        if (i < n && better(own_key(i + n), own_key(i))) put_key(i, own_key(i + n));
        barrier();
    }
    if (i == 0) Pairs(p.tops).v[row * BLOCKS + block] = own_key(0);
}

// What the list begins with, and the best of all.
void bound_of_blocks(Best p, uint row)
{
    uint i = gl_LocalInvocationIndex;
    barrier();
    for (uint e = i; e < BLOCKS; e += LANES) put_key(e, Pairs(p.tops).v[row * BLOCKS + e]);
    if (i == 0) best_from = 1;
    barrier();
    for (uint e = i; e < BLOCKS; e += LANES) {
        uvec2 own = own_key(e);
        uint above = 0;
        for (uint n = 0; n < BLOCKS; n++) above += better(own_key(n), own) ? 1 : 0;
        if (above == 0) best_of_all = own;
        if (above == BEST_RANK - 1 && own.x != 0) best_from = own.x;
    }
    barrier();
}

// The list of a block: how many there are, and the order of the least one (1: there are no others); then id and logit of
// those that there is room for.
void list_block(Best p, uint block, uint row)
{
    uint i = gl_LocalInvocationIndex;
    Run run = Runs(run_of(p, row)).v[0];
    Floats from = Floats(run.logits);
    Pairs list = Pairs(run.best);
    if (i == 0) best_found = 0;
    barrier();
    if (own_key(block).x >= best_from)
        for (uint e = i, at; (at = place_of(p, block, e)) < p.vocab; e += LANES) {
            float x = from.v[at];
            if (at >= run.limit || key_of(x, at).x < best_from) continue;
            uint place = atomicAdd(best_found, 1);
            if (place < BEST_ROOM) list.v[block * (1 + BEST_ROOM) + 1 + place] = uvec2(at, floatBitsToUint(x));
        }
    barrier();
    if (i == 0) list.v[block * (1 + BEST_ROOM)] = uvec2(best_found, best_from);
}

// The best of all is the next token, -1 where there is none. After a token that ends the reply, or none, nothing follows.
void draw_best(Best p)
{
    if (p.drawn == 0 || gl_LocalInvocationIndex != 0) return;
    uint id = best_of_all.x == 0 ? 0xFFFFFFFFu : ~best_of_all.y, stops = Words(p.stops).v[0], stop = best_of_all.x == 0 ? 1 : 0;
    for (uint n = 0; n < stops; n++)
        if (Words(p.stops).v[1 + n] == id) stop = 1;
    Words(p.drawn).v[0] = id;
    Words(p.next).v[0] = id;
    Words(p.stopped).v[0] = stop;
}
