// The convolution of one channel, for a row of a run, and the state after the run. w: [taps][channels].
float convolved(Floats x, Floats before, Floats w, Run run, uint index, uint c, uint channels, uint taps, uint layer)
{
    precise float y = 0;
    for (uint j0 = 0; j0 < taps; j0 += 4) {
        float in_x[4], in_w[4]; // loaded together
        [[unroll]] for (uint k = 0; k < 4; k++) {
            uint j = min(j0 + k, taps - 1), from = index + j; // less taps - 1: the token whose input this tap takes
            in_w[k] = w.v[j * channels + c];
            if (from + 1 >= taps) in_x[k] = x.v[(run.first_row + from + 1 - taps) * channels + c];
            else in_x[k] = before.v[layer + from * channels + c];
        }
        [[unroll]] for (uint k = 0; k < 4; k++)
            if (j0 + k < taps) y = fma(in_w[k], in_x[k], y);
    }
    return silu(y);
}

// What a channel's convolution of a run's only token needs besides its input: taps is at most 4.
struct Window {
    vec4 w, before; // before: the inputs before it, oldest first
};

Window window_of(Floats before, Floats w, uint c, uint channels, uint taps, uint layer)
{
    Window window;
    [[unroll]] for (uint j = 0; j < 4; j++) {
        window.w[j] = j < taps ? w.v[j * channels + c] : 0;
        window.before[j] = j + 1 < taps ? before.v[layer + j * channels + c] : 0;
    }
    return window;
}

float convolved_one(Window window, float in_x, uint taps)
{
    precise float y = 0;
    [[unroll]] for (uint j = 0; j < 4; j++)
        if (j < taps) y = fma(window.w[j], j + 1 < taps ? window.before[j] : in_x, y);
    return silu(y);
}

void keep_inputs_of_one(Window window, float in_x, Floats after, uint c, uint channels, uint taps, uint layer)
{
    [[unroll]] for (uint j = 0; j < 3; j++)
        if (j + 1 < taps) after.v[layer + j * channels + c] = j + 2 < taps ? window.before[j + 1] : in_x;
}

void keep_inputs(Floats x, Floats before, Floats after, Run run, uint c, uint channels, uint taps, uint layer)
{
    for (uint j = 0; j + 1 < taps; j++) {
        uint from = run.n + j;
        after.v[layer + j * channels + c] = from + 1 >= taps ? x.v[(run.first_row + from + 1 - taps) * channels + c]
                                                             : before.v[layer + from * channels + c];
    }
}

// What queries, or keys, are multiplied with, by the sum of their squares.
float head_scale(float sum, bool query, uint key_dim)
{
    precise float floor_sum = sum + 1e-6;
    precise float by = inverse_sqrt(floor_sum) * (query ? inverse_sqrt(float(key_dim)) : 1.0);
    return by;
}

// Decay and beta.
vec2 gates_of(float a, float b, float rate, float bias)
{
    precise float step = a + bias;
    precise float power = rate * softplus(step);
    return vec2(exp_of(power), sigmoid(b));
}
