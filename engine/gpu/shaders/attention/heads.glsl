// Queries normalised, rotated and scaled; keys normalised and rotated, and values, into the state's pages: one head of a row.
// Who includes this has declared KV, HEAD, NORMED and VALUES_NORMED: whether queries and keys, and whether values are
// normalised, the latter without multipliers. rope_pairs 0: they are not rotated. v: k where keys before norm and rotation are
// the values, too.
struct Heads {
    uint64_t rows, runs, angles; // angles: [row][pair] cosine, then [row][pair] sine
    uint64_t q_gate, k, v, q_norm, k_norm, q;
    uint heads, kv_heads, rope_pairs, n_rows, layer_bytes, kv_bytes; // of a layer in a page; of one head's keys
    float eps, scale;
    uint64_t scales; // what the queries of each row are multiplied by besides
    uint query;      // from a head's queries to the next one's
};
shared float squares_of[64];
float value_scale = 1; // of the head's values
shared float of_head[HEAD];

float value_at(Heads p, uint at)
{
    precise float y = Floats(p.v).v[at] * value_scale;
    return VALUES_NORMED ? y : Floats(p.v).v[at];
}

float key_or_value(Heads p, bool key, uint from, uint d)
{
    return key ? of_head[d] : value_at(p, from + d);
}

// Four elements of a key or value as int8, with their scale where they begin a block of 32.
void put_bytes(Heads p, uint64_t to, bool key, uint from, uint position, uint d)
{
    const uint SCALES = (HEAD + 31) / 32;
    uint first = d / 32 * 32, end = min(first + 32, HEAD);
    float most = 0;
    for (uint e = first; e < end; e++) most = max(most, abs(key_or_value(p, key, from, e)));
    precise float wide = most * inverse(127.0);
    float scale = unpackHalf2x16(packHalf2x16(vec2(wide, 0))).x;
    precise float by = scale > 0 ? inverse(scale) : 0;
    uint word = 0;
    [[unroll]] for (uint k = 0; k < 4; k++) {
        precise float y = key_or_value(p, key, from, d + k) * by; // the scale's rounding can carry it past 127
        word |= uint(int(clamp(roundEven(y), -127, 127)) & 255) << 8 * k;
    }
    Words(to).v[(position * HEAD + d) / 4] = word;
    if (d == first) Floats(to).v[32 * HEAD / 4 + position * SCALES + d / 32] = scale;
}

// As kv.glsl has them.
void put_kv(Heads p, Row r, uint kv_head, uint from)
{
    uint i = gl_LocalInvocationIndex, lanes = gl_WorkGroupSize.x, position = r.position % 32, at = position * HEAD;
    uint64_t page = Addresses(Runs(p.runs).v[r.run].pages).v[r.position / 32];
    uint64_t keys = page + p.layer_bytes + uint64_t(kv_head) * 2 * p.kv_bytes, values = keys + p.kv_bytes;
    if (KV == 2) {
        for (uint e = i; e < HEAD / 2; e += lanes) {
            bool key = e < HEAD / 4;
            put_bytes(p, key ? keys : values, key, from, position, (key ? e : e - HEAD / 4) * 4);
        }
        return;
    }
    for (uint d = 2 * i; d < HEAD; d += 2 * lanes) {
        vec2 k = vec2(of_head[d], of_head[d + 1]), v = vec2(value_at(p, from + d), value_at(p, from + d + 1));
        if (KV == 1) {
            Words(keys).v[(at + d) / 2] = packHalf2x16(k);
            Words(values).v[(at + d) / 2] = packHalf2x16(v);
        } else {
            Pairs(keys).v[(at + d) / 2] = floatBitsToUint(k);
            Pairs(values).v[(at + d) / 2] = floatBitsToUint(v);
        }
    }
}

// Of what squares_of has: their sum, in the first of them.
void add_squares()
{
    uint i = gl_LocalInvocationIndex, lanes = gl_WorkGroupSize.x;
    [[unroll]] for (uint n = 32; n > 0; n /= 2) {
        for (uint j = i; j < n; j += lanes) {
            precise float two = squares_of[j] + squares_of[j + n];
            squares_of[j] = two;
        }
        barrier();
    }
}

void scale_values(Heads p, uint from)
{
    uint i = gl_LocalInvocationIndex, lanes = gl_WorkGroupSize.x;
    barrier();
    for (uint j = i; j < 64; j += lanes) {
        precise float sum = 0;
        for (uint d = j; d < HEAD; d += 64) sum = fma(Floats(p.v).v[from + d], Floats(p.v).v[from + d], sum);
        squares_of[j] = sum;
    }
    barrier();
    add_squares();
    value_scale = inverse_rms(squares_of[0], HEAD, p.eps);
}

void prepare_head(Heads p, uint head, uint row)
{
    uint i = gl_LocalInvocationIndex, lanes = gl_WorkGroupSize.x;
    bool key = head >= p.heads;
    uint kv_head = head - p.heads;
    Floats x = Floats(key ? p.k : p.q_gate);
    uint from = key ? (row * p.kv_heads + kv_head) * HEAD : (row * p.heads + head) * p.query;
    for (uint j = i; j < 64; j += lanes) {
        precise float sum = 0;
        for (uint d = j; d < HEAD; d += 64) {
            float v = x.v[from + d];
            of_head[d] = v;
            sum = fma(v, v, sum);
        }
        squares_of[j] = sum;
    }
    barrier();
    if (NORMED) {
        add_squares();
        float by = inverse_rms(squares_of[0], HEAD, p.eps);
        Floats norm = Floats(key ? p.k_norm : p.q_norm);
        for (uint d = i; d < HEAD; d += lanes) {
            precise float y = of_head[d] * by * norm.v[d];
            of_head[d] = y;
        }
        barrier();
    }
    Floats angle = Floats(p.angles);
    for (uint j = i; j < p.rope_pairs; j += lanes) {
        float a = of_head[j], b = of_head[j + p.rope_pairs];
        float cosine = angle.v[row * p.rope_pairs + j], sine = angle.v[(p.n_rows + row) * p.rope_pairs + j];
        precise float bs = b * sine, as = a * sine;
        precise float first = fma(a, cosine, -bs), second = fma(b, cosine, as);
        of_head[j] = first;
        of_head[j + p.rope_pairs] = second;
    }
    barrier();
    if (VALUES_NORMED && key) scale_values(p, from);
    if (key) put_kv(p, Rows(p.rows).v[row], kv_head, from);
    Floats out_q = Floats(p.q);
    precise float scale = p.scale * Floats(p.scales).v[row];
    for (uint d = i; d < HEAD && !key; d += lanes) {
        precise float y = of_head[d] * scale;
        out_q.v[(row * p.heads + head) * HEAD + d] = y;
    }
    barrier();
}
