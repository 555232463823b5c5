// A tile chunk: 32 rows by 128 columns of weights, of one of these kinds (engine/gpu/pass/pack.c writes them). A vector is the
// 16 bytes of each of the 32 rows, one after the other, so lanes that are rows read together.
//   F32       32 vectors of 4 columns                 F16, BF16  16 vectors of 8 columns
//   Q8        8 vectors of int8; per row 4 f16 scales, of 32 columns each
//   Q4K       4 vectors: nibbles of columns 0-63 low, 64-127 high; per row 4 bytes s, 4 bytes m; per row f16 d, dmin
//   Q6K       4 vectors of nibbles, 2 of pairs (word i % 8, bits 2 (i / 8), of columns 4i); per row 8 int8 s; per row f16 d
//   MXFP4     4 vectors of nibbles, which number values; per row 4 bytes, exponents of 32 columns each
const uint F32 = 0, F16 = 1, BF16 = 2, Q8 = 3, Q4K = 4, Q6K = 5, MXFP4 = 6;

uint chunk_quads(uint kind)
{
    return kind == F32 ? 1024 : kind <= BF16 ? 512 : kind == Q8 ? 272 : kind == Q4K ? 152 : kind == Q6K ? 216 : 136;
}

// Four values of MXFP4 (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives) times two, as signed bytes, by their numbers.
uint doubled(uint n)
{
    uint two = (n >> 1 & 0x01010101u) * 0xFFu, four = (n >> 2 & 0x01010101u) * 0xFFu;
    uint less = (n >> 3 & 0x01010101u) * 0xFFu, large = ((n & 0x01010101u) | 0x02020202u) << 1;
    large += large & two;
    uint all = n & 0x03030303u & ~four | large & four;
    return all & ~less | ((0x80808080u - all) ^ 0x80808080u) & less;
}

// Half the scale of block i: 2^(exponent - 128), or 0 where that is less than 2^-126.
float half_scale(uint exponents, uint i)
{
    return uintBitsToFloat(max(bitfieldExtract(exponents, int(i * 8), 8), 1u) - 1 << 23);
}

// Word i (columns 4i to 4i + 3) of a row of quants, as signed bytes; at: the chunk's first quad.
int weight_word(uint kind, WeightQuads w, uint at, uint row, uint i)
{
    if (kind == Q8) return int(w.v[at + (i / 4) * TILE + row][i % 4]);
    uint nibbles = w.v[at + (i / 4 % 4) * TILE + row][i % 4] >> (i / 16 * 4) & 0x0F0F0F0Fu;
    if (kind == Q4K) return int(nibbles);
    if (kind == MXFP4) return int(doubled(nibbles));
    uint pairs = w.v[at + (4 + i / 4 % 2) * TILE + row][i % 4] >> (i / 8 * 2) & 0x03030303u;
    return int(((nibbles | pairs << 4 | 0x80808080u) - 0x20202020u) ^ 0x80808080u);
}

// One weight.
float weight_at(uint kind, WeightQuads w, uint at, uint row, uint c)
{
    if (kind == F32) return uintBitsToFloat(w.v[at + c / 4 * TILE + row][c % 4]);
    if (kind <= BF16) {
        uint pair = w.v[at + c / 8 * TILE + row][c / 2 % 4];
        if (kind == BF16) return uintBitsToFloat(c % 2 == 0 ? pair << 16 : pair & 0xFFFF0000u);
        return unpackHalf2x16(pair)[c % 2];
    }
    int q = bitfieldExtract(weight_word(kind, w, at, row, c / 4), int(c % 4 * 8), 8);
    WeightWords words = WeightWords(uint64_t(w));
    if (kind == Q8) {
        precise float y = unpackHalf2x16(words.v[(at + 256) * 4 + row * 2 + c / 64])[c / 32 % 2] * float(q);
        return y;
    }
    if (kind == MXFP4) {
        precise float y = half_scale(words.v[(at + 128) * 4 + row], c / 32) * float(q);
        return y;
    }
    uint scales = (at + (kind == Q4K ? 128 : 192)) * 4, d = scales + TILE * 2 + row;
    if (kind == Q4K) {
        uint s = bitfieldExtract(words.v[scales + row * 2], int(c / 32 * 8), 8);
        uint m = bitfieldExtract(words.v[scales + row * 2 + 1], int(c / 32 * 8), 8);
        vec2 by = unpackHalf2x16(words.v[d]);
        precise float a = by.x * float(s), b = by.y * float(m);
        precise float scaled = a * float(q);
        precise float y = scaled - b;
        return y;
    }
    int s = bitfieldExtract(int(words.v[scales + row * 2 + c / 64]), int(c / 16 % 4 * 8), 8);
    precise float a = unpackHalf2x16(words.v[d]).x * float(s);
    precise float y = a * float(q);
    return y;
}
