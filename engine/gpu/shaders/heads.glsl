// Queries normalised, rotated and scaled; keys normalised and rotated, and values, into the state's pages: a head of a row
// by 32 lanes, a team, as many heads at once as there are teams. Who includes this has declared KV and HEAD, has included
// lanes.glsl, and defines where a team's head lies meanwhile.
struct Heads {
    uint64_t rows, runs, angles; // angles: [row][pair] cosine, then [row][pair] sine
    uint64_t q_gate, k, v, q_norm, k_norm, q;
    uint heads, kv_heads, rope_pairs, n_rows, layer_bytes, kv_bytes; // of a layer in a page; of one head's keys
    float eps, scale;
};
const uint TEAM = 32, HEAD_EACH = 8; // elements of a lane: a head has at most 256
float head_float(uint at);
void put_head_float(uint at, float v);

// What a lane needs besides the head itself: it can be loaded before that is there.
struct Turn {
    float by[HEAD_EACH]; // the norm's multipliers
    vec2 angle;          // cosine, sine; of the lane's first pair: models seldom have more than one for each lane
};

vec2 angle_of(Heads p, uint row, uint pair)
{
    Floats cosines = Floats(p.angles + uint64_t(row * p.rope_pairs) * 4);
    return vec2(cosines.v[pair], cosines.v[p.n_rows * p.rope_pairs + pair]);
}

Turn turn_of(Heads p, bool key, uint row)
{
    Turn t;
    uint j = gl_LocalInvocationIndex % TEAM;
    [[unroll]] for (uint k = 0; k < HEAD_EACH; k++)
        t.by[k] = Floats(key ? p.k_norm : p.q_norm).v[min(j + k * TEAM, HEAD - 1)];
    t.angle = angle_of(p, row, min(j, p.rope_pairs - 1));
    return t;
}

// A query or key, normalised, rotated, and a query scaled, at `to`; heads are counted queries first. All lanes call this, those
// of a team that has no head with there = false.
void turn_head(Heads p, Turn t, uint head, uint row, bool there, uint to)
{
    uint j = gl_LocalInvocationIndex % TEAM;
    bool key = head >= p.heads;
    uint from = key ? (row * p.kv_heads + head - p.heads) * HEAD : (row * p.heads + head) * 2 * HEAD;
    Floats in_x = Floats(key ? p.k : p.q_gate);
    float x[HEAD_EACH];
    [[unroll]] for (uint k = 0; k < HEAD_EACH; k++) {
        x[k] = 0;
        if (there && j + k * TEAM < HEAD) x[k] = in_x.v[from + j + k * TEAM];
    }
    precise float even = 0, odd = 0;
    [[unroll]] for (uint k = 0; k < HEAD_EACH; k += 2) {
        even = fma(x[k], x[k], even);
        odd = fma(x[k + 1], x[k + 1], odd);
    }
    precise float both = even + odd;
    precise float mean = sum_of_32(both) * inverse(float(HEAD)) + p.eps;
    precise float by = inverse_sqrt(mean);
    float scale = key ? 1 : p.scale;
    [[unroll]] for (uint k = 0; k < HEAD_EACH; k++) {
        uint d = j + k * TEAM;
        precise float y = x[k] * by * t.by[k], scaled = y * scale;
        if (there && d < HEAD) put_head_float(to + d, d < 2 * p.rope_pairs ? y : scaled);
    }
    barrier();
    [[dont_unroll]] for (uint at = j; there && at < p.rope_pairs; at += TEAM) {
        vec2 angle = t.angle;
        if (at != j) angle = angle_of(p, row, at);
        float a = head_float(to + at), b = head_float(to + at + p.rope_pairs);
        precise float bs = b * angle.y, as = a * angle.y;
        precise float first = fma(a, angle.x, -bs), second = fma(b, angle.x, as);
        first *= scale;
        second *= scale;
        put_head_float(to + at, first);
        put_head_float(to + at + p.rope_pairs, second);
    }
    barrier();
}

float key_or_value(Heads p, bool key, uint to, uint from, uint d)
{
    return key ? head_float(to + d) : Floats(p.v).v[from + d];
}

// Four elements of a key or value as int8, with their scale where they begin a block of 32.
void put_bytes(Heads p, uint64_t page, bool key, uint to, uint from, uint position, uint d)
{
    const uint SCALES = (HEAD + 31) / 32;
    uint first = d / 32 * 32, end = min(first + 32, HEAD);
    float most = 0;
    for (uint e = first; e < end; e++) most = max(most, abs(key_or_value(p, key, to, from, e)));
    precise float wide = most * inverse(127.0);
    float scale = unpackHalf2x16(packHalf2x16(vec2(wide, 0))).x;
    precise float by = scale > 0 ? inverse(scale) : 0;
    uint word = 0;
    [[unroll]] for (uint k = 0; k < 4; k++) {
        precise float y = key_or_value(p, key, to, from, d + k) * by; // the scale's rounding can carry it past 127
        word |= uint(int(clamp(roundEven(y), -127, 127)) & 255) << 8 * k;
    }
    Words(page).v[(position * HEAD + d) / 4] = word;
    if (d == first) Floats(page).v[32 * HEAD / 4 + position * SCALES + d / 32] = scale;
}

// A key that lies at `to`, and its value, into a page of the state, as kv.glsl has them: by the lanes of a team.
void put_kv(Heads p, uint64_t page, uint position, uint kv_head, uint row, uint to)
{
    uint j = gl_LocalInvocationIndex % TEAM, at = position * HEAD, from = (row * p.kv_heads + kv_head) * HEAD;
    uint64_t keys = page + p.layer_bytes + uint64_t(kv_head) * 2 * p.kv_bytes, values = keys + p.kv_bytes;
    if (KV == 2) {
        for (uint e = j; e < HEAD / 2; e += TEAM) {
            bool key = e < HEAD / 4;
            put_bytes(p, key ? keys : values, key, to, from, position, (key ? e : e - HEAD / 4) * 4);
        }
        return;
    }
    for (uint d = 2 * j; d < HEAD; d += 2 * TEAM) {
        vec2 k = vec2(head_float(to + d), head_float(to + d + 1));
        vec2 v = vec2(Floats(p.v).v[from + d], Floats(p.v).v[from + d + 1]);
        if (KV == 1) {
            Words(keys).v[(at + d) / 2] = packHalf2x16(k);
            Words(values).v[(at + d) / 2] = packHalf2x16(v);
        } else {
            Pairs(keys).v[(at + d) / 2] = floatBitsToUint(k);
            Pairs(values).v[(at + d) / 2] = floatBitsToUint(v);
        }
    }
}
