// x[row] = the embedding of the row's token: 128 columns of a row.
struct Embed {
    uint64_t rows, pieces, result; // pieces: addresses of the matrix's pieces
    uint piece_tiles, chunks, columns, ldx;
};

void embed(uint kind, Embed p, uint chunk, uint row)
{
    uint token = Rows(p.rows).v[row].token, tile = token / TILE;
    WeightQuads w = WeightQuads(Addresses(p.pieces).v[tile / p.piece_tiles]);
    uint at = (tile % p.piece_tiles * p.chunks + chunk) * chunk_quads(kind);
    for (uint c = gl_LocalInvocationIndex; c < CHUNK && chunk * CHUNK + c < p.columns; c += gl_WorkGroupSize.x)
        Floats(p.result).v[row * p.ldx + chunk * CHUNK + c] = weight_at(kind, w, at, token % TILE, c);
}
