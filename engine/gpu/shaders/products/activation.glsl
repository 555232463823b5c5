// Activations in the forms that products take: floats, and records of int8 (common.glsl). All LANES lanes of a workgroup make
// those of a row together, each 4 columns at a time. Who includes this has included lanes.glsl, has declared MODES: those
// that there may be, bit by bit, and defines where results go.
// NORM, GATED_NORM, LAYER_NORM: by = the norm's multipliers; the last: gate = its bias; SILU, GELU_GATED, CLAMPED: x = gate, gate = up;
// head: its elements, SIGMOID and GATED_NORM.
struct Activation {
    uint64_t x, by, gate;
    uint mode, columns, ldx, ldg, head; // columns, ldx, ldg and head are multiples of 4
    float eps, scale;     // eps: of norms; of CLAMPED the limit; scale: of all of them
    bool floats, records; // what is wanted
};
const uint PLAIN = 0, NORM = 1, SILU = 2, SIGMOID = 3, GATED_NORM = 4, GELU_GATED = 5, GELU = 6, LAYER_NORM = 7,
           CLAMPED = 8;
void put_word(uint chunk, uint word, uint value);
void put_floats(uint column, vec4 v);

// The last four, which most models lack, are compiled where they are among the modes.
bool does_mode(Activation a, uint mode)
{
    return (MODES >> mode & 1) == 1 && a.mode == mode;
}

// A lane's four columns of a row from c on, what belongs there of the gate, and of the norm's multipliers.
struct Four {
    vec4 x, gate, by;
};

vec4 multipliers(Activation a, uint c)
{
    if ((a.mode == NORM || does_mode(a, LAYER_NORM)) && c < a.columns) return four_floats(a.by, c);
    if (a.mode == GATED_NORM && c < a.columns) return four_floats(a.by, c % a.head);
    return vec4(1);
}

vec4 gate_of(Activation a, uint row, uint c)
{
    if (a.mode == SIGMOID) return four_floats(a.gate, row * a.ldg + (2 * (c / a.head) + 1) * a.head + c % a.head);
    if (does_mode(a, LAYER_NORM)) return four_floats(a.gate, c);
    if (a.mode >= SILU && !does_mode(a, GELU)) return four_floats(a.gate, row * a.ldg + c);
    return vec4(0);
}

Four load(Activation a, uint row, uint c, vec4 by)
{
    Four f;
    f.x = f.gate = vec4(0);
    f.by = by;
    if (c >= a.columns) return f;
    f.x = four_floats(a.x, row * a.ldx + c);
    f.gate = gate_of(a, row, c);
    return f;
}

float squares_of_four(vec4 v, float before)
{
    precise float sum = fma(v.x, v.x, before);
    sum = fma(v.y, v.y, sum);
    sum = fma(v.z, v.z, sum);
    sum = fma(v.w, v.w, sum);
    return sum;
}

// scales[head] = 1 / RMS of each head of a row, 32 lanes a head. first: this lane's first four columns.
shared float scales[256];
void scale_heads(Activation a, uint row, vec4 first)
{
    uint i = gl_LocalInvocationIndex, lane = i % 32, heads = a.columns / a.head;
    for (uint h0 = 0; h0 < heads; h0 += LANES / 32) {
        uint h = h0 + i / 32;
        precise float sum = 0;
        if (h < heads)
            for (uint c = 4 * lane; c < a.head; c += CHUNK) {
                vec4 v = first;
                if (h0 > 0 || a.head != CHUNK) v = four_floats(a.x, row * a.ldx + h * a.head + c);
                sum = squares_of_four(v, sum);
            }
        float scale = inverse_rms(sum_of_32(sum), a.head, a.eps);
        if (lane == 0 && h < heads) scales[h] = scale;
    }
    barrier();
}

// The mean of a row and 1 / its standard deviation.
vec2 layer_of(Activation a, uint row)
{
    precise float mean = 0, squares = 0;
    [[dont_unroll]] for (uint again = 0; again < 2; again++) {
        precise vec4 four = vec4(0);
        [[dont_unroll]] for (uint c = 4 * gl_LocalInvocationIndex; c < a.columns; c += 4 * LANES) {
            precise vec4 v = four_floats(a.x, row * a.ldx + c) - mean;
            precise vec4 more = again == 0 ? four + v : fma(v, v, four);
            four = more;
        }
        precise float low = four.x + four.y, high = four.z + four.w;
        precise float sum = low + high;
        squares = total_of(sum);
        if (again == 0) mean = squares * inverse(float(a.columns));
    }
    return vec2(mean, inverse_rms(squares, a.columns, a.eps));
}

// By its tanh form, the tanh as the sigmoid of twice its argument.
float gelu(float x)
{
    precise float square = x * x;
    precise float inner = x * fma(square, 0.0713548162726, 1.59576912161);
    precise float y = x * sigmoid(inner);
    return y;
}

