#version 460
#include "common.glsl"
// Attention of some query rows, a row being a head of a token, over blocks of absolute positions (attend.glsl); blocks are
// merged in ascending order (merge.glsl), here (SPLIT 0) or by merge.comp from partial results. A workgroup is a tile of
// tokens of a run and the heads of a KV head; with SPLIT 1 and a block.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint KV = 0;
layout(constant_id = 1) const uint HEAD = 256;
layout(constant_id = 2) const uint ROWS = 4; // of a workgroup, at most 16
layout(constant_id = 3) const uint SPLIT = 0;
layout(constant_id = 4) const bool CAPPED = false; // products of queries and keys are
#include "attention/merge.glsl"
#include "kv.glsl"
#include "attention/attend.glsl"
layout(push_constant, scalar) uniform Push {
    uint64_t runs, tiles, q, result, partials; // tiles: { run, first token in it, tokens, 0 }
    uint heads, kv_heads, layer_bytes, kv_bytes, blocks; // blocks: of a row's partial results
    uint window;
    float cap, doubled; // soft_cap
    uint64_t sinks;     // a logit of each head that the sum of exponentials has besides; 0: none
};
// A lane has DIMS elements of the values: two neighbours, where a head has two for each lane, else every 128th.
const uint DIMS = (HEAD + BLOCK - 1) / BLOCK;
const bool PAIRS = HEAD == 2 * BLOCK, HELD = KV == 1 ? PAIRS : false;
const uint VALUES = HELD ? 16 : 8; // loaded at once; held: pairs of half floats, as they lie in memory
shared vec4 query[ROWS * HEAD / 4];
shared vec4 weight[ROWS * BLOCK / 4]; // [row][position]
shared float eight[16 * 8];

float weight_at(uint at)
{
    return weight[at / 4][at % 4];
}

void put_weight(uint at, float v)
{
    weight[at / 4][at % 4] = v;
}

uint element(uint e)
{
    return PAIRS ? 2 * gl_LocalInvocationID.x + e : e * BLOCK + gl_LocalInvocationID.x;
}

// A part of a key as half floats is loaded at once, as it lies in memory, and worked on in two steps; others by vectors.
const bool HALVES = KV == 1 ? HEAD % 32 == 0 : false;
const uint KEY_QUADS = HALVES ? PART / 2 : 1, KEY_STEP = KEY_QUADS % 2 == 0 ? KEY_QUADS / 2 : KEY_QUADS;

// From the at-th element of a key on.
void load_key(uint64_t keys, uint at, out uvec4 key[KEY_QUADS])
{
    [[unroll]] for (uint k = 0; k < KEY_QUADS; k++) key[k] = WeightQuads(keys).v[at / 8 + k];
}

// four[r] += the products of the v-th four elements of a key and of query r.
void add_key(vec4 key, uint v, inout vec4 four[ROWS])
{
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        precise vec4 more = fma(key, query[r * (HEAD / 4) + v], four[r]);
        four[r] = more;
    }
}

// The products of a part of a position's key and the queries.
void score_part(uint64_t keys, uint position, uint part, inout vec4 four[ROWS])
{
    if (HALVES) {
        uvec4 key[KEY_QUADS];
        load_key(keys, position % 32 * HEAD + part * PART * 4, key);
        [[dont_unroll]] for (uint k0 = 0; k0 < KEY_QUADS; k0 += KEY_STEP) {
            [[unroll]] for (uint k = 0; k < KEY_STEP; k++) {
                add_key(halves(key[k].xy), part * PART + 2 * (k0 + k), four);
                add_key(halves(key[k].zw), part * PART + 2 * (k0 + k) + 1, four);
            }
            [[unroll]] for (uint k = 0; k + KEY_STEP < KEY_QUADS; k++) key[k] = key[k + KEY_STEP];
        }
    } else {
        for (uint v = part * PART; v < min(part * PART + PART, HEAD / 4); v += AT_ONCE) {
            vec4 key[AT_ONCE];
            [[unroll]] for (uint k = 0; k < AT_ONCE; k++) key[k] = kv_four(keys, position % 32 * HEAD + 4 * (v + k));
            [[unroll]] for (uint k = 0; k < AT_ONCE; k++) add_key(key[k], v + k, four);
        }
    }
}

