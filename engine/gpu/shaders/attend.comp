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
#include "merge.glsl"
#include "attend.glsl"
#include "kv.glsl"
layout(push_constant, scalar) uniform Push {
    uint64_t runs, tiles, q, result, partials; // tiles: { run, first token in it, tokens, 0 }
    uint heads, kv_heads, layer_bytes, kv_bytes, blocks; // blocks: of a row's partial results
};
const uint DIMS = (HEAD + BLOCK - 1) / BLOCK; // of a lane
shared vec4 query[ROWS * HEAD / 4];
shared float weight[ROWS * BLOCK];
shared float eight[16 * 8];

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
    uint b0 = SPLIT == 1 ? gl_WorkGroupID.z : 0, b1 = SPLIT == 1 ? b0 + 1 : last / BLOCK + 1;
    if (b0 > last / BLOCK) return;
    barrier();
    for (uint b = b0; b < b1; b++) {
        uint position = b * BLOCK + i, end = min(last + 1 - b * BLOCK, BLOCK); // positions that exist
        if (i < end) {
            uint64_t keys = pages.v[position / 32] + layer;
            float score[ROWS];
            [[unroll]] for (uint part = 0; part < PARTS; part++) {
                vec4 four[ROWS];
                [[unroll]] for (uint r = 0; r < ROWS; r++) four[r] = vec4(0);
                for (uint d = part * PART; d < min(part * PART + PART, HEAD / 4); d += AT_ONCE) {
                    vec4 key[AT_ONCE];
                    [[unroll]] for (uint k = 0; k < AT_ONCE; k++) key[k] = kv_four(keys, position % 32 * HEAD + 4 * (d + k));
                    [[unroll]] for (uint k = 0; k < AT_ONCE; k++)
                        [[unroll]] for (uint r = 0; r < ROWS; r++) {
                            precise vec4 more = fma(key[k], query[r * (HEAD / 4) + d + k], four[r]);
                            four[r] = more;
                        }
                }
                [[unroll]] for (uint r = 0; r < ROWS; r++) {
                    precise float x = four[r].x + four[r].y, y = four[r].z + four[r].w;
                    precise float some = x + y;
                    precise float more = part == 0 ? some : score[r] + some;
                    score[r] = more;
                }
            }
            [[unroll]] for (uint r = 0; r < ROWS; r++) {
                bool seen = position <= run.start + tile.y + r / group;
                weight[r * BLOCK + i] = seen ? score[r] : NOTHING;
            }
        } else {
            [[unroll]] for (uint r = 0; r < ROWS; r++) weight[r * BLOCK + i] = NOTHING;
        }
        barrier();
        uint r8 = i / 8, lane = i % 8;
        if (r8 < ROWS) {
            float top = NOTHING;
            for (uint k = 0; k < 16; k++) top = max(top, weight[r8 * BLOCK + lane * 16 + k]);
            eight[i] = top;
        }
        barrier();
        float tops[ROWS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            float top = eight[r * 8];
            [[unroll]] for (uint k = 1; k < 8; k++) top = max(top, eight[r * 8 + k]);
            tops[r] = top;
            float score = weight[r * BLOCK + i];
            precise float less = score - top;
            weight[r * BLOCK + i] = score == NOTHING ? 0 : exp_of(less);
        }
        barrier();
        if (r8 < ROWS) {
            precise float some = 0;
            for (uint k = 0; k < 16; k++) some += weight[r8 * BLOCK + lane * 16 + k];
            eight[i] = some;
        }
        barrier();
        float out_acc[ROWS][DIMS];
        // Positions beyond the last have no weight, but nothing is stored there either: the last one is read again.
        [[unroll]] for (uint part = 0; part < PARTS; part++) {
            float some[ROWS][DIMS];
            [[unroll]] for (uint r = 0; r < ROWS; r++)
                [[unroll]] for (uint e = 0; e < DIMS; e++) some[r][e] = 0;
            for (uint p0 = part * 32; p0 < min(part * 32 + 32, end); p0 += 8) {
                uint64_t values = pages.v[(b * BLOCK + p0) / 32] + layer + kv_bytes;
                float value[8][DIMS];
                [[unroll]] for (uint k = 0; k < 8; k++)
                    [[unroll]] for (uint e = 0; e < DIMS; e++) {
                        uint d = e * BLOCK + i, p = min(p0 + k, end - 1);
                        value[k][e] = d < HEAD ? kv_one(values, p % 32 * HEAD + d) : 0;
                    }
                [[unroll]] for (uint k = 0; k < 8; k++)
                    [[unroll]] for (uint r = 0; r < ROWS; r++) {
                        float w = weight[r * BLOCK + p0 + k];
                        [[unroll]] for (uint e = 0; e < DIMS; e++) {
                            precise float more = fma(w, value[k][e], some[r][e]);
                            some[r][e] = more;
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
            if (r >= rows || b * BLOCK > run.start + tile.y + r / group) continue;
            precise float block_sum = eight[r * 8];
            [[unroll]] for (uint k = 1; k < 8; k++) block_sum += eight[r * 8 + k];
            if (SPLIT == 1) {
                uint row = (first_row + r / group) * heads + kv_head * group + r % group;
                Floats out_partials = Floats(partials + uint64_t(row * blocks + b) * (HEAD + 2) * 4);
                if (i == 0) out_partials.v[0] = tops[r];
                if (i == 0) out_partials.v[1] = block_sum;
                [[unroll]] for (uint k = 0; k < DIMS; k++)
                    if (k * BLOCK + i < HEAD) out_partials.v[2 + k * BLOCK + i] = out_acc[r][k];
            } else if (b == 0) {
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
            uint d = k * BLOCK + i;
            precise float y = acc[r][k] * by;
            if (d < HEAD) Floats(result).v[row * HEAD + d] = y;
        }
    }
}
