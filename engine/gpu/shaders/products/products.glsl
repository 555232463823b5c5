// The arithmetic of products: what a lane, which is a row of a tile, does with its part of a chunk of weights and the
// activations of one token. Who includes this defines where those are: quad `place` of records, or four columns.
uvec4 x_quad(uint place);

// One row of a chunk of weights (of floats: of 8 vectors of it) as it lies in memory: loaded some time before it is used.
struct Raw {
    uvec4 q[8];
    uvec2 scales; // Q8: 4 f16; else bytes
    uint d;       // MXFP4: the exponents
};

Raw raw_of(uint kind, WeightQuads w, uint at, uint lane)
{
    Raw raw;
    const uint vectors = kind <= Q8 ? 8 : kind == Q6K ? 6 : 4;
    [[unroll]] for (uint i = 0; i < 8; i++)
        if (i < vectors) raw.q[i] = w.v[at + i * TILE + lane];
    const bool two_levels = kind == Q4K || kind == Q6K;
    if (kind == Q8 || two_levels) raw.scales = WeightPairs(uint64_t(w)).v[(at + vectors * TILE) * 2 + lane];
    if (two_levels) raw.d = WeightWords(uint64_t(w)).v[(at + vectors * TILE) * 4 + 2 * TILE + lane];
    if (kind == MXFP4) raw.d = WeightWords(uint64_t(w)).v[(at + vectors * TILE) * 4 + lane];
    return raw;
}

// Four columns of floats: vector 4 i (F32), or half a vector.
vec4 float_weights(uint kind, uvec4 all, uint i)
{
    if (kind == F32) return uintBitsToFloat(all);
    uvec2 some = i % 2 == 0 ? all.xy : all.zw;
    if (kind == F16) return halves(some);
    return uintBitsToFloat(uvec4(some.x << 16, some.x & 0xFFFF0000u, some.y << 16, some.y & 0xFFFF0000u));
}

// total += the products of four columns.
vec4 float_part(vec4 w, uvec4 x, vec4 total)
{
    precise vec4 sum = fma(w, uintBitsToFloat(x), total);
    return sum;
}

// The sum of what its four columns have.
float float_total(vec4 four)
{
    precise float a = four.x + four.y, b = four.z + four.w;
    precise float sum = a + b;
    return sum;
}

// What one row of a chunk of quants has besides them.
struct Scales {
    float d[4], min; // Q8, MXFP4: 4 scales; Q4K, Q6K: d[0], and dmin
    int s[8], sm[4];
};

Scales scales_of(uint kind, Raw raw)
{
    Scales s;
    if (kind == Q8) {
        vec4 d = halves(raw.scales);
        [[unroll]] for (uint i = 0; i < 4; i++) s.d[i] = d[i];
    } else if (kind == MXFP4) {
        [[unroll]] for (uint i = 0; i < 4; i++) s.d[i] = half_scale(raw.d, i);
    } else {
        vec2 d = unpackHalf2x16(raw.d);
        s.d[0] = d.x, s.min = d.y;
        [[unroll]] for (uint i = 0; i < 8; i++) s.s[i] = bitfieldExtract(int(raw.scales[i / 4]), int(i % 4 * 8), 8);
        if (kind == Q4K)
            [[unroll]] for (uint i = 0; i < 4; i++) s.sm[i] = int(bitfieldExtract(raw.scales.y, int(i * 8), 8));
    }
    return s;
}

// total += the products of one chunk and one token, whose record begins at quad `from`.
void quant_token(uint kind, int q[32], Scales s, uint from, inout float total)
{
    int sum[8];
    [[unroll]] for (uint b = 0; b < 8; b++) {
        ivec4 some = ivec4(x_quad(from + b));
        int dot = sdot(q[4 * b], some.x, 0) + sdot(q[4 * b + 1], some.y, 0) + sdot(q[4 * b + 2], some.z, 0) +
                  sdot(q[4 * b + 3], some.w, 0);
        sum[b] = dot;
    }
    precise float d = uintBitsToFloat(x_quad(from + RECORD_SCALE / 4).x), all = total;
    if (kind == Q8 || kind == MXFP4) {
        precise float part = 0;
        [[unroll]] for (uint b = 0; b < 4; b++) part = fma(float(sum[2 * b] + sum[2 * b + 1]), s.d[b], part);
        all = fma(part, d, all);
    } else if (kind == Q6K) {
        int part = 0;
        [[unroll]] for (uint b = 0; b < 8; b++) part += s.s[b] * sum[b];
        precise float scaled = float(part) * d;
        all = fma(scaled, s.d[0], all);
    } else {
        ivec4 low = ivec4(x_quad(from + RECORD_SUMS / 4)), high = ivec4(x_quad(from + RECORD_SUMS / 4 + 1));
        ivec4 sums32 = ivec4(low.x + low.y, low.z + low.w, high.x + high.y, high.z + high.w);
        int part = 0;
        [[unroll]] for (uint b = 0; b < 4; b++) {
            precise float min = -s.min * float(s.sm[b]), by = d * float(sums32[b]);
            all = fma(min, by, all);
            part += s.s[b] * (sum[2 * b] + sum[2 * b + 1]);
        }
        precise float scaled = float(part) * d;
        all = fma(scaled, s.d[0], all);
    }
    total = all;
}

// The quants of a row of a chunk as words of signed bytes.
void words_of(uint kind, Raw raw, out int q[32])
{
    [[unroll]] for (uint g = 0; g < 32; g++) {
        uint word = raw.q[g / 4][g % 4];
        if (kind != Q8) word = raw.q[g / 4 % 4][g % 4] >> (g / 16 * 4) & 0x0F0F0F0Fu;
        if (kind == Q6K) {
            word |= (raw.q[4 + g / 4 % 2][g % 4] >> (g / 8 * 2) & 0x03030303u) << 4;
            word = ((word | 0x80808080u) - 0x20202020u) ^ 0x80808080u;
        }
        q[g] = int(kind == MXFP4 ? doubled(word) : word);
    }
}
