#version 460
#include "common.glsl"
// The most probable experts of a row, by ascending id, and their shares; the shared expert's part, if there is one. A workgroup is a row.
layout(local_size_x = 256) in;
layout(constant_id = 0) const bool SHARED = true; // there is a shared expert
layout(constant_id = 1) const bool NORMED = true; // shares are divided by their sum
layout(constant_id = 2) const uint SUBGROUP = 1;
layout(push_constant, scalar) uniform Push {
    uint64_t logits, x, shared_gate, chosen, shares; // x: normalised; shares: [row][used + 1]
    uint64_t scale; // of each expert's share; 0: none
    uint experts, used, columns, ldx;
};
const uint LANES = 256;
#include "lanes.glsl"
// Probabilities as their bits, which have their order, since none is below 0; zeros behind the last one.
shared uvec4 p_of[1024];
shared uint by_rank[64], by_id[64];

void put_p(uint e, float p)
{
    p_of[e / 4][e % 4] = floatBitsToUint(p);
}

float p_at(uint e)
{
    return uintBitsToFloat(p_of[e / 4][e % 4]);
}

float top_of(float value)
{
    uint i = gl_LocalInvocationID.x;
    value = top_of_32(value);
    barrier();
    if (i % 32 == 0) part[i / 32] = value;
    barrier();
    float top = part[0];
    [[unroll]] for (uint n = 1; n < LANES / 32; n++) top = max(top, part[n]);
    return top;
}

// The sum of all lanes' values, halves added to halves.
float sum_of_all(float value)
{
    uint i = gl_LocalInvocationID.x;
    barrier();
    part[i] = value;
    barrier();
    [[unroll]] for (uint n = LANES / 2; n >= 32; n /= 2) {
        if (i < n) {
            precise float sum = part[i] + part[i + n];
            part[i] = sum;
        }
        barrier();
    }
    return sum_of_32(part[i % 32]);
}

// How many experts are more probable than e, or as probable with a lower id.
uint rank_of(uint e)
{
    uint rank = 0;
    uvec4 own = uvec4(p_of[e / 4][e % 4]), id = uvec4(0, 1, 2, 3);
    for (uint q = 0; q < (experts + 3) / 4; q++, id += 4) {
        uvec4 all = p_of[q];
        uvec4 before = uvec4(greaterThan(all, own)) | uvec4(equal(all, own)) & uvec4(lessThan(id, uvec4(e)));
        rank += before.x + before.y + before.z + before.w;
    }
    return rank;
}

void main()
{
    uint i = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
    Floats in_logits = Floats(logits);
    float top = -3.0e38;
    for (uint e = i; e < experts; e += LANES) top = max(top, in_logits.v[row * experts + e]);
    top = top_of(top);
    precise float sum = 0;
    for (uint e = i; e < (experts + 3) / 4 * 4; e += LANES) {
        precise float less = e < experts ? in_logits.v[row * experts + e] - top : 0;
        float p = e < experts ? exp_of(less) : 0;
        put_p(e, p);
        sum += p;
    }
    float by = inverse(sum_of_all(sum));
    for (uint e = i; e < experts; e += LANES) {
        precise float p = p_at(e) * by;
        put_p(e, p);
    }
    barrier();
    for (uint e = i; e < experts; e += LANES) {
        uint rank = rank_of(e);
        if (rank < used) by_rank[rank] = e;
    }
    barrier();
    if (i < used) {
        uint id = by_rank[i], place = 0;
        for (uint n = 0; n < used; n++) place += by_rank[n] < id ? 1 : 0;
        by_id[place] = id;
    }
    barrier();
    float shared_part = 0;
    if (SHARED) {
        Floats dot_x = Floats(x), dot_gate = Floats(shared_gate);
        precise float dot = 0;
        for (uint c = i; c < columns; c += LANES) dot = fma(dot_x.v[row * ldx + c], dot_gate.v[c], dot);
        shared_part = sigmoid(sum_of_all(dot));
    }
    Floats out_shares = Floats(shares);
    if (i == 0) out_shares.v[row * (used + 1) + used] = shared_part;
    if (i >= used) return;
    precise float all = 0;
    for (uint n = 0; n < used; n++) all += p_at(by_id[n]);
    precise float share = NORMED ? p_at(by_id[i]) * inverse(all) : p_at(by_id[i]);
    if (scale != 0) share *= Floats(present(scale, logits)).v[by_id[i]];
    Words(chosen).v[row * used + i] = by_id[i];
    out_shares.v[row * (used + 1) + i] = share;
}
