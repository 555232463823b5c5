// The gated delta rule for SLAB columns of a value head's state: with S [key dim][value dim], g its decay,
//   d = beta (v - g S^T k); out = g S^T q + (k . q) d; S = g S + k d^T.
// A lane has a share of a column in registers, the keys [share KEYS, (share + 1) KEYS). A sum over keys is that of each share,
// key by key, and these are added in ascending order, for a single token (delta_one.glsl) as for many (deltas.comp): here is
// the arithmetic of both. Who includes this has declared KEY, VALUE, KEYS, SLAB.
struct Delta {
    uint64_t runs, qkv, gates, result; // qkv: after the convolution; one token: before it
    uint key_heads, value_heads, tiled, layer_floats; // layer_floats: before this layer's state
    uint64_t a, b, weights, rate, bias; // one token: as conv.comp has them
    uint taps, conv_floats;
};
const uint SHARES = KEY / KEYS;

uint key_head_of(Delta p, uint head)
{
    return p.tiled == 1 ? head % p.key_heads : head / (p.value_heads / p.key_heads);
}

uint channels_of(Delta p)
{
    return 2 * p.key_heads * KEY + p.value_heads * VALUE;
}

// Where a share of a column lies in the states of a run; its keys are VALUE floats apart.
uint state_at(Delta p, uint head, uint share, uint column)
{
    return p.layer_floats + (head * KEY + share * KEYS) * VALUE + column;
}

// d, by the sum S^T k. gates: decay, beta.
float change_of(vec2 gates, float target, float was)
{
    precise float decayed = was * gates.x;
    precise float less = target - decayed;
    precise float d = gates.y * less;
    return d;
}

// A token's output, by the sums S^T q and k . q.
float output_of(vec2 gates, float seen, float kq, float d)
{
    precise float decayed = seen * gates.x;
    precise float y = fma(kq, d, decayed);
    return y;
}

float next_state(vec2 gates, float s, float key, float d)
{
    precise float kept = gates.x * s;
    precise float now = fma(key, d, kept);
    return now;
}
