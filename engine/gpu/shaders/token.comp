#version 460
// A pass of one token in one dispatch: a list of operations (engine/gpu/device/fused.c) that all workgroups go through together,
// with a barrier between them where one needs what others of them wrote. Each operation does the arithmetic of the shader
// whose name it has, so the bits are the same. All workgroups have to run at once, which was tried before (fused.c).
//
// The first weights of a product, and the delta rule's state, are loaded before the barrier in front: they depend on nothing.
#define TOGETHER
#include "common.glsl"
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 512;
layout(constant_id = 1) const uint SUBGROUP = 1;
layout(constant_id = 2) const uint KINDS = 127; // of weights that there are, bit by bit
layout(constant_id = 3) const uint POOL = 1;   // quads of shared memory for what an operation needs
layout(constant_id = 4) const uint KV = 0;
layout(constant_id = 5) const uint HEAD = 256;
layout(constant_id = 6) const uint ROWS = 4; // heads that share keys, or the next power of two
layout(constant_id = 7) const uint KEY = 128;
layout(constant_id = 8) const uint VALUE = 128;
layout(constant_id = 9) const uint KEYS = 16;
layout(constant_id = 10) const uint SLAB = 32;
layout(constant_id = 11) const uint OPS = 1023; // that there are, bit by bit
layout(constant_id = 12) const bool NORMED = true; // queries and keys
layout(constant_id = 13) const bool GATED = true;  // what heads become is multiplied with its gates
layout(constant_id = 14) const uint MODES = 511;   // of activations that there are, bit by bit
const bool VALUES_NORMED = false;                  // models whose values are have heads of two shapes (fused.c)
layout(constant_id = 15) const bool CAPPED = true; // products of queries and keys are
#include "products/weights.glsl"
#include "lanes.glsl"
#include "products/activation.glsl"
#include "products/products.glsl"
#include "embed.glsl"
#include "bias.glsl"
#include "added.glsl"
#include "cap.glsl"
#include "attention/heads.glsl"
#include "attention/attend.glsl"
#include "kv.glsl"
#include "attention/merge.glsl"
#include "delta/conv.glsl"
#include "delta/delta.glsl"
#include "delta/delta_one.glsl"

layout(push_constant, scalar) uniform Push {
    uint64_t fused, counters; // counters: arrivals, workgroups that are done
    uint64_t runs, trouble;     // trouble: becomes 1 when a barrier was waited for too long
    uint64_t stopped;           // 0: none; 1 there: an earlier pass of the submission drew the last token, so nothing is done
    uint first, end;            // operations
    uint barriers;              // that many for a start, to try whether all workgroups run
    uint patience;              // looks at the counter before that is given up
};

// An operation (struct fused_op of engine/gpu/device/fused.h): OP words. A product has up to four matrices with as many columns
// and one type; the push constants of matmul.comp have the first one's, and OP_MORE, for each further one, its weights,
// result, tiles, rows.
const uint OP = 64, OP_WHAT = 0, OP_BARRIER = 1, OP_FRESH = 2, OP_X = 3, OP_Z = 4, OP_KIND = 5, OP_MODE = 6, OP_START = 7,
           OP_SEGMENTS = 8, OP_TILES = 9, OP_PUSH = 10, OP_MORE = 42, OP_AHEAD = 60;
const uint DO_EMBED = 0, DO_PRODUCT = 1, DO_HEADS = 2, DO_ATTEND = 3, DO_MERGE = 4, DO_DELTA = 5,
           DO_ACT = 6, DO_BIAS = 7, DO_ADDED = 8, DO_CAP = 9;
const uint MADE = 9; // a mode: activations that an operation before made
const uint AS_THEY_ARE = 0, FLOATS = 1, RECORDS = 2; // what heads become: activations of these forms (enum form, record.c)
shared uint op_words[2][OP];
shared uvec4 pool[POOL];
shared float sums[2][LANES];
shared uint broken;
uint op_at;            // which of op_words
bool waits, going; // this operation has a barrier before it to wait for; no barrier was waited for too long

