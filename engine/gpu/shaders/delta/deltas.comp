#version 460
#include "common.glsl"
// The gated delta rule (delta.glsl), token by token. A workgroup is a slab of a value head of a run.
//
// A token waits for the one before, so what counts is how long one takes. The shares of a column lie in one subgroup where that
// has room for them, and are added through it. Queries, keys, values and gates lie in shared memory for BATCH tokens, the next
// ones are loaded meanwhile; and what no other token waits for, outputs, is done for all of them at once.
layout(local_size_x_id = 0) in; // SLAB * KEY / KEYS or more, a multiple of 32
layout(constant_id = 0) const uint LANES = 128;
layout(constant_id = 1) const uint KEY = 128;
layout(constant_id = 2) const uint VALUE = 128;
layout(constant_id = 3) const uint KEYS = 16; // a multiple of 4
layout(constant_id = 4) const uint SLAB = 16;
layout(constant_id = 5) const uint SUBGROUP = 1;
#include "delta/delta.glsl"
layout(push_constant, scalar) uniform Push {
    Delta p;
};
// SPAN lanes have NEAR whole columns: neighbours have the same share, so that they read the same of keys, and queries.
const bool EXCHANGED = SHARES <= SUBGROUP;
const uint SPAN = EXCHANGED ? SUBGROUP : SHARES, NEAR = SPAN / SHARES;
const uint STRIDE = SLAB + 4; // of shares in `seen`: other banks for each of eight
const uint FLOATS = 2 * KEY + 2 * SLAB + SHARES * STRIDE + 5, BATCH = 16 * FLOATS <= 7680 ? 16 : 8; // of 32 KiB
const uint QUADS = KEYS / 4, EACH = (BATCH * KEY / 2 + LANES - 1) / LANES, TARGETS = (BATCH * SLAB + LANES - 1) / LANES;
const bool PAIRS = KEYS <= 32; // of tokens, so that the next one's vectors come early; else a driver has too much to compile
shared vec4 vectors[BATCH * KEY / 2]; // of each token queries, then keys: the first quads of all shares, their second ones ...
shared float targets[BATCH * SLAB], changes[BATCH * SLAB], seen[BATCH * SHARES * STRIDE], kqs[BATCH];
shared vec2 gates[2][BATCH]; // of every other batch: outputs still need them when the next ones come
shared float others[2][EXCHANGED ? 1 : LANES];

// A lane's own. As variables of the shader, since arrays of such sizes can't be assigned as a whole.
float s[KEYS];
vec4 query[2][QUADS], key[2][QUADS]; // its share of this token's and of the next one's
uvec4 next_vectors[EACH];            // what it takes to shared memory of the next batch
float next_targets[TARGETS];
vec2 next_gates;
uint turn; // which of `others` is next: so one barrier a sum is enough

// Behind the batch's end is its last token again.
void get_vectors(uint to, uint t, uint share)
{
    uint at = min(t, BATCH - 1) * (KEY / 2) + share;
    [[unroll]] for (uint m = 0; m < QUADS; m++) {
        query[to][m] = vectors[at + m * SHARES];
        key[to][m] = vectors[at + m * SHARES + KEY / 4];
    }
}

// The sum of the shares of this lane's column, in each of them.
float sum_of_shares(float v, uint share)
{
    if (SHARES == 1) return v;
    float of[SHARES];
    if (EXCHANGED) {
        uint first = gl_SubgroupInvocationID - share * NEAR;
        [[unroll]] for (uint n = 0; n < SHARES; n++) of[n] = subgroupShuffle(v, first + n * NEAR);
    } else {
        uint i = gl_LocalInvocationIndex, first = i - share * NEAR;
        others[turn][i] = v;
        barrier();
        [[unroll]] for (uint n = 0; n < SHARES; n++) of[n] = others[turn][first + n * NEAR];
        turn = 1 - turn;
    }
    precise float sum = of[0];
    [[unroll]] for (uint n = 1; n < SHARES; n++) sum += of[n];
    return sum;
}

// k . q of the batch, once for all columns: a token where columns have one.
void multiply_vectors(uint share, uint place)
{
    for (uint first = 0; first < BATCH; first += LANES / SHARES) {
        uint t = first + place;
        get_vectors(0, t, share);
        precise float kq = 0;
        [[unroll]] for (uint k = 0; k < KEYS; k++) kq = fma(key[0][k / 4][k % 4], query[0][k / 4][k % 4], kq);
        float all = sum_of_shares(kq, share);
        if (share == 0 && t < BATCH) kqs[t] = all;
    }
}

