// The gated delta rule, token by token, for SLAB columns of a value head's state: with S [key dim][value dim], g its decay,
//   d = beta (v - g S^T k); out = g S^T q + (k . q) d; S = g S + k d^T.
// S is in registers: of WORKERS lanes lane i has column i % SLAB of the keys [share KEYS, (share + 1) KEYS), share = i /
// SLAB. The sums of the shares are added in ascending order. What the next token needs is loaded while this one is worked
// on. Who includes this has included lanes.glsl and conv.glsl and declared KEY, VALUE, KEYS, SLAB; all LANES lanes call. And
// it defines what waits for what other workgroups write in the same dispatch.
void wait_for_inputs();
struct Delta {
    uint64_t runs, qkv, gates, result; // qkv: after the convolution; one token: before it
    uint key_heads, value_heads, tiled, layer_floats; // layer_floats: before this layer's state
    uint64_t a, b, weights, rate, bias; // one token: as conv.comp has them
    uint taps, conv_floats;
};
const uint SHARES = KEY / KEYS, WORKERS = SLAB * SHARES, EACH = (2 * KEY + WORKERS - 1) / WORKERS;
shared float queries[2][2 * KEY]; // queries and keys of this token and of the next
shared float sum_k[SHARES][SLAB], sum_q[SHARES][SLAB], sum_kq[SHARES];

// The sum of the squares of queries (0) or keys (1) in queries[0]: what conv.comp has after its tree over 128 lanes.
float squares(uint which)
{
    uint lane = gl_LocalInvocationIndex % 32;
    precise float some[4];
    [[unroll]] for (uint k = 0; k < 4; k++) {
        precise float sum = 0;
        for (uint d = lane + 32 * k; d < KEY; d += 128) sum = fma(queries[0][which * KEY + d], queries[0][which * KEY + d], sum);
        some[k] = sum;
    }
    precise float low = some[0] + some[2], high = some[1] + some[3];
    precise float both = low + high;
    return sum_of_32(both);
}

// A run's only token: queries, keys to queries[0]; returns the value's target and the gates. As conv.comp, lane by lane.
vec3 convolve(Delta p, Run run, uint head, uint key_head, uint slab)
{
    const uint MINE = (2 * KEY + LANES - 1) / LANES; // channels of queries and keys of a lane
    uint i = gl_LocalInvocationIndex, channels = 2 * p.key_heads * KEY + p.value_heads * VALUE;
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
        queries[0][e] = convolved_one(windows[k], in_x, p.taps);
        if (first && slab == 0) keep_inputs_of_one(windows[k], in_x, after, c, channels, p.taps, p.conv_floats);
    }
    if (i < SLAB) keep_inputs_of_one(own, in_value, after, value_c, channels, p.taps, p.conv_floats);
    barrier();
    float by_query = head_scale(squares(0), true, KEY), by_key = head_scale(squares(1), false, KEY);
    barrier();
    for (uint e = i; e < 2 * KEY; e += LANES) {
        precise float y = queries[0][e] * (e < KEY ? by_query : by_key);
        queries[0][e] = y;
    }
    return vec3(convolved_one(own, in_value, p.taps), gates_of(in_a, in_b, rate, bias));
}

// A slab of a value head of a run. one: the run has one token, and what conv.comp does is done here.
void delta_rule(Delta p, uint head, uint run_at, uint slab, bool one)
{
    uint i = gl_LocalInvocationIndex, column = i % SLAB, share = i / SLAB, k0 = share * KEYS;
    bool works = i < WORKERS;
    uint v = slab * SLAB + column;
    uint key_head = p.tiled == 1 ? head % p.key_heads : head / (p.value_heads / p.key_heads);
    uint channels = 2 * p.key_heads * KEY + p.value_heads * VALUE;
    Run run = Runs(p.runs).v[run_at];
    Floats state = Floats(run.recurrent), x = Floats(p.qkv), out_v = Floats(p.result);
    Pairs gate = Pairs(p.gates);
    uint at = p.layer_floats + (head * KEY + k0) * VALUE + v;
    float s[KEYS], next[EACH], target = 0;
    vec2 gates_now = vec2(0);
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++) s[k] = state.v[at + k * VALUE];
    for (uint t = 0; t <= run.n; t++) {
        // Loads for token t; the work on token t - 1 comes after, its queries and keys are in shared memory.
        float next_target = 0;
        vec2 next_gates = vec2(0);
        uint row = run.first_row + min(t, run.n - 1), from = row * channels;
        if (!one) {
            [[unroll]] for (uint e = 0; e < EACH; e++) {
                uint place = min(i + e * WORKERS, 2 * KEY - 1);
                next[e] = x.v[from + (place / KEY * p.key_heads + key_head) * KEY + place % KEY];
            }
            next_target = x.v[from + 2 * p.key_heads * KEY + head * VALUE + v];
            next_gates = uintBitsToFloat(gate.v[row * p.value_heads + head]);
        } else if (t == 0) {
            vec3 all = convolve(p, run, head, key_head, slab);
            next_target = all.x, next_gates = all.yz;
        }
        if (t > 0) {
            uint now_in = (t - 1) % 2;
            if (works) {
                precise float by_k = 0, by_q = 0, kq = 0;
                [[unroll]] for (uint k = 0; k < KEYS; k++) {
                    float q = queries[now_in][k0 + k], key = queries[now_in][KEY + k0 + k];
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
            was *= gates_now.x;
            seen *= gates_now.x;
            precise float less = target - was;
            precise float d = gates_now.y * less;
            precise float y = fma(all_kq, d, seen);
            if (share == 0) out_v.v[((run.first_row + t - 1) * p.value_heads + head) * VALUE + v] = y;
            if (works)
                [[unroll]] for (uint k = 0; k < KEYS; k++) {
                    precise float kept = gates_now.x * s[k];
                    precise float now = fma(queries[now_in][KEY + k0 + k], d, kept);
                    s[k] = now;
                }
        }
        [[unroll]] for (uint e = 0; e < EACH; e++)
            if (!one && works && i + e * WORKERS < 2 * KEY) queries[t % 2][i + e * WORKERS] = next[e];
        target = next_target;
        gates_now = next_gates;
        barrier();
    }
    if (works)
        [[unroll]] for (uint k = 0; k < KEYS; k++) state.v[at + k * VALUE] = s[k];
}