uint op(uint i)
{
    return op_words[op_at][i];
}

uint parameter(uint i)
{
    return op_words[op_at][OP_PUSH + i];
}

uint64_t address(uint i)
{
    return packUint2x32(uvec2(op_words[op_at][OP_PUSH + i], op_words[op_at][OP_PUSH + i + 1]));
}

bool has(uint kind, uint one)
{
    return (KINDS >> one & 1) == 1 && kind == one;
}

// Whether this operation does that. What none of the pass's operations does is not compiled.
bool does(uint one)
{
    return (OPS >> one & 1) == 1 && op(OP_WHAT) == one;
}

float pool_float(uint at)
{
    return uintBitsToFloat(pool[at / 4][at % 4]);
}

void put_pool(uint at, float v)
{
    pool[at / 4][at % 4] = floatBitsToUint(v);
}

void put_word(uint chunk, uint word, uint value)
{
    uint place = chunk * RECORD + word;
    pool[place / 4][place % 4] = value;
}

void put_floats(uint column, vec4 v)
{
    pool[column / 4] = floatBitsToUint(v);
}

uvec4 x_quad(uint place)
{
    return pool[place];
}

// ---- The barrier ----

uint all_there; // what the counter, 0 when a dispatch starts, is when all workgroups have come

// For all lanes of the workgroup, and all that they have written.
void join_lanes()
{
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
}

// What this workgroup has written, before join_lanes(), is there for others; it goes on with what needs nothing of theirs.
// Nobody asks what the counter was, so the first lane doesn't wait for an answer.
void arrive()
{
    all_there += gl_NumWorkGroups.x;
    if (gl_LocalInvocationIndex != 0) return;
    memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    atomicAdd(Words(counters).v[0], 1);
}

// All workgroups have arrived, and what each has written is where coherent loads find it. False: some did not come.
bool meet()
{
    if (gl_LocalInvocationIndex == 0) {
        uint looks = 0;
        while (looks < patience && atomicLoad(Words(counters).v[0], gl_ScopeDevice, gl_StorageSemanticsBuffer,
                                              gl_SemanticsAcquire) < all_there)
            looks++;
        if (looks == patience) broken = 1;
    }
    join_lanes();
    return broken == 0;
}

const uint SECTOR = 64; // bytes that memory gives at once
uint read;  // what read_ahead loads; it is looked at when the operation is done
bool ahead; // that was done

// Weights of the next operation, a word of a sector in each lane: so the first of them come from the device's cache when they
// are needed. More would take registers, which cost more time than they save.
void read_ahead()
{
    WeightWords w = WeightWords(packUint2x32(uvec2(op(OP_AHEAD), op(OP_AHEAD + 1))));
    uint at = gl_WorkGroupID.x * LANES + gl_LocalInvocationIndex;
    read = at < op(OP_AHEAD + 2) ? w.v[at * (SECTOR / 4)] : 0;
}

// So that it does not count as unused.
void look_at_read()
{
    if (read == 1 && patience == 0) broken = 1; // it never is
}

// The barrier before this operation, if it was not waited for yet.
void wait_for_inputs()
{
    if (!ahead) read_ahead();
    ahead = true;
    if (waits) going = meet();
    waits = false;
}

// The last workgroup leaves the counters as they were found.
void leave()
{
    if (gl_LocalInvocationIndex != 0) return;
    if (broken == 1) {
        Words(trouble).v[0] = 1;
        return;
    }
    if (atomicAdd(Words(counters).v[1], 1) + 1 == gl_NumWorkGroups.x) {
        Words(counters).v[1] = 0;
        Words(counters).v[0] = 0;
    }
}

// ---- Products ----

uint64_t logits; // where they are wanted, if results are logits: they go there

