#version 460
#include "common.glsl"
#include "weights.glsl"
// out[t][r] = (or +=) sum over c of W[r][c] x[t][c], for 32 rows and TOKENS tokens at a time.
//
// Lane x is a row. Lane y is one of SEGMENTS segments of the columns: it takes the chunks c with c % SEGMENTS = y, in
// ascending order; the sums of the segments are added in ascending order. SEGMENTS follows from the device and the matrix's
// shape, so each output's arithmetic is the same for every TOKENS.
// Of quants the sums of 16 or 32 products are exact integers, scaled as in engine/kernel/int8_template.h.
layout(local_size_x = 32, local_size_y_id = 3) in;
layout(constant_id = 0) const uint KIND = 3;
layout(constant_id = 1) const uint TOKENS = 1;
layout(constant_id = 2) const uint EXPERTS = 0; // 1: output row t takes the matrix chosen[t] and the input row t / each
layout(constant_id = 3) const uint SEGMENTS = 8;
// 0: x is what act.comp made. Else one token's activations are made here, by every workgroup for itself, in the way of mode
// SOURCE - 1: the same bits as act.comp's if that has as many lanes, and cheaper than a dispatch and a barrier.
layout(constant_id = 4) const uint SOURCE = 0;
layout(constant_id = 5) const uint OWN = 1; // quads of activations in shared memory

layout(push_constant, scalar) uniform Push {
    uint64_t weights; // the first tile; EXPERTS: the addresses of the experts' first tiles
    uint64_t x;       // records [tokens][chunks]; float kinds: floats [tokens][128 chunks]
    uint64_t result;  // of the tile's first row, token 0
    uint64_t chosen;
    uint tiles, chunks, rows, tokens; // rows: of these tiles
    uint ldo, add, each;
    uint columns, ldx, ldg, head;
    float eps;
    uint64_t by, gate, index; // the source's; index: of its row, 0: row 0
};

const bool FLOATS = KIND <= BF16;
const bool STAGED = !FLOATS && TOKENS > 1; // activations go through shared memory
const uint QUADS = RECORD / 4;             // of a record
const uint MODE = SOURCE == 0 ? 0 : SOURCE - 1, LANES = TILE * SEGMENTS, SOME = TOKENS < 8 ? TOKENS : 8;
shared uvec4 own[OWN];
// The sums of the segments; where activations are staged they take their place.
shared float sums[STAGED ? 1 : SEGMENTS * SOME * TILE];
#include "activation.glsl"

bool wants_records()
{
    return !FLOATS;
}

bool wants_floats()
{
    return FLOATS;
}

void put_word(uint chunk, uint word, uint value)
{
    uint place = chunk * RECORD + word;
    own[place / 4][place % 4] = value;
}

void put_floats(uint column, vec4 v)
{
    own[column / 4] = floatBitsToUint(v);
}

