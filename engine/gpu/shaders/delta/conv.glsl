// The convolution before the delta rule. Who includes this has included lanes.glsl.

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

// The sum of a head's elements, each of 32 lanes with four sums of every 128th one: a tree over 128.
float sum_of_parts(float some[4])
{
    precise float low = some[0] + some[2], high = some[1] + some[3];
    precise float both = low + high;
    return sum_of_32(both);
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
