// The gated delta rule (delta.glsl) for a run's only token, with what conv.comp does before it. Of ACROSS SHARES lanes the lane
// i has two columns, the first of which is 2 (i % ACROSS), and share i / ACROSS. Who includes this has included lanes.glsl,
// conv.glsl and delta.glsl; all LANES lanes call. And it defines the pool, shared memory for the sums of shares (SHARES 2 SLAB
// floats), what waits for what other workgroups write in the same dispatch, and where outputs go.
const uint ACROSS = SLAB / 2;
void put_pool(uint at, float v);
float pool_float(uint at);
void wait_for_inputs();
// What four columns of a head are multiplied with, where outputs become activations at once.
struct Gating {
    vec4 norm, gate;
};
Gating gating_of(uint head, uint column);
// y: each SLAB / 4 lanes have all columns, `column` is the first of this lane's four. first: of the row's heads.
void put_outputs(Delta p, uint first, uint head, uint column, vec4 y, Gating gating);
shared float vectors[2 * KEY + SLAB]; // queries, keys, the columns' values
shared float changes[SLAB], seen[SLAB], shares_of_kq[SHARES], all_kq;

// The sum of the squares of queries (0) or keys (1), in conv.comp's order.
float squares(uint which)
{
    uint lane = gl_LocalInvocationIndex % 32;
    precise float some[4];
    [[unroll]] for (uint k = 0; k < 4; k++) {
        precise float sum = 0;
        for (uint d = lane + 32 * k; d < KEY; d += 128) sum = fma(vectors[which * KEY + d], vectors[which * KEY + d], sum);
        some[k] = sum;
    }
    return sum_of_parts(some);
}

// A run's only token: queries, keys and values to `vectors`; returns the gates. As conv.comp, lane by lane.
vec2 convolve(Delta p, Run run, uint head, uint key_head, uint slab)
{
    const uint ALL = 2 * KEY + SLAB, MINE = (ALL + LANES - 1) / LANES; // channels of a lane
    uint i = gl_LocalInvocationIndex, channels = channels_of(p);
    Floats x = Floats(p.qkv), before = Floats(run.conv_in), after = Floats(run.conv_out), w = Floats(p.weights);
    bool first = p.tiled == 1 ? head < p.key_heads : head % (p.value_heads / p.key_heads) == 0;
    uint at = run.first_row * p.value_heads + head, from = run.first_row * channels, c[MINE];
    Window windows[MINE];
    float rate = Floats(p.rate).v[head], bias = Floats(p.bias).v[head];
    [[unroll]] for (uint k = 0; k < MINE; k++) {
        uint e = min(i + k * LANES, ALL - 1);
        c[k] = (e / KEY * p.key_heads + key_head) * KEY + e % KEY;
        if (e >= 2 * KEY) c[k] = 2 * p.key_heads * KEY + head * VALUE + slab * SLAB + e - 2 * KEY;
        windows[k] = window_of(before, w, c[k], channels, p.taps, p.conv_floats);
    }
    wait_for_inputs();
    float in_a = Floats(p.a).v[at], in_b = Floats(p.b).v[at];
    [[unroll]] for (uint k = 0; k < MINE; k++) {
        uint e = i + k * LANES;
        if (e >= ALL) continue;
        float in_x = x.v[from + c[k]];
        vectors[e] = convolved_one(windows[k], in_x, p.taps);
        if (e >= 2 * KEY || first && slab == 0)
            keep_inputs_of_one(windows[k], in_x, after, c[k], channels, p.taps, p.conv_floats);
    }
    barrier();
    float by_query = head_scale(squares(0), true, KEY), by_key = head_scale(squares(1), false, KEY);
    barrier();
    for (uint e = i; e < 2 * KEY; e += LANES) {
        precise float y = vectors[e] * (e < KEY ? by_query : by_key);
        vectors[e] = y;
    }
    return gates_of(in_a, in_b, rate, bias);
}

// Sums of shares become, of each column, its change and what its output needs of the state; one lane adds up k . q.
void add_shares(vec2 gates)
{
    for (uint e = gl_LocalInvocationIndex; e < 2 * SLAB + 1; e += LANES) {
        if (e < 2 * SLAB) {
            precise float sum = pool_float(e);
            [[unroll]] for (uint n = 1; n < SHARES; n++) sum += pool_float(n * 2 * SLAB + e);
            if (e < SLAB) changes[e] = change_of(gates, vectors[2 * KEY + e], sum);
            else seen[e - SLAB] = sum;
        } else {
            precise float sum = shares_of_kq[0];
            [[unroll]] for (uint n = 1; n < SHARES; n++) sum += shares_of_kq[n];
            all_kq = sum;
        }
    }
}

// A slab of a value head of a run.
void delta_one(Delta p, uint head, uint run_at, uint slab)
{
    uint i = gl_LocalInvocationIndex, column = i % ACROSS * 2, share = i / ACROSS, k0 = share * KEYS, own = i % (SLAB / 4) * 4;
    bool works = i < ACROSS * SHARES;
    Run run = Runs(p.runs).v[run_at];
    Pairs state = Pairs(run.recurrent);
    uint at = state_at(p, head, share, slab * SLAB + column) / 2;
    uvec2 s[KEYS];
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++) s[k] = state.v[at + k * (VALUE / 2)];
    vec2 gates = convolve(p, run, head, key_head_of(p, head), slab);
    Gating gating = gating_of(head, slab * SLAB + own);
    barrier();
    if (works) {
        precise vec2 by_k = vec2(0), by_q = vec2(0);
        precise float kq = 0;
        [[unroll]] for (uint k = 0; k < KEYS; k++) {
            float q = vectors[k0 + k], key = vectors[KEY + k0 + k];
            by_k = fma(uintBitsToFloat(s[k]), vec2(key), by_k);
            by_q = fma(uintBitsToFloat(s[k]), vec2(q), by_q);
            kq = fma(key, q, kq);
        }
        uint to = share * 2 * SLAB + column;
        [[unroll]] for (uint k = 0; k < 2; k++) {
            put_pool(to + k, by_k[k]);
            put_pool(to + SLAB + k, by_q[k]);
        }
        if (column == 0) shares_of_kq[share] = kq;
    }
    barrier();
    add_shares(gates);
    barrier();
    vec4 y;
    [[unroll]] for (uint k = 0; k < 4; k++) y[k] = output_of(gates, seen[own + k], all_kq, changes[own + k]);
    put_outputs(p, run.first_row * p.value_heads, head, slab * SLAB + own, y, gating);
    if (works) {
        vec2 d = vec2(changes[column], changes[column + 1]);
        [[unroll]] for (uint k = 0; k < KEYS; k++) {
            float key = vectors[KEY + k0 + k];
            vec2 was = uintBitsToFloat(s[k]);
            vec2 now = vec2(next_state(gates, was.x, key, d.x), next_state(gates, was.y, key, d.y));
            state.v[at + k * (VALUE / 2)] = floatBitsToUint(now);
        }
    }
    barrier();
}
