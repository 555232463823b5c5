#version 460
#include "common.glsl"
#include "weights.glsl"
// x[row] = the embedding of the row's token. A workgroup is 128 columns of a row.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint KIND = 3;
layout(push_constant, scalar) uniform Push {
    uint64_t rows, pieces, result; // pieces: addresses of the matrix's pieces
    uint piece_tiles, chunks, columns, ldx;
};

void main()
{
    uint row = gl_WorkGroupID.y, chunk = gl_WorkGroupID.x, c = gl_LocalInvocationID.x;
    uint token = Rows(rows).v[row].token, tile = token / TILE;
    Quads w = Quads(Addresses(pieces).v[tile / piece_tiles]);
    uint at = (tile % piece_tiles * chunks + chunk) * chunk_quads(KIND);
    if (chunk * CHUNK + c < columns)
        Floats(result).v[row * ldx + chunk * CHUNK + c] = weight_at(KIND, w, at, token % TILE, c);
}
