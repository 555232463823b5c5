// The gated delta rule (delta.glsl) for a run's only token, with what conv.comp does before it. Of SLAB SHARES lanes the lane i
// has column i % SLAB, share i / SLAB. Who includes this has included lanes.glsl, conv.glsl and delta.glsl; all LANES lanes
// call. And it defines what waits for what other workgroups write in the same dispatch.
void wait_for_inputs();
shared float queries[2 * KEY]; // and keys
shared float sum_k[SHARES][SLAB], sum_q[SHARES][SLAB], sum_kq[SHARES];

// The sum of the squares of queries (0) or keys (1) in queries, in conv.comp's order.
float squares(uint which)
{
    uint lane = gl_LocalInvocationIndex % 32;
    precise float some[4];
    [[unroll]] for (uint k = 0; k < 4; k++) {
        precise float sum = 0;
        for (uint d = lane + 32 * k; d < KEY; d += 128) sum = fma(queries[which * KEY + d], queries[which * KEY + d], sum);
        some[k] = sum;
    }
    return sum_of_parts(some);
}

// A run's only token: queries, keys to queries; returns the value's target and the gates. As conv.comp, lane by lane.
vec3 convolve(Delta p, Run run, uint head, uint key_head, uint slab)
{
    const uint MINE = (2 * KEY + LANES - 1) / LANES; // channels of queries and keys of a lane
    uint i = gl_LocalInvocationIndex, channels = channels_of(p);
    Floats x = Floats(p.qkv), before = Floats(run.conv_in), after = Floats(run.conv_out), w = Floats(p.weights);
    bool first = p.tiled == 1 ? head < p.key_heads : head % (p.value_heads / p.key_heads) == 0;
    uint at = run.first_row * p.value_heads + head;
    uint value_c = 2 * p.key_heads * KEY + head * VALUE + slab * SLAB + i % SLAB, from = run.first_row * channels;
    Window own = window_of(before, w, value_c, channels, p.taps, p.conv_floats), windows[MINE];
    float rate = Floats(p.rate).v[head], bias = Floats(p.bias).v[head];
    [[unroll]] for (uint k = 0; k < MINE; k++) {
        uint e = min(i + k * LANES, 2 * KEY - 1), c = (e / KEY * p.key_heads + key_head) * KEY + e % KEY;
        windows[k] = window_of(before, w, c, channels, p.taps, p.conv_floats);
    }
    wait_for_inputs();
    float in_a = Floats(p.a).v[at], in_b = Floats(p.b).v[at], in_value = x.v[from + value_c];
    [[unroll]] for (uint k = 0; k < MINE; k++) {
        uint e = i + k * LANES, c = (e / KEY * p.key_heads + key_head) * KEY + e % KEY;
        if (e >= 2 * KEY) continue;
        float in_x = x.v[from + c];
        queries[e] = convolved_one(windows[k], in_x, p.taps);
        if (first && slab == 0) keep_inputs_of_one(windows[k], in_x, after, c, channels, p.taps, p.conv_floats);
    }
    if (i < SLAB) keep_inputs_of_one(own, in_value, after, value_c, channels, p.taps, p.conv_floats);
    barrier();
    float by_query = head_scale(squares(0), true, KEY), by_key = head_scale(squares(1), false, KEY);
    barrier();
    for (uint e = i; e < 2 * KEY; e += LANES) {
        precise float y = queries[e] * (e < KEY ? by_query : by_key);
        queries[e] = y;
    }
    return vec3(convolved_one(own, in_value, p.taps), gates_of(in_a, in_b, rate, bias));
}

// A slab of a value head of a run.
void delta_one(Delta p, uint head, uint run_at, uint slab)
{
    uint i = gl_LocalInvocationIndex, column = i % SLAB, share = i / SLAB, k0 = share * KEYS, v = slab * SLAB + column;
    bool works = i < SLAB * SHARES;
    Run run = Runs(p.runs).v[run_at];
    Floats state = Floats(run.recurrent);
    uint at = state_at(p, head, share, v);
    float s[KEYS];
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++) s[k] = state.v[at + k * VALUE];
    vec3 inputs = convolve(p, run, head, key_head_of(p, head), slab);
    vec2 gates = inputs.yz;
    barrier();
    if (works) {
        precise float by_k = 0, by_q = 0, kq = 0;
        [[unroll]] for (uint k = 0; k < KEYS; k++) {
            float q = queries[k0 + k], key = queries[KEY + k0 + k];
            by_k = fma(s[k], key, by_k);
            by_q = fma(s[k], q, by_q);
            kq = fma(key, q, kq);
        }
        sum_k[share][column] = by_k, sum_q[share][column] = by_q;
        if (column == 0) sum_kq[share] = kq;
    }
    barrier();
    precise float was = sum_k[0][column], seen = sum_q[0][column], all_kq = sum_kq[0];
    [[unroll]] for (uint n = 1; n < SHARES; n++) {
        was += sum_k[n][column];
        seen += sum_q[n][column];
        all_kq += sum_kq[n];
    }
    float d = change_of(gates, inputs.x, was);
    if (share == 0) Floats(p.result).v[(run.first_row * p.value_heads + head) * VALUE + v] = output_of(gates, seen, all_kq, d);
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++)
            state.v[at + k * VALUE] = next_state(gates, s[k], queries[KEY + k0 + k], d);
    barrier();
}