// A tile of an operation's matrices.
struct Tile {
    WeightQuads w;
    uint at, rows; // in its matrix: its place, its rows' number
    Floats result;
};

Tile tile_of(uint n)
{
    uint more = 0, tiles = parameter(8);
    while (n >= tiles && more < 3) {
        n -= tiles;
        tiles = op(OP_MORE + more * 6 + 4);
        more++;
    }
    uint from = more == 0 ? OP_PUSH : OP_MORE + more * 6 - 6, to = more == 0 ? OP_PUSH + 4 : from + 2;
    Tile t;
    t.w = WeightQuads(packUint2x32(uvec2(op(from), op(from + 1))));
    t.result = Floats(packUint2x32(uvec2(op(to), op(to + 1))) + logits);
    t.at = n;
    t.rows = more == 0 ? parameter(10) : op(from + 5);
    return t;
}

// Loads of a chunk: 8 vectors at a time.
uint loads_of(uint kind)
{
    return kind == F32 ? 4 : kind <= BF16 ? 2 : 1;
}

Raw load_raw(uint kind, Tile t, uint chunk, uint part)
{
    Raw raw;
    uint lane = gl_LocalInvocationIndex % 32, at = (t.at * parameter(9) + chunk) * chunk_quads(kind) + part * 8 * TILE;
    if (has(kind, Q8)) raw = raw_of(Q8, t.w, at, lane);
    else if (has(kind, Q4K)) raw = raw_of(Q4K, t.w, at, lane);
    else if (has(kind, Q6K)) raw = raw_of(Q6K, t.w, at, lane);
    else if (has(kind, MXFP4)) raw = raw_of(MXFP4, t.w, at, lane);
    else raw = raw_of(F32, t.w, at, lane);
    return raw;
}

void add_quants(uint kind, Raw raw, uint chunk, inout float total)
{
    int q[32];
    words_of(kind, raw, q);
    quant_token(kind, q, scales_of(kind, raw), chunk * RECORD / 4, total);
}

void add_floats(uint kind, Raw raw, uint chunk, uint part, inout vec4 four)
{
    const uint each = kind == F32 ? 1 : 2;
    uint from = chunk * 32 + part * 8 * each;
    [[unroll]] for (uint i = 0; i < 16; i++)
        if (i < 8 * each) four = float_part(float_weights(kind, raw.q[i / each], i), x_quad(from + i), four);
}

void add_raw(uint kind, Raw raw, uint chunk, uint part, inout float total, inout vec4 four)
{
    if (has(kind, Q8)) add_quants(Q8, raw, chunk, total);
    else if (has(kind, Q4K)) add_quants(Q4K, raw, chunk, total);
    else if (has(kind, Q6K)) add_quants(Q6K, raw, chunk, total);
    else if (has(kind, MXFP4)) add_quants(MXFP4, raw, chunk, total);
    else if (has(kind, BF16)) add_floats(BF16, raw, chunk, part, four);
    else if (has(kind, F16)) add_floats(F16, raw, chunk, part, four);
    else if (has(kind, F32)) add_floats(F32, raw, chunk, part, four);
}

// Waits for the inputs and makes activations of them, where the operation before has not made the same.
void make_activations(uint kind)
{
    Activation a = Activation(address(2), address(20), address(22), op(OP_MODE), parameter(15), parameter(16), parameter(17),
                              parameter(18), uintBitsToFloat(parameter(19)), uintBitsToFloat(parameter(26)), kind < Q8, kind >= Q8);
    vec4 by = vec4(1);
    if (a.mode != MADE) by = multipliers(a, 4 * gl_LocalInvocationIndex);
    wait_for_inputs();
    if (op(OP_FRESH) == 0) return;
    if (a.mode == MADE) {
        uint quads = parameter(9) * (kind < Q8 ? CHUNK / 4 : RECORD / 4);
        for (uint e = gl_LocalInvocationIndex; e < quads; e += LANES) pool[e] = Quads(a.x).v[e];
    } else {
        activate(a, 0, by);
    }
    barrier();
}