uvec4 x_quad(Quads from_x, uint place)
{
    if (SOURCE == 0 && !STAGED) return from_x.v[place];
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

vec4 weight_floats(Quads w, uint at, uint i) // columns 4i to 4i + 3
{
    uint lane = gl_LocalInvocationID.x;
    if (KIND == F32) return uintBitsToFloat(w.v[at + i * TILE + lane]);
    uvec4 all = w.v[at + i / 2 * TILE + lane];
    uvec2 some = i % 2 == 0 ? all.xy : all.zw;
    if (KIND == F16) return halves(some);
    return uintBitsToFloat(uvec4(some.x << 16, some.x & 0xFFFF0000u, some.y << 16, some.y & 0xFFFF0000u));
}

void float_chunk(Quads w, uint at, Quads from_x, uint c, uint first, inout vec4 total[TOKENS])
{
    [[unroll]] for (uint part = 0; part < 4; part++) {
        vec4 some[8];
        [[unroll]] for (uint i = 0; i < 8; i++) some[i] = weight_floats(w, at, 8 * part + i);
        [[unroll]] for (uint t = 0; t < TOKENS; t++) {
            uint row = SOURCE > 0 ? 0 : EXPERTS == 1 ? first / each : min(first + t, tokens - 1);
            uint from = (row * chunks + c) * 32 + 8 * part;
            [[unroll]] for (uint i = 0; i < 8; i++) {
                precise vec4 sum = fma(some[i], uintBitsToFloat(x_quad(from_x, from + i)), total[t]);
                total[t] = sum;
            }
        }
    }
}

// One row of a chunk of quants as it lies in memory: loaded some time before it is used.
struct Raw {
    uvec4 q[8];
    uvec2 scales; // Q8: 4 f16; else bytes
    uint d;
};

Raw raw_of(Quads w, uint at)
{
    Raw raw;
    uint lane = gl_LocalInvocationID.x;
    const uint vectors = KIND == Q8 ? 8 : KIND == Q4K ? 4 : 6;
    [[unroll]] for (uint i = 0; i < vectors; i++) raw.q[i] = w.v[at + i * TILE + lane];
    raw.scales = Pairs(uint64_t(w)).v[(at + vectors * TILE) * 2 + lane];
    if (KIND != Q8) raw.d = Words(uint64_t(w)).v[(at + vectors * TILE) * 4 + 2 * TILE + lane];
    return raw;
}

// What one row of a chunk of quants has besides them.
struct Scales {
    float d[4], min; // Q8: 4 scales; Q4K, Q6K: d[0], and dmin
    int s[8], sm[4];
};

Scales scales_of(Raw raw)
{
    Scales s;
    if (KIND == Q8) {
        vec4 d = halves(raw.scales);
        [[unroll]] for (uint i = 0; i < 4; i++) s.d[i] = d[i];
    } else {
        vec2 d = unpackHalf2x16(raw.d);
        s.d[0] = d.x, s.min = d.y;
        [[unroll]] for (uint i = 0; i < 8; i++) s.s[i] = bitfieldExtract(int(raw.scales[i / 4]), int(i % 4 * 8), 8);
        if (KIND == Q4K)
            [[unroll]] for (uint i = 0; i < 4; i++) s.sm[i] = int(bitfieldExtract(raw.scales.y, int(i * 8), 8));
    }
    return s;
}

// total += the products of one chunk and one token, whose record begins at quad `from`.
void quant_token(int q[32], Scales s, Quads from_x, uint from, inout float total)
{
    int sum[8];
    [[unroll]] for (uint b = 0; b < 8; b++) {
        ivec4 some = ivec4(x_quad(from_x, from + b));
        int dot = sdot(q[4 * b], some.x, 0) + sdot(q[4 * b + 1], some.y, 0) + sdot(q[4 * b + 2], some.z, 0) +
                  sdot(q[4 * b + 3], some.w, 0);
        sum[b] = dot;
    }
    precise float d = uintBitsToFloat(x_quad(from_x, from + RECORD_SCALE / 4).x), all = total;
    if (KIND == Q8) {
        precise float part = 0;
        [[unroll]] for (uint b = 0; b < 4; b++) part = fma(float(sum[2 * b] + sum[2 * b + 1]), s.d[b], part);
        all = fma(part, d, all);
    } else if (KIND == Q6K) {
        int part = 0;
        [[unroll]] for (uint b = 0; b < 8; b++) part += s.s[b] * sum[b];
        precise float scaled = float(part) * d;
        all = fma(scaled, s.d[0], all);
    } else {
        ivec4 low = ivec4(x_quad(from_x, from + RECORD_SUMS / 4)), high = ivec4(x_quad(from_x, from + RECORD_SUMS / 4 + 1));
        ivec4 sums32 = ivec4(low.x + low.y, low.z + low.w, high.x + high.y, high.z + high.w);
        int part = 0;
        [[unroll]] for (uint b = 0; b < 4; b++) {
            precise float min = -s.min * float(s.sm[b]), by = d * float(sums32[b]);
            all = fma(min, by, all);
            part += s.s[b] * (sum[2 * b] + sum[2 * b + 1]);
        }
        precise float scaled = float(part) * d;
        all = fma(scaled, s.d[0], all);
    }
    total = all;
}

void quant_chunk(Raw raw, Quads from_x, uint c, uint first, inout float total[TOKENS])
{
    int q[32];
    if (KIND == Q8) {
        [[unroll]] for (uint i = 0; i < 32; i++) q[i] = int(raw.q[i / 4][i % 4]);
    } else {
        [[unroll]] for (uint g = 0; g < 32; g++) {
            uint word = raw.q[g / 4 % 4][g % 4] >> (g / 16 * 4) & 0x0F0F0F0Fu;
            if (KIND == Q6K) {
                word |= (raw.q[4 + g / 4 % 2][g % 4] >> (g / 8 * 2) & 0x03030303u) << 4;
                word = ((word | 0x80808080u) - 0x20202020u) ^ 0x80808080u;
            }
            q[g] = int(word);
        }
    }
    Scales s = scales_of(raw);
    [[unroll]] for (uint t = 0; t < TOKENS; t++) {
        uint from = STAGED ? (gl_LocalInvocationID.y * TOKENS + t) * QUADS
                    : SOURCE > 0 ? c * QUADS : ((EXPERTS == 1 ? first / each : first) * chunks + c) * QUADS;
        quant_token(q, s, from_x, from, total[t]);
    }
}

// The records of a chunk of TOKENS tokens, by the lanes that work on it.
void stage(Quads from_x, uint c, uint first)
{
    uint lane = gl_LocalInvocationID.x, segment = gl_LocalInvocationID.y;
    [[unroll]] for (uint i = 0; i < (TOKENS * QUADS + TILE - 1) / TILE; i++) {
        uint e = i * TILE + lane, row = min(first + e / QUADS, tokens - 1);
        if (e < TOKENS * QUADS) own[segment * TOKENS * QUADS + e] = from_x.v[(row * chunks + c) * QUADS + e % QUADS];
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x, segment = gl_LocalInvocationID.y, first = gl_WorkGroupID.y * TOKENS;
    Quads w = Quads(EXPERTS == 1 ? Addresses(weights).v[Words(chosen).v[first]] : weights), input_x = Quads(x);
    Floats out_f = Floats(result);
    const uint turns = (chunks + SEGMENTS - 1) / SEGMENTS, quads = chunk_quads(KIND);
    Raw next;
    if (!FLOATS && segment < chunks) next = raw_of(w, (gl_WorkGroupID.x * chunks + segment) * quads);
    if (SOURCE > 0) {
        activate(index == 0 ? 0 : Words(index).v[0]);
        barrier();
    }
    for (uint tile = gl_WorkGroupID.x; tile < tiles; tile += gl_NumWorkGroups.x) {
        float total[TOKENS];
        vec4 four[TOKENS];
        [[unroll]] for (uint t = 0; t < TOKENS; t++) {
            total[t] = 0;
            four[t] = vec4(0);
        }
        for (uint turn = 0; turn < turns; turn++) {
            uint c = turn * SEGMENTS + segment, after_tile = turn + 1 < turns ? tile : tile + gl_NumWorkGroups.x;
            uint after = turn + 1 < turns ? c + SEGMENTS : segment;
            if (FLOATS) {
                if (c < chunks) float_chunk(w, (tile * chunks + c) * quads, input_x, c, first, four);
                continue;
            }
            if (STAGED) {
                if (c < chunks) stage(input_x, c, first);
                barrier();
            }
            Raw now = next;
            if (after_tile < tiles && after < chunks) next = raw_of(w, (after_tile * chunks + after) * quads);
            if (c < chunks) quant_chunk(now, input_x, c, first, total);
            if (STAGED) barrier();
        }
        if (FLOATS)
            [[unroll]] for (uint t = 0; t < TOKENS; t++) {
                precise float a = four[t].x + four[t].y, b = four[t].z + four[t].w;
                precise float sum = a + b;
                total[t] = sum;
            }
        [[unroll]] for (uint t0 = 0; t0 < TOKENS; t0 += 8) {
            [[unroll]] for (uint t = t0; t < min(t0 + 8, TOKENS); t++) put_sum((segment * SOME + t - t0) * TILE + lane, total[t]);
            if (SEGMENTS > 1) barrier();
            for (uint t = segment; t < min(8, TOKENS - t0); t += SEGMENTS) {
                uint to = first + t0 + t, row = tile * TILE + lane, place = to * ldo + row;
                if (to >= tokens || row >= rows) continue;
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
