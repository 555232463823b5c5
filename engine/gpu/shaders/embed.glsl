// x[row] = scale times the embedding of the row's token, and that of its position, if there are such: 128 columns of a row.
// Of a picture's token (its top bit is set) the row of `pads` as it is.
struct Embed {
    uint64_t rows, pieces, result, positions; // pieces: addresses of the matrix's pieces; positions: [position][columns], or 0
    uint64_t pads;                            // [row][columns], or 0: there are no pictures
    uint piece_tiles, chunks, columns, ldx;
    float scale;
};

void embed(uint kind, Embed p, uint chunk, uint row)
{
    bool learned = p.positions != 0;
    Floats positions = Floats(present(p.positions, p.rows));
    uint place = learned ? Rows(p.rows).v[row].position * p.columns + chunk * CHUNK : 0;
    uint token = Rows(p.rows).v[row].token;
    bool pad = (token & 0x80000000u) != 0;
    Floats pads = Floats(present(p.pads, p.rows));
    uint from = pad ? row * p.columns + chunk * CHUNK : 0;
    token = pad ? 0 : token;
    uint tile = token / TILE;
    WeightQuads w = WeightQuads(Addresses(p.pieces).v[tile / p.piece_tiles]);
    uint at = (tile % p.piece_tiles * p.chunks + chunk) * chunk_quads(kind);
    for (uint c = gl_LocalInvocationIndex; c < CHUNK && chunk * CHUNK + c < p.columns; c += gl_WorkGroupSize.x) {
        precise float y = weight_at(kind, w, at, token % TILE, c) * p.scale;
        precise float placed = y + positions.v[learned ? place + c : 0];
        Floats(p.result).v[row * p.ldx + chunk * CHUNK + c] = pad ? pads.v[from + c] : learned ? placed : y;
    }
}