// A team of lanes takes a tile after the other, each 32 of them a segment of the columns.
void product()
{
    uint i = gl_LocalInvocationIndex, lane = i % 32, warp = i / 32, kind = op(OP_KIND), loads = loads_of(kind);
    uint segments = 1 << op(OP_SEGMENTS), segment = warp & segments - 1, teams = LANES / 32 >> op(OP_SEGMENTS);
    logits = op(OP_X) == 1 ? Runs(runs).v[0].logits : 0;
    uint tiles = op(OP_TILES), chunks = parameter(9), every = gl_NumWorkGroups.x * teams;
    // The first tiles of this team, and of the team that has this warp's number: its sums are added up here.
    uint start = op(OP_START), at = gl_WorkGroupID.x + (warp >> op(OP_SEGMENTS)) * gl_NumWorkGroups.x;
    uint own = gl_WorkGroupID.x + warp * gl_NumWorkGroups.x;
    at = at < start ? at + every - start : at - start;
    own = own < start ? own + every - start : own - start;
    Tile tile = tile_of(at);
    Raw next;
    if (at < tiles && segment < chunks) next = load_raw(kind, tile, segment, 0);
    make_activations(kind);
    [[dont_unroll]] for (uint round = 0; round * every < tiles; round++, at += every, own += every) {
        Tile mine = tile_of(own);
        uint row = mine.at * TILE + lane;
        bool writes = warp < teams && own < tiles && row < mine.rows;
        float total = 0, before = 0;
        vec4 four = vec4(0);
        if (writes && parameter(13) == 1) before = mine.result.v[row];
        [[dont_unroll]] for (uint chunk = segment, part = 0; at < tiles && chunk < chunks;) {
            Raw now = next;
            uint this_chunk = chunk, this_part = part;
            part++;
            if (part == loads) part = 0, chunk += segments;
            bool last = chunk >= chunks;
            if (last && at + every < tiles) tile = tile_of(at + every);
            if (!last || at + every < tiles) next = load_raw(kind, tile, last ? segment : chunk, last ? 0 : part);
            add_raw(kind, now, this_chunk, this_part, total, four);
        }
        if (kind < Q8) total = float_total(four);
        sums[round % 2][i] = total;
        barrier();
        if (!writes) continue;
        precise float sum = sums[round % 2][warp * segments * 32 + lane];
        for (uint s = 1; s < segments; s++) sum += sums[round % 2][(warp * segments + s) * 32 + lane];
        if (parameter(13) == 1) {
            precise float more = before + sum;
            sum = more;
        }
        mine.result.v[row] = sum;
    }
}

// ---- Attention ----

// Some vectors of a position's keys. What was there before this dispatch may come from a cache of this workgroup's core.
void keys_of(uint64_t keys, uint at, bool old, out vec4 key[AT_ONCE])
{
    if (KV == 1 && AT_ONCE == 8) {
        [[unroll]] for (uint k = 0; k < 4; k++) {
            uvec4 eight;
            if (old) eight = WeightQuads(keys).v[at / 8 + k];
            else eight = Quads(keys).v[at / 8 + k];
            key[min(2 * k, AT_ONCE - 1)] = halves(eight.xy);
            key[min(2 * k + 1, AT_ONCE - 1)] = halves(eight.zw);
        }
    } else {
        [[unroll]] for (uint k = 0; k < AT_ONCE; k++) key[k] = kv_four(keys, at + 4 * k);
    }
}