// x sigmoid(1.702 x) (up + 1), both within the limit.
float clamped(float x, float up, float limit)
{
    float g = min(x, limit);
    precise float inner = 1.702 * g;
    precise float y = g * sigmoid(inner);
    precise float more = clamp(up, -limit, limit) + 1.0;
    y *= more;
    return y;
}

// scale: the norms': 1 / RMS of the row, of the head; of LAYER_NORM x has its mean subtracted.
vec4 value_of(Activation a, Four f, float scale)
{
    precise vec4 y = f.x;
    if (a.mode == NORM) {
        y = f.x * scale;
        y *= f.by;
    } else if (does_mode(a, LAYER_NORM)) {
        y = f.x * scale;
        y = fma(y, f.by, f.gate);
    } else if (does_mode(a, CLAMPED)) {
        [[unroll]] for (uint k = 0; k < 4; k++) y[k] = clamped(f.x[k], f.gate[k], a.eps);
    } else if (does_mode(a, GELU) || does_mode(a, GELU_GATED)) {
        [[unroll]] for (uint k = 0; k < 4; k++) {
            precise float one = gelu(f.x[k]);
            if (does_mode(a, GELU_GATED)) one *= f.gate[k];
            y[k] = one;
        }
    } else if (a.mode != PLAIN) {
        vec4 gate = a.mode == SILU ? f.x : f.gate;
        [[unroll]] for (uint k = 0; k < 4; k++) {
            float s = sigmoid(gate[k]);
            precise float one = f.x[k] * s, normed = f.x[k] * scale, gated = gate[k] * s;
            normed *= f.by[k];
            if (a.mode == SILU) one *= f.gate[k];
            if (a.mode == GATED_NORM) one = normed * gated;
            y[k] = one;
        }
    }
    y *= a.scale;
    return y;
}

// One record: 32 lanes, 4 columns each.
void put_record(uint chunk, bool there, vec4 v)
{
    uint lane = gl_LocalInvocationIndex % 32;
    float top = top_of_32(max(max(abs(v.x), abs(v.y)), max(abs(v.z), abs(v.w))));
    precise float by = top > 1e-30 ? 127.0 * inverse(top) : 0.0, d = top * inverse(127.0);
    ivec4 q = clamp(ivec4(roundEven(v * by)), ivec4(-127), ivec4(127));
    float four = float(q.x + q.y + q.z + q.w); // exact
    float eight = four + of_other(four, 1);
    float sixteen = eight + of_other(eight, 2);
    if (there) {
        put_word(chunk, lane, uint(q.x & 255) | uint(q.y & 255) << 8 | uint(q.z & 255) << 16 | uint(q.w) << 24);
        if (lane % 4 == 0) put_word(chunk, RECORD_SUMS + lane / 4, uint(int(sixteen)));
        if (lane < 4) put_word(chunk, RECORD_SCALE + lane, lane == 0 ? floatBitsToUint(d) : 0);
    }
}

// The loops are not unrolled: code that is run once takes longer to fetch than to execute. What comes next is loaded while
// this is worked on.
// by: multipliers() of this lane's first columns, which are there before the values are.
void activate(Activation a, uint row, vec4 by)
{
    const uint STEP = 4 * LANES;
    uint own = 4 * gl_LocalInvocationIndex, end = (a.columns + CHUNK - 1) / CHUNK * CHUNK;
    float scale = 1, mean = 0;
    Four next = load(a, row, own, by);
    if (does_mode(a, LAYER_NORM)) {
        vec2 layer = layer_of(a, row);
        mean = layer.x, scale = layer.y;
    }
    if (a.mode == NORM) {
        precise vec4 four = next.x * next.x;
        [[dont_unroll]] for (uint c = own + STEP; c < a.columns; c += STEP) {
            vec4 v = four_floats(a.x, row * a.ldx + c);
            four = fma(v, v, four);
        }
        precise float low = four.x + four.y, high = four.z + four.w;
        precise float sum = low + high;
        scale = inverse_rms(total_of(sum), a.columns, a.eps);
    }
    if (a.mode == GATED_NORM) scale_heads(a, row, next.x);
    [[dont_unroll]] for (uint c0 = 0; c0 < end; c0 += STEP) {
        uint c = c0 + own;
        Four now = next;
        if (c0 + STEP < end) next = load(a, row, c + STEP, multipliers(a, c + STEP));
        if (does_mode(a, LAYER_NORM)) {
            precise vec4 less = now.x - mean;
            now.x = less;
        }
        vec4 v = vec4(0);
        if (c < a.columns) v = value_of(a, now, a.mode == GATED_NORM ? scales[c / a.head] : scale);
        if (a.floats && c < end) put_floats(c, v);
        if (a.records) put_record(c / CHUNK, c < end, v);
    }
}
