#version 460
#include "common.glsl"
// The most probable experts of a row, by ascending id, and their shares; the shared expert's part. A workgroup is a row.
layout(local_size_x = 256) in;
layout(push_constant, scalar) uniform Push {
    uint64_t logits, x, shared_gate, chosen, shares; // x: normalised; shares: [row][used + 1]
    uint experts, used, columns, ldx;
};
shared float part[256];
shared uint ids[256];
shared float p_of[4096];
shared uint picked[64];

float total_of(float value)
{
    uint i = gl_LocalInvocationID.x;
    part[i] = value;
    barrier();
    [[unroll]] for (uint n = 128; n > 0; n /= 2) {
        if (i < n) {
            precise float sum = part[i] + part[i + n];
            part[i] = sum;
        }
        barrier();
    }
    precise float sum = part[0];
    barrier();
    return sum;
}

// The largest of 256 values and its id, the lowest id of equal ones, to part[0] and ids[0].
void largest_of(float value, uint id)
{
    uint i = gl_LocalInvocationID.x;
    part[i] = value;
    ids[i] = id;
    barrier();
    [[unroll]] for (uint n = 128; n > 0; n /= 2) {
        if (i < n && (part[i + n] > part[i] || part[i + n] == part[i] && ids[i + n] < ids[i])) {
            part[i] = part[i + n];
            ids[i] = ids[i + n];
        }
        barrier();
    }
}

void main()
{
    uint i = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
    Floats in_logits = Floats(logits);
    float top = -3.0e38;
    for (uint e = i; e < experts; e += 256) top = max(top, in_logits.v[row * experts + e]);
    largest_of(top, i);
    top = part[0];
    barrier();
    precise float sum = 0;
    for (uint e = i; e < experts; e += 256) {
        precise float less = in_logits.v[row * experts + e] - top;
        p_of[e] = exp_of(less);
        sum += p_of[e];
    }
    float by = inverse(total_of(sum));
    for (uint e = i; e < experts; e += 256) {
        precise float y = p_of[e] * by;
        p_of[e] = y;
    }
    for (uint n = 0; n < used; n++) {
        float best = -1;
        uint id = 0xFFFFFFFFu;
        for (uint e = i; e < experts; e += 256)
            if (p_of[e] > best) best = p_of[e], id = e;
        largest_of(best, id);
        id = ids[0];
        barrier();
        if (i == 0) {
            uint at = n;
            for (; at > 0 && picked[at - 1] > id; at--) picked[at] = picked[at - 1];
            picked[at] = id;
        }
        if (i == id % 256) p_of[id] = -2.0; // taken
        barrier();
    }
    Floats dot_x = Floats(x), dot_gate = Floats(shared_gate);
    precise float dot = 0;
    for (uint c = i; c < columns; c += 256) dot = fma(dot_x.v[row * ldx + c], dot_gate.v[c], dot);
    float shared_part = sigmoid(total_of(dot));
    if (i == 0) {
        Floats out_shares = Floats(shares);
        precise float all = 0;
        for (uint n = 0; n < used; n++) {
            precise float less = in_logits.v[row * experts + picked[n]] - top;
            precise float p = exp_of(less) * by;
            part[n] = p;
            all += p;
        }
        for (uint n = 0; n < used; n++) {
            Words(chosen).v[row * used + n] = picked[n];
            precise float share = part[n] * inverse(all);
            out_shares.v[row * (used + 1) + n] = share;
        }
        out_shares.v[row * (used + 1) + used] = shared_part;
    }
}