// attend.comp's block b of the heads of a KV head, for one token, spread over all lanes.
void attend(uint kv_head, uint b, uint64_t q, uint64_t partials, Run run, uint heads, uint kv_heads, uint layer_bytes,
            uint kv_bytes, uint blocks, uint first, float cap, float doubled)
{
    const uint QUERY = 0, WEIGHT = ROWS * HEAD, SOME = WEIGHT + ROWS * BLOCK, EIGHT = SOME + PARTS * ROWS * max(BLOCK, HEAD);
    uint i = gl_LocalInvocationIndex, group = heads / kv_heads, end = min(run.start + 1 - b * BLOCK, BLOCK);
    uint passed = first > b * BLOCK ? first - b * BLOCK : 0; // positions that are not seen any more
    Addresses pages = Addresses(run.pages);
    uint64_t layer = layer_bytes + uint64_t(kv_head) * 2 * kv_bytes;
    uint64_t page = pages.v[(b * BLOCK + min(i % BLOCK, end - 1)) / 32]; // of this lane's first keys
    wait_for_inputs();
    for (uint e = i; e < group * HEAD / 4; e += LANES)
        pool[e] = Quads(q).v[(run.first_row * heads + kv_head * group) * (HEAD / 4) + e];
    barrier();
    for (uint e = i; e < BLOCK * PARTS; e += LANES) {
        uint p = e % BLOCK, part = e / BLOCK, position = b * BLOCK + p;
        if (p >= end) continue;
        uint64_t keys = (LANES % BLOCK == 0 ? page : pages.v[position / 32]) + layer;
        vec4 four[ROWS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) four[r] = vec4(0);
        [[dont_unroll]] for (uint d = part * PART; d < min(part * PART + PART, HEAD / 4); d += AT_ONCE) {
            vec4 key[AT_ONCE];
            keys_of(keys, position % 32 * HEAD + 4 * d, position < run.start, key);
            [[unroll]] for (uint k = 0; k < AT_ONCE; k++)
                [[unroll]] for (uint r = 0; r < ROWS; r++) {
                    precise vec4 more = fma(key[k], uintBitsToFloat(pool[r * (HEAD / 4) + d + k]), four[r]);
                    four[r] = more;
                }
        }
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            precise float x = four[r].x + four[r].y, y = four[r].z + four[r].w;
            precise float some = x + y;
            put_pool(SOME + (part * ROWS + r) * BLOCK + p, some);
        }
    }
    barrier();
    for (uint e = i; e < ROWS * BLOCK; e += LANES) {
        uint r = e / BLOCK, p = e % BLOCK;
        precise float score = pool_float(SOME + r * BLOCK + p);
        [[unroll]] for (uint part = 1; part < PARTS; part++) score += pool_float(SOME + (part * ROWS + r) * BLOCK + p);
        if (CAPPED) score = soft_cap(score, cap, doubled);
        put_pool(WEIGHT + p * ROWS + r, p < end && p >= passed ? score : NOTHING);
    }
    barrier();
    for (uint e = i; e < ROWS * 8; e += LANES) {
        float top = NOTHING;
        [[unroll]] for (uint k = 0; k < 16; k++) top = max(top, pool_float(WEIGHT + (e % 8 * 16 + k) * ROWS + e / 8));
        put_pool(EIGHT + e, top);
    }
    barrier();
    for (uint e = i; e < ROWS * BLOCK; e += LANES) {
        float top = pool_float(EIGHT + e % ROWS * 8), score = pool_float(WEIGHT + e);
        [[unroll]] for (uint k = 1; k < 8; k++) top = max(top, pool_float(EIGHT + e % ROWS * 8 + k));
        precise float less = score - top;
        put_pool(WEIGHT + e, score == NOTHING ? 0 : exp_of(less));
        if (e < ROWS) put_pool(EIGHT + ROWS * 8 + e, top);
    }
    barrier();
    for (uint e = i; e < ROWS * 8; e += LANES) {
        precise float some = 0;
        [[unroll]] for (uint k = 0; k < 16; k++) some += pool_float(WEIGHT + (e % 8 * 16 + k) * ROWS + e / 8);
        put_pool(EIGHT + e, some);
    }
    for (uint e = i; e < PARTS * HEAD / 2; e += LANES) {
        uint part = e / (HEAD / 2), d = e % (HEAD / 2) * 2;
        vec2 acc[ROWS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) acc[r] = vec2(0);
        uint64_t values = part * 32 < end ? pages.v[(b * BLOCK + part * 32) / 32] + layer + kv_bytes : 0;
        [[dont_unroll]] for (uint p0 = max(part * 32, passed / 32 * 32); p0 < min(part * 32 + 32, end); p0 += 8) {
            vec2 value[8];
            [[unroll]] for (uint k = 0; k < 8; k++) {
                uint at = min(p0 + k, end - 1) % 32 * HEAD + d;
                value[k] = kv_two(values, at);
            }
            [[unroll]] for (uint k = 0; k < 8; k++)
                [[unroll]] for (uint r = 0; r < ROWS; r++) {
                    uint at = WEIGHT + (p0 + k) * ROWS + r;
                    float w = ROWS % 4 == 0 ? uintBitsToFloat(pool[at / 4][r % 4]) : pool_float(at);
                    precise vec2 more = fma(vec2(w), value[k], acc[r]);
                    acc[r] = more;
                }
        }
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            put_pool(SOME + (part * ROWS + r) * HEAD + d, acc[r].x);
            put_pool(SOME + (part * ROWS + r) * HEAD + d + 1, acc[r].y);
        }
    }
    barrier();
    for (uint e = i; e < group * HEAD; e += LANES) {
        uint r = e / HEAD, d = e % HEAD;
        Floats to = Floats(partials + uint64_t((run.first_row * heads + kv_head * group + r) * blocks + b) * (HEAD + 2) * 4);
        precise float sum = pool_float(SOME + r * HEAD + d);
        [[unroll]] for (uint part = 1; part < PARTS; part++) sum += pool_float(SOME + (part * ROWS + r) * HEAD + d);
        to.v[2 + d] = sum;
        if (d != 0) continue;
        precise float all = pool_float(EIGHT + r * 8);
        [[unroll]] for (uint k = 1; k < 8; k++) all += pool_float(EIGHT + r * 8 + k);
        to.v[0] = pool_float(EIGHT + ROWS * 8 + r);
        to.v[1] = all;
    }
    barrier();
}

