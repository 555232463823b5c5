#version 460
#include "common.glsl"
#include "vision/vision.glsl"
// Queries, keys and values of each head, [head][patch][DIM] half floats: queries and keys rotated by their row and
// column, queries scaled for a softmax to the base 2. Behind a head's elements, and behind the last patch, are zeros.
// A workgroup is a patch.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint DIM = 64;
layout(push_constant, scalar) uniform Push {
    uint64_t qkv, angles, heads_at; // heads_at: queries, then keys, then values
    uint heads, dims, merge, columns, patches, padded, places; // places: for which there are angles
    float scale;
};

// Element d of a row of one head, rotated.
float rotated(uint at, uvec2 place, uint d)
{
    uint half_of = dims / 2, quarter = half_of / 2, a = d % half_of;
    uint angle = (a < quarter ? place.y : place.x) * quarter + a % quarter;
    float cosine = Floats(angles).v[angle], sine = Floats(angles).v[places * quarter + angle];
    precise float one = Floats(qkv).v[at + a], other = Floats(qkv).v[at + half_of + a];
    precise float low = fma(-other, sine, one * cosine), high = fma(one, sine, other * cosine);
    return d < half_of ? low : high;
}

float element(uint which, uint head, uvec2 place, uint d)
{
    uint i = gl_WorkGroupID.x, at = (i * 3 + which) * heads * dims + head * dims;
    if (i >= patches || d >= dims) return 0;
    if (which == 2) return Floats(qkv).v[at + d];
    precise float v = rotated(at, place, d);
    precise float scaled = v * scale;
    return which == 0 ? scaled : v;
}

void main()
{
    uvec2 place = place_of(gl_WorkGroupID.x, columns, merge);
    const uint pairs = DIM / 2;
    for (uint i = gl_LocalInvocationIndex; i < 3 * heads * pairs; i += 128) {
        uint which = i / pairs / heads, head = i / pairs % heads, d = 2 * (i % pairs);
        uint at = ((which * heads + head) * padded + gl_WorkGroupID.x) * pairs + d / 2;
        Words(heads_at).v[at] = halves_of(element(which, head, place, d), element(which, head, place, d + 1));
    }
}