// A token of the batch, whose vectors were put to `now`.
void step_token(uint t, uint now, uint batch, uint share, uint column, bool works)
{
    get_vectors(1 - now, t + 1, share);
    vec2 gate = gates[batch][t];
    float target = targets[t * SLAB + column];
    precise float by_k = 0, by_q = 0;
    [[unroll]] for (uint k = 0; k < KEYS; k++) {
        by_k = fma(s[k], key[now][k / 4][k % 4], by_k);
        by_q = fma(s[k], query[now][k / 4][k % 4], by_q);
    }
    float d = change_of(gate, target, sum_of_shares(by_k, share));
    if (works) seen[(t * SHARES + share) * STRIDE + column] = by_q;
    if (works && share == 0) changes[t * SLAB + column] = d;
    [[unroll]] for (uint k = 0; k < KEYS; k++) s[k] = next_state(gate, s[k], key[now][k / 4][k % 4], d);
}

// This lane's part of the batch from token `first` on. Behind the last token is that one again.
void load(Run run, uint first, uint head, uint v0)
{
    uint i = gl_LocalInvocationIndex, key_head = key_head_of(p, head), channels = channels_of(p), last = run.n - 1;
    [[unroll]] for (uint e = 0; e < EACH; e++) {
        uint place = i + e * LANES, t = place / (KEY / 2), of = place % (KEY / 4);
        uint row = run.first_row + min(first + t, last), vector = place / (KEY / 4) % 2 * p.key_heads + key_head;
        next_vectors[e] = Quads(p.qkv).v[(row * channels + vector * KEY) / 4 + of % SHARES * QUADS + of / SHARES];
    }
    [[unroll]] for (uint e = 0; e < TARGETS; e++) {
        uint place = i + e * LANES, row = run.first_row + min(first + place / SLAB, last);
        next_targets[e] = Floats(p.qkv).v[row * channels + 2 * p.key_heads * KEY + head * VALUE + v0 + place % SLAB];
    }
    next_gates = uintBitsToFloat(Pairs(p.gates).v[(run.first_row + min(first + i, last)) * p.value_heads + head]);
}

void put(uint batch)
{
    uint i = gl_LocalInvocationIndex;
    [[unroll]] for (uint e = 0; e < EACH; e++)
        if (i + e * LANES < BATCH * KEY / 2) vectors[i + e * LANES] = uintBitsToFloat(next_vectors[e]);
    [[unroll]] for (uint e = 0; e < TARGETS; e++)
        if (i + e * LANES < BATCH * SLAB) targets[i + e * LANES] = next_targets[e];
    if (i < BATCH) gates[batch][i] = next_gates;
}

// The outputs of the first `count` tokens of a batch, the first of which is the row `row`.
void put_outputs(uint row, uint count, uint batch, uint head, uint v0)
{
    for (uint e = gl_LocalInvocationIndex; e < count * SLAB; e += LANES) {
        uint t = e / SLAB, column = e % SLAB;
        precise float sum = seen[t * SHARES * STRIDE + column];
        [[unroll]] for (uint n = 1; n < SHARES; n++) sum += seen[(t * SHARES + n) * STRIDE + column];
        Floats(p.result).v[((row + t) * p.value_heads + head) * VALUE + v0 + column] =
            output_of(gates[batch][t], sum, kqs[t], changes[e]);
    }
}

void main()
{
    uint i = gl_LocalInvocationIndex, head = gl_WorkGroupID.x, v0 = gl_WorkGroupID.z * SLAB;
    uint share = i % SPAN / NEAR, place = i / SPAN * NEAR + i % NEAR, column = min(place, SLAB - 1);
    bool works = place < SLAB;
    Run run = Runs(p.runs).v[gl_WorkGroupID.y];
    Floats state = Floats(run.recurrent);
    uint at = state_at(p, head, share, v0 + column), batch = 0;
    load(run, 0, head, v0);
    [[unroll]] for (uint k = 0; k < KEYS; k++) s[k] = state.v[at + k * VALUE];
    turn = 0;
    for (uint first = 0; first < run.n; first += BATCH, batch = 1 - batch) {
        uint count = min(run.n - first, BATCH), t = 0;
        put(batch);
        barrier();
        if (first + BATCH < run.n) load(run, first + BATCH, head, v0);
        multiply_vectors(share, place);
        if (PAIRS) get_vectors(0, 0, share);
        for (; PAIRS && t + 2 <= count; t += 2) {
            step_token(t, 0, batch, share, column, works);
            step_token(t + 1, 1, batch, share, column, works);
        }
        for (; t < count; t++) {
            get_vectors(0, t, share);
            step_token(t, 0, batch, share, column, works);
        }
        barrier();
        put_outputs(run.first_row + first, count, batch, head, v0);
    }
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++) state.v[at + k * VALUE] = s[k];
}