// ---- Operations ----

void do_attend()
{
    Run run = Runs(address(0)).v[0];
    uint kv_heads = parameter(11), first = first_seen(parameter(15), run.start), b0 = first / BLOCK;
    uint units = kv_heads * (run.start / BLOCK + 1 - b0);
    for (uint u = gl_WorkGroupID.x; u < units; u += gl_NumWorkGroups.x)
        attend(u % kv_heads, b0 + u / kv_heads, address(4), address(8), run, parameter(10), kv_heads, parameter(12),
               parameter(13), parameter(14), first, uintBitsToFloat(parameter(16)), uintBitsToFloat(parameter(17)));
}

// Activations for all workgroups, a chunk of each 32 lanes: v to their place `chunk` in memory, as floats or records. Writes
// the pool, for LANES / 32 chunks: LANES quads at most.
void give_chunk(uint64_t to, bool floats, uint chunk, bool there, vec4 v)
{
    uint warp = gl_LocalInvocationIndex / 32, lane = gl_LocalInvocationIndex % 32, each = floats ? CHUNK / 4 : RECORD / 4;
    if (floats) put_floats(warp * CHUNK + 4 * lane, v);
    else put_record(warp, true, v);
    barrier();
    if (there)
        for (uint e = lane; e < each; e += 32) Quads(to).v[chunk * each + e] = pool[warp * each + e];
    barrier();
}

