#version 460
#include "common.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "vision/vision.glsl"
// The attention of attend.comp by matrix units that multiply half floats and add up floats.
//
// A subgroup has M TM queries of a head, in registers, with their sums of values. The workgroup's keys and values go
// through shared memory in blocks; the next block is read, and put beside the present one, meanwhile. Exponentials are
// taken by the largest score of a query as of some block before: while none is more than LIMIT above it, shares of the
// sum are half floats all the same, and only else, and in the first block, is the largest one looked for again, of each
// query for itself.
//
// All that is indexed by t, k, d or e lies in registers as long as each loop over them is unrolled, for which no loop
// that isn't may stand in it.
layout(local_size_x_id = 8) in;
layout(constant_id = 0) const uint DIM = 64; // a multiple of 16
layout(constant_id = 1) const uint M = 16;
layout(constant_id = 2) const uint N = 16;
layout(constant_id = 3) const uint K = 16;
layout(constant_id = 4) const uint TM = 2;
layout(constant_id = 5) const uint KEYS = 32; // of a block: a multiple of 16
layout(constant_id = 6) const uint GROUPS = 4;
layout(constant_id = 7) const uint ELEMENTS = 8; // of M x N in a lane
layout(constant_id = 8) const uint LANES = 128;
layout(push_constant, scalar) uniform Push {
    uint64_t heads_at, result; // as rope.comp leaves them; its patches are padded to a multiple of all that is read
    uint heads, dims, patches, padded, ld;
};
const float LIMIT = 10, NONE = -1e30;

// In quads, with one more, so that rows that are read together lie in different banks.
const uint QUERIES = M * TM, EACH = DIM / 8, PITCH = EACH + 1, PLACE = 2 * KEYS * PITCH;
const uint Q_QUADS = GROUPS * QUERIES * PITCH, QUADS = (2 * KEYS * EACH + LANES - 1) / LANES;
shared uvec4 units[2 * PLACE > Q_QUADS ? 2 * PLACE : Q_QUADS];
// Of a subgroup: shares on their way from sums to factors; floats of M x N, of all TM, to be compared or added up.
const uint SHARE_PITCH = KEYS / 2 + 4, SHARES = QUERIES * SHARE_PITCH, FLOATS = QUERIES * N;
const uint OWN = SHARES > FLOATS ? SHARES : FLOATS;
const uint PAIRS = (ELEMENTS + 1) / 2; // of elements that a lane puts out
shared uint words[GROUPS * OWN];

#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, M, K>
#define MATRIX_B fcoopmatNV<16, gl_ScopeSubgroup, K, N>
#define MATRIX_C fcoopmatNV<32, gl_ScopeSubgroup, M, N>
#define MATRIX_H fcoopmatNV<16, gl_ScopeSubgroup, M, N>

uvec4 ahead[QUADS];
uint own;
uint numbers[(ELEMENTS + 3) / 4]; // of a lane's elements in M x N, a byte each

uint row_of(uint e)
{
    return bitfieldExtract(numbers[e / 4], int(e % 4 * 8), 8) / N;
}

uint column_of(uint e)
{
    return bitfieldExtract(numbers[e / 4], int(e % 4 * 8), 8) % N;
}

// Keys of a block, then its values.
void read(uint block)
{
    [[unroll]] for (uint i = 0; i < QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex, of_values = e / EACH / KEYS;
        uint from = ((1 + of_values) * heads + gl_WorkGroupID.y) * padded + block + e / EACH % KEYS;
        if (e < 2 * KEYS * EACH) ahead[i] = Quads(heads_at).v[from * EACH + e % EACH];
    }
}

void put(uint place)
{
    [[unroll]] for (uint i = 0; i < QUADS; i++) {
        uint e = i * LANES + gl_LocalInvocationIndex;
        if (e < 2 * KEYS * EACH) units[place + e / EACH * PITCH + e % EACH] = ahead[i];
    }
}

// Which row and which column the elements of this lane are: no specification says it, so a matrix of their own numbers
// is loaded.
void places()
{
    for (uint i = gl_SubgroupInvocationID; i < M * N; i += gl_SubgroupSize) words[own + i] = floatBitsToUint(float(i));
    subgroupBarrier();
    MATRIX_C all;
    coopMatLoadNV(all, words, own, N, false);
    [[unroll]] for (uint e = 0; e < (ELEMENTS + 3) / 4; e++) numbers[e] = 0;
    [[unroll]] for (uint e = 0; e < ELEMENTS; e++) numbers[e / 4] |= uint(all[e]) << e % 4 * 8;
    subgroupBarrier();
}

// The sum, or the largest, of each row's elements, which of_row yields then.
void join(float v[TM][ELEMENTS], bool sums)
{
    subgroupBarrier();
    [[unroll]] for (uint t = 0; t < TM; t++)
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++)
            words[own + (t * M + row_of(e)) * N + column_of(e)] = floatBitsToUint(v[t][e]);
    subgroupBarrier();
    for (uint r = gl_SubgroupInvocationID; r < QUERIES; r += gl_SubgroupSize) {
        float all = uintBitsToFloat(words[own + r * N]);
        for (uint c = 1; c < N; c++) {
            float one = uintBitsToFloat(words[own + r * N + c]);
            all = sums ? all + one : max(all, one);
        }
        words[own + r * N] = floatBitsToUint(all);
    }
    subgroupBarrier();
}

float of_row(uint t, uint e)
{
    return uintBitsToFloat(words[own + (t * M + row_of(e)) * N]);
}