// A lane's elements of VALUES values of a page from the p0-th on; behind the one at `last` that one again.
void load_values(uint64_t values, uint p0, uint last, out uint held[VALUES], out float value[VALUES][DIMS])
{
    [[unroll]] for (uint k = 0; k < VALUES; k++) {
        uint at = min(p0 + k, last) * HEAD;
        if (HELD) held[k] = Words(values).v[(at + element(0)) / 2];
        else
            [[unroll]] for (uint e = 0; e < DIMS; e++)
                value[k][e] = element(e) < HEAD ? kv_one(values, at + element(e)) : 0;
    }
}

void main()
{
    uint i = gl_LocalInvocationID.x, kv_head = gl_WorkGroupID.y, group = heads / kv_heads;
    uvec4 tile = Quads(tiles).v[gl_WorkGroupID.x];
    Run run = Runs(runs).v[tile.x];
    uint rows = tile.z * group, last = run.start + tile.y + tile.z - 1;
    uint first_row = run.first_row + tile.y;
    Addresses pages = Addresses(run.pages);
    uint64_t layer = layer_bytes + uint64_t(kv_head) * 2 * kv_bytes;
    for (uint e = i; e < rows * HEAD / 4; e += BLOCK) {
        uint r = e / (HEAD / 4), token = first_row + r / group, head = kv_head * group + r % group;
        query[e] = uintBitsToFloat(Quads(q).v[(token * heads + head) * (HEAD / 4) + e % (HEAD / 4)]);
    }
    float most[ROWS], sum[ROWS], acc[ROWS][DIMS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        most[r] = 0, sum[r] = 0;
        [[unroll]] for (uint k = 0; k < DIMS; k++) acc[r][k] = 0;
    }
    float sink_of[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++)
        sink_of[r] = Floats(present(sinks, q)).v[sinks == 0 ? 0 : kv_head * group + r % group];
    uint tile_first = first_seen(window, run.start + tile.y);
    uint b0 = SPLIT == 1 ? gl_WorkGroupID.z : tile_first / BLOCK, b1 = SPLIT == 1 ? b0 + 1 : last / BLOCK + 1;
    if (b0 > last / BLOCK || b0 < tile_first / BLOCK) return;
    barrier();
    for (uint b = b0; b < b1; b++) {
        uint position = b * BLOCK + i, end = min(last + 1 - b * BLOCK, BLOCK); // positions that exist
        uint passed = tile_first > b * BLOCK ? tile_first - b * BLOCK : 0;     // that no token sees any more
        if (i < end && i >= passed) {
            uint64_t keys = pages.v[position / 32] + layer;
            float score[ROWS]; // of the first part, then with the others
            [[dont_unroll]] for (uint part = 0; part < PARTS; part++) {
                vec4 four[ROWS];
                [[unroll]] for (uint r = 0; r < ROWS; r++) four[r] = vec4(0);
                score_part(keys, position, part, four);
                [[unroll]] for (uint r = 0; r < ROWS; r++) {
                    precise float x = four[r].x + four[r].y, y = four[r].z + four[r].w;
                    precise float some = x + y;
                    precise float more = part == 0 ? some : score[r] + some;
                    score[r] = more;
                }
            }
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                uint own = run.start + tile.y + r / group;
                bool seen = position <= own && position >= first_seen(window, own);
                float own_score = CAPPED ? soft_cap(score[r], cap, doubled) : score[r];
                put_weight(r * BLOCK + i, seen ? own_score : NOTHING);
            }
        } else {
            [[unroll]] for (uint r = 0; r < ROWS; r++) put_weight(r * BLOCK + i, NOTHING);
        }
        barrier();
        uint r8 = i / 8, lane = i % 8;
        if (r8 < ROWS) {
            float top = NOTHING;
            for (uint k = 0; k < 16; k++) top = max(top, weight_at(r8 * BLOCK + lane * 16 + k));
            eight[i] = top;
        }
        barrier();
        float tops[ROWS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            float top = eight[r * 8];
            [[unroll]] for (uint k = 1; k < 8; k++) top = max(top, eight[r * 8 + k]);
            tops[r] = top;
            float score = weight_at(r * BLOCK + i);
            precise float less = score - top;
            put_weight(r * BLOCK + i, score == NOTHING ? 0 : exp_of(less));
        }
        barrier();
        if (r8 < ROWS) {
            precise float some = 0;
            for (uint k = 0; k < 16; k++) some += weight_at(r8 * BLOCK + lane * 16 + k);
            eight[i] = some;
        }
        barrier();
        float out_acc[ROWS][DIMS];
        // Positions beyond the last have no weight, but nothing is stored there either: the last one is read again.
        [[unroll]] for (uint part = 0; part < PARTS; part++) {
            float some[ROWS][DIMS];
            [[unroll]] for (uint r = 0; r < ROWS; r++)
                [[unroll]] for (uint e = 0; e < DIMS; e++) some[r][e] = 0;
            for (uint p0 = max(part * 32, passed / 32 * 32); p0 < min(part * 32 + 32, end); p0 += VALUES) {
                uint64_t values = pages.v[(b * BLOCK + p0) / 32] + layer + kv_bytes;
                uint held[VALUES];
                float value[VALUES][DIMS];
                load_values(values, p0 % 32, (end - 1) - p0 / 32 * 32, held, value);
                [[unroll]] for (uint k0 = 0; k0 < VALUES; k0 += 4) {
                    float four[4][DIMS];
                    [[unroll]] for (uint k = 0; k < 4; k++)
                        [[unroll]] for (uint e = 0; e < DIMS; e++)
                            four[k][e] = HELD ? unpackHalf2x16(held[k0 + k])[e % 2] : value[k0 + k][e];
                    [[unroll]] for (uint r = 0; r < ROWS; r++) {
                        vec4 w = weight[(r * BLOCK + p0 + k0) / 4];
                        [[unroll]] for (uint k = 0; k < 4; k++)
                            [[unroll]] for (uint e = 0; e < DIMS; e++) {
                                precise float more = fma(w[k], four[k][e], some[r][e]);
                                some[r][e] = more;
                            }
                    }
                }
            }
            [[unroll]] for (uint r = 0; r < ROWS; r++)
                [[unroll]] for (uint e = 0; e < DIMS; e++) {
                    precise float more = part == 0 ? some[r][e] : out_acc[r][e] + some[r][e];
                    out_acc[r][e] = more;
                }
        }
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            uint own = run.start + tile.y + r / group, row_first = first_seen(window, own);
            if (r >= rows || b * BLOCK > own || b < row_first / BLOCK) continue;
            precise float block_sum = eight[r * 8];
            [[unroll]] for (uint k = 1; k < 8; k++) block_sum += eight[r * 8 + k];
            if (sinks != 0 && b == row_first / BLOCK) {
                precise float less = sink_of[r] - tops[r];
                block_sum += exp_of(min(less, 80.0)); // which inverse() knows
            }
            if (SPLIT == 1) {
                uint row = (first_row + r / group) * heads + kv_head * group + r % group;
                Floats out_partials = Floats(partials + uint64_t(row * blocks + b) * (HEAD + 2) * 4);
                if (i == 0) out_partials.v[0] = tops[r];
                if (i == 0) out_partials.v[1] = block_sum;
                [[unroll]] for (uint k = 0; k < DIMS; k++)
                    if (element(k) < HEAD) out_partials.v[2 + element(k)] = out_acc[r][k];
            } else if (b == row_first / BLOCK) {
                most[r] = tops[r], sum[r] = block_sum;
                [[unroll]] for (uint k = 0; k < DIMS; k++) acc[r][k] = out_acc[r][k];
            } else {
                Merge m = merge_of(most[r], tops[r]);
                most[r] = m.most;
                sum[r] = merged(m, sum[r], block_sum);
                [[unroll]] for (uint k = 0; k < DIMS; k++) acc[r][k] = merged(m, acc[r][k], out_acc[r][k]);
            }
        }
        barrier();
    }
    if (SPLIT == 1) return;
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        if (r >= rows) continue;
        float by = inverse(sum[r]);
        uint row = (first_row + r / group) * heads + kv_head * group + r % group;
        [[unroll]] for (uint k = 0; k < DIMS; k++) {
            precise float y = acc[r][k] * by;
            if (element(k) < HEAD) Floats(result).v[row * HEAD + element(k)] = y;
        }
    }
}