// Chunk by chunk (struct act).
void do_act()
{
    uint warp = gl_LocalInvocationIndex / 32, lane = gl_LocalInvocationIndex % 32, columns = parameter(12);
    uint64_t floats = address(6), records = address(8);
    Activation a = Activation(address(0), address(2), address(4), op(OP_MODE), columns, parameter(13), parameter(14),
                              parameter(15), uintBitsToFloat(parameter(16)), uintBitsToFloat(parameter(17)), floats != 0,
                              records != 0);
    const uint chunks = (columns + CHUNK - 1) / CHUNK;
    for (uint c0 = 0; c0 < chunks; c0 += gl_NumWorkGroups.x * (LANES / 32)) {
        uint chunk = c0 + gl_WorkGroupID.x + warp * gl_NumWorkGroups.x, c = chunk * CHUNK + 4 * lane;
        vec4 v = vec4(0);
        if (c < columns) v = value_of(a, load(a, 0, c, vec4(1)), 1);
        give_chunk(a.floats ? floats : records, a.floats, chunk, chunk < chunks, v);
    }
}

// Merged heads, as they are or, where they are whole chunks, multiplied with their gates, if any, as activations.
void do_merge()
{
    uint heads = parameter(6), blocks = parameter(7), position = Rows(address(0)).v[0].position, form = parameter(14);
    uint first = first_seen(parameter(8), position) / BLOCK, count = position / BLOCK + 1;
    uint warp = gl_LocalInvocationIndex / 32, lane = gl_LocalInvocationIndex % 32;
    Activation a = Activation(0, 0, address(10), GATED ? SIGMOID : PLAIN, heads * HEAD, 0, 0, HEAD, 0,
                              uintBitsToFloat(parameter(15)), form == FLOATS, form == RECORDS);
    for (uint u = gl_WorkGroupID.x; u < heads; u += gl_NumWorkGroups.x) {
        for (uint d = gl_LocalInvocationIndex; d < HEAD; d += LANES) {
            float y = merge_blocks(Floats(address(2) + uint64_t(u * blocks) * (HEAD + 2) * 4), first, count, d);
            if (form == AS_THEY_ARE) Floats(address(4)).v[u * HEAD + d] = y;
            else put_pool(4 * LANES + d, y);
        }
        for (uint w0 = 0; form != AS_THEY_ARE && w0 < HEAD / CHUNK; w0 += LANES / 32) {
            uint chunk = u * (HEAD / CHUNK) + w0 + warp, at = (w0 + warp) * CHUNK + 4 * lane;
            bool there = w0 + warp < HEAD / CHUNK;
            Four f = Four(vec4(0), vec4(0), vec4(1));
            if (there) f.gate = gate_of(a, 0, chunk * CHUNK + 4 * lane);
            barrier();
            if (there) f.x = uintBitsToFloat(pool[LANES + at / 4]);
            give_chunk(address(12), a.floats, chunk, there, value_of(a, f, 1));
        }
    }
}

void do_heads()
{
    Heads p = Heads(address(0), address(2), address(4), address(6), address(8), address(10), address(12), address(14),
                    address(16), parameter(18), parameter(19), parameter(20), parameter(21), parameter(22),
                    parameter(23), uintBitsToFloat(parameter(24)), uintBitsToFloat(parameter(25)), address(26), parameter(28));
    for (uint u = gl_WorkGroupID.x; u < op(OP_X); u += gl_NumWorkGroups.x) prepare_head(p, u, 0);
}

Gating gating_of(uint head, uint column)
{
    if (SLAB != CHUNK || parameter(31) == AS_THEY_ARE) return Gating(vec4(0), vec4(0));
    return Gating(four_floats(address(24), column), four_floats(address(26), head * VALUE + column));
}

// As they are or, where a head is a chunk, normalised and multiplied with their gates as activations.
void put_outputs(Delta p, uint first, uint head, uint column, vec4 y, Gating gating)
{
    uint i = gl_LocalInvocationIndex, form = parameter(31);
    if (SLAB != CHUNK || form == AS_THEY_ARE) {
        if (i < SLAB / 4) Quads(p.result).v[((first + head) * VALUE + column) / 4] = floatBitsToUint(y);
        return;
    }
    Activation a = Activation(0, 0, 0, GATED_NORM, 0, 0, 0, VALUE, uintBitsToFloat(parameter(30)), 1, form == FLOATS,
                              form == RECORDS);
    precise float sum = squares_of_four(y, 0);
    float scale = inverse_rms(sum_of_32(sum), VALUE, a.eps);
    give_chunk(address(28), a.floats, head, i < 32, value_of(a, Four(y, gating.gate, gating.norm), scale));
}

