#version 460
#include "common.glsl"
// The rows of experts' products by their experts, in batches of rows of one expert (products/batches.glsl). One workgroup does it.
layout(local_size_x = 256) in;
layout(push_constant, scalar) uniform Push {
    uint64_t chosen, grouped; // of each row its expert; what is made
    uint rows, experts, batch, batches; // batch: rows of one, at most; batches: how many are written, with empty ones at the end
};
const uint LANES = 256;
shared uint place[4096]; // of each expert: how many rows it has; then where its next row goes
shared uvec2 sums[LANES]; // rows and batches of some experts, and those before them

void main()
{
    uint lane = gl_LocalInvocationID.x, some = (experts + LANES - 1) / LANES;
    uint first = min(lane * some, experts), end = min(first + some, experts);
    for (uint e = lane; e < experts; e += LANES) place[e] = 0;
    barrier();
    for (uint r = lane; r < rows; r += LANES) atomicAdd(place[Words(chosen).v[r]], 1);
    barrier();
    uvec2 own = uvec2(0);
    for (uint e = first; e < end; e++) own += uvec2(place[e], (place[e] + batch - 1) / batch);
    sums[lane] = own;
    barrier();
    [[unroll]] for (uint n = 1; n < LANES; n *= 2) {
        uvec2 before = lane < n ? uvec2(0) : sums[lane - n];
        barrier();
        sums[lane] += before;
        barrier();
    }
    uvec2 at = sums[lane] - own;
    uint list = (rows + 3) / 4;
    for (uint e = first; e < end; e++) {
        uint n = place[e];
        place[e] = at.x;
        for (uint done = 0; done < n; done += batch)
            Quads(grouped).v[list + at.y++] = uvec4(e, at.x + done, min(batch, n - done), 0);
        at.x += n;
    }
    for (uint b = sums[LANES - 1].y + lane; b < batches; b += LANES) Quads(grouped).v[list + b] = uvec4(0);
    barrier();
    for (uint r = lane; r < rows; r += LANES) Words(grouped).v[atomicAdd(place[Words(chosen).v[r]], 1)] = r;
}