void main()
{
    const uint first = gl_WorkGroupID.x * GROUPS * QUERIES;
    uint i = gl_LocalInvocationIndex, place = 0;
    own = gl_SubgroupID * OWN;
    for (uint e = i; e < GROUPS * QUERIES * EACH; e += LANES) {
        uint query = gl_WorkGroupID.y * padded + first + e / EACH;
        units[e / EACH * PITCH + e % EACH] = Quads(heads_at).v[query * EACH + e % EACH];
    }
    read(0);
    barrier();
    places();
    MATRIX_A q[TM][DIM / K];
    MATRIX_C mixed[TM][DIM / N];
    MATRIX_C below[TM]; // the largest scores, negative: what scores begin at
    float sum[TM][ELEMENTS];
    [[unroll]] for (uint t = 0; t < TM; t++) {
        [[unroll]] for (uint d = 0; d < DIM / K; d++)
            coopMatLoadNV(q[t][d], units, (gl_SubgroupID * QUERIES + t * M) * PITCH + d * (K / 8), PITCH, false);
        [[unroll]] for (uint d = 0; d < DIM / N; d++) mixed[t][d] = MATRIX_C(0);
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++) sum[t][e] = 0;
        below[t] = MATRIX_C(0);
    }
    barrier();
    put(0);
    barrier();
    for (uint block = 0; block < patches; block += KEYS) {
        bool more = block + KEYS < patches;
        if (more) read(block + KEYS);
        MATRIX_C scores[TM][KEYS / N];
        [[unroll]] for (uint k = 0; k < KEYS / N; k++) {
            [[unroll]] for (uint t = 0; t < TM; t++) scores[t][k] = below[t];
            [[unroll]] for (uint d = 0; d < DIM / K; d++) {
                MATRIX_B keys;
                coopMatLoadNV(keys, units, place + k * N * PITCH + d * (K / 8), PITCH, true);
                [[unroll]] for (uint t = 0; t < TM; t++) scores[t][k] = coopMatMulAddNV(q[t][d], keys, scores[t][k]);
            }
        }
        if (!more)
            [[unroll]] for (uint k = 0; k < KEYS / N; k++)
                [[unroll]] for (uint e = 0; e < ELEMENTS; e++)
                    [[unroll]] for (uint t = 0; t < TM; t++)
                        if (block + k * N + column_of(e) >= patches) scores[t][k][e] = NONE;
        float largest[TM][ELEMENTS], most = NONE;
        [[unroll]] for (uint t = 0; t < TM; t++)
            [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
                largest[t][e] = scores[t][0][e];
                [[unroll]] for (uint k = 1; k < KEYS / N; k++) largest[t][e] = max(largest[t][e], scores[t][k][e]);
                most = max(most, largest[t][e]);
            }
        if (subgroupAny(block == 0 || most > LIMIT)) {
            join(largest, false);
            [[unroll]] for (uint t = 0; t < TM; t++)
                [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
                    float one = of_row(t, e), higher = block == 0 || one > LIMIT ? one : 0;
                    float by = block == 0 ? 1 : exp2(-higher);
                    below[t][e] -= higher;
                    sum[t][e] *= by;
                    [[unroll]] for (uint k = 0; k < KEYS / N; k++) scores[t][k][e] -= higher;
                    [[unroll]] for (uint d = 0; d < DIM / N; d++) mixed[t][d][e] *= by;
                }
            subgroupBarrier();
        }
        [[unroll]] for (uint t = 0; t < TM; t++)
            [[unroll]] for (uint k = 0; k < KEYS / N; k++) {
                [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
                    float share = exp2(scores[t][k][e]);
                    sum[t][e] += share;
                    scores[t][k][e] = share;
                }
                uint at = own + t * M * SHARE_PITCH + k * (N / 2);
                coopMatStoreNV(MATRIX_H(scores[t][k]), words, at, SHARE_PITCH, false);
            }
        subgroupBarrier();
        [[unroll]] for (uint k = 0; k < KEYS / K; k++) {
            MATRIX_A shares[TM];
            [[unroll]] for (uint t = 0; t < TM; t++)
                coopMatLoadNV(shares[t], words, own + t * M * SHARE_PITCH + k * (K / 2), SHARE_PITCH, false);
            [[unroll]] for (uint d = 0; d < DIM / N; d++) {
                MATRIX_B values;
                coopMatLoadNV(values, units, place + (KEYS + k * K) * PITCH + d * (N / 8), PITCH, false);
                [[unroll]] for (uint t = 0; t < TM; t++) mixed[t][d] = coopMatMulAddNV(shares[t], values, mixed[t][d]);
            }
        }
        subgroupBarrier();
        place = PLACE - place;
        if (more) put(place);
        barrier(); // all have put what is next, and are done with what was before
    }
    join(sum, true);
    [[unroll]] for (uint t = 0; t < TM; t++)
        [[unroll]] for (uint e = 0; e < ELEMENTS; e++) {
            float by = inverse(of_row(t, e));
            [[unroll]] for (uint d = 0; d < DIM / N; d++) mixed[t][d][e] *= by;
        }
    [[unroll]] for (uint t = 0; t < TM; t++)
        [[unroll]] for (uint d = 0; d < DIM / N; d++) {
            subgroupBarrier();
            coopMatStoreNV(mixed[t][d], words, own, N, false);
            subgroupBarrier();
            [[unroll]] for (uint j = 0; j < PAIRS; j++) {
                uint e = j * LANES / GROUPS + gl_SubgroupInvocationID;
                uint query = first + gl_SubgroupID * QUERIES + t * M + e / (N / 2), at = d * N + e % (N / 2) * 2;
                if (e < M * N / 2 && query < patches && at < dims)
                    Words(result).v[(query * ld + gl_WorkGroupID.y * dims + at) / 2] =
                        halves_of(uintBitsToFloat(words[own + 2 * e]), uintBitsToFloat(words[own + 2 * e + 1]));
            }
        }
}