void do_delta()
{
    Delta p = Delta(address(0), address(2), address(4), address(6), parameter(8), parameter(9), parameter(10),
                    parameter(11), address(12), address(14), address(16), address(18), address(20), parameter(22),
                    parameter(23));
    for (uint u = gl_WorkGroupID.x; u < op(OP_X) * op(OP_Z); u += gl_NumWorkGroups.x)
        delta_one(p, u / op(OP_Z), 0, u % op(OP_Z));
}

void do_embed()
{
    Embed p = Embed(address(0), address(2), address(4), address(6), address(8), parameter(10), parameter(11),
                    parameter(12), parameter(13), uintBitsToFloat(parameter(14)));
    for (uint u = gl_WorkGroupID.x; u < op(OP_X); u += gl_NumWorkGroups.x) embed(op(OP_KIND), p, u, 0);
}

void do_bias()
{
    Bias p = Bias(address(0), address(2), parameter(4), parameter(5), parameter(6), uintBitsToFloat(parameter(7)), 0);
    for (uint u = gl_WorkGroupID.x; u < op(OP_X); u += gl_NumWorkGroups.x) put_bias(p, u, 0);
}

void do_added()
{
    Added p = Added(address(0), address(2), address(4), parameter(6), uintBitsToFloat(parameter(7)), address(8));
    add_normed(p, 0, gl_WorkGroupID.x, gl_NumWorkGroups.x);
}

// Where they are wanted.
void do_cap()
{
    Cap p = Cap(Runs(runs).v[0].logits, parameter(2), uintBitsToFloat(parameter(3)), uintBitsToFloat(parameter(4)));
    for (uint u = gl_WorkGroupID.x; u < op(OP_X); u += gl_NumWorkGroups.x) cap_logits(p, p.logits, u);
}

void main()
{
    uint i = gl_LocalInvocationIndex;
    if (stopped != 0 && Words(stopped).v[0] != 0) return;
    WeightPairs words = WeightPairs(fused);
    if (i == 0) broken = 0;
    for (uint e = i; e < OP; e += LANES) op_words[0][e] = words.v[(first * OP + e) / 2][e % 2];
    op_at = all_there = 0;
    going = true;
    join_lanes();
    for (uint n = 0; n < barriers && going; n++) {
        arrive();
        going = meet();
    }
    [[dont_unroll]] for (uint o = first; o < end && going; o++) {
        uvec2 some = uvec2(0); // of the next operation
        if (o + 1 < end && i < OP / 2) some = words.v[(o + 1) * OP / 2 + i];
        waits = op(OP_BARRIER) == 1;
        ahead = false;
        if (waits) arrive();
        if (does(DO_PRODUCT)) {
            product();
        } else if (does(DO_DELTA)) {
            do_delta();
        } else if (does(DO_ATTEND)) {
            do_attend();
        } else {
            wait_for_inputs();
            if (does(DO_HEADS)) do_heads();
            else if (does(DO_MERGE)) do_merge();
            else if (does(DO_ACT)) do_act();
            else if (does(DO_EMBED)) do_embed();
            else if (does(DO_BIAS)) do_bias();
            else if (does(DO_ADDED)) do_added();
            else if (does(DO_CAP)) do_cap();
        }
        wait_for_inputs();
        look_at_read();
        if (i < OP / 2) op_words[1 - op_at][2 * i] = some.x, op_words[1 - op_at][2 * i + 1] = some.y;
        join_lanes();
        op_at = 1 - op_at;
    }
    leave();
}
