// Activations in the forms that products take: floats, and records of int8 (common.glsl). All LANES lanes of a workgroup make
// those of a row together. Who includes this has declared LANES, MODE and the push constants x, by, gate, columns, ldx, ldg,
// head, eps: NORM, GATED_NORM: by = the norm's multipliers; SILU: x = gate, gate = up; head: its elements, SIGMOID and
// GATED_NORM. And it defines where results go.
const uint PLAIN = 0, NORM = 1, SILU = 2, SIGMOID = 3, GATED_NORM = 4;
bool wants_records();
bool wants_floats();
void put_word(uint chunk, uint word, uint value);
void put_floats(uint column, vec4 v);

shared float part[LANES];
shared int fours[LANES];

// The sum of LANES values.
float total_of(float value)
{
    uint i = gl_LocalInvocationIndex;
    part[i] = value;
    barrier();
    [[unroll]] for (uint n = LANES / 2; n > 0; n /= 2) {
        if (i < n) {
            precise float sum = part[i] + part[i + n];
            part[i] = sum;
        }
        barrier();
    }
    precise float sum = part[0];
    barrier();
    return sum;
}

// scales[head] = 1 / RMS of each head of a row, 32 lanes a head.
shared float scales[256];
void scale_heads(Floats in_x, uint row)
{
    uint i = gl_LocalInvocationIndex, lane = i % 32, heads = columns / head;
    for (uint h0 = 0; h0 < heads; h0 += LANES / 32) {
        uint h = h0 + i / 32;
        precise float sum = 0;
        if (h < heads)
            for (uint c = lane; c < head; c += 32) {
                float v = in_x.v[row * ldx + h * head + c];
                sum = fma(v, v, sum);
            }
        part[i] = sum;
        barrier();
        [[unroll]] for (uint n = 16; n > 0; n /= 2) {
            if (lane < n) {
                precise float two = part[i] + part[i + n];
                part[i] = two;
            }
            barrier();
        }
        if (lane == 0 && h < heads) {
            precise float mean = part[i] * inverse(float(head)) + eps;
            scales[h] = inverse_sqrt(mean);
        }
        barrier();
    }
}

// v is x[row][c]; NORM: by_c the multiplier.
float value_of(float v, float by_c, uint row, uint c, float scale)
{
    if (MODE == NORM) {
        precise float y = v * scale * by_c;
        return y;
    }
    if (MODE == SILU) {
        precise float y = silu(v) * Floats(gate).v[row * ldg + c];
        return y;
    }
    if (MODE == SIGMOID) {
        precise float y = v * sigmoid(Floats(gate).v[row * ldg + (2 * (c / head) + 1) * head + c % head]);
        return y;
    }
    if (MODE == GATED_NORM) {
        precise float y = v * scales[c / head] * Floats(by).v[c % head];
        y *= silu(Floats(gate).v[row * ldg + c]);
        return y;
    }
    return v;
}

// One record: 32 lanes, 4 columns each.
void put_record(uint chunk, bool there, vec4 v)
{
    uint i = gl_LocalInvocationIndex, lane = i % 32, base = i - lane;
    part[i] = max(max(abs(v.x), abs(v.y)), max(abs(v.z), abs(v.w)));
    barrier();
    [[unroll]] for (uint n = 16; n > 0; n /= 2) {
        if (lane < n) part[i] = max(part[i], part[i + n]);
        barrier();
    }
    float top = part[base];
    precise float by = top > 1e-30 ? 127.0 * inverse(top) : 0.0, d = top * inverse(127.0);
    ivec4 q = clamp(ivec4(roundEven(v * by)), ivec4(-127), ivec4(127));
    fours[i] = q.x + q.y + q.z + q.w;
    barrier();
    if (there) {
        put_word(chunk, lane, uint(q.x & 255) | uint(q.y & 255) << 8 | uint(q.z & 255) << 16 | uint(q.w) << 24);
        if (lane < 8)
            put_word(chunk, RECORD_SUMS + lane, uint(fours[base + 4 * lane] + fours[base + 4 * lane + 1] +
                                                     fours[base + 4 * lane + 2] + fours[base + 4 * lane + 3]));
        if (lane < 4) put_word(chunk, RECORD_SCALE + lane, lane == 0 ? floatBitsToUint(d) : 0);
    }
    barrier();
}

void activate(uint row)
{
    uint i = gl_LocalInvocationIndex;
    Floats in_x = Floats(x);
    float scale = 1;
    vec4 first_x = vec4(0), first_by = vec4(0); // of the first columns: loaded together, before sums are waited for
    [[unroll]] for (uint k = 0; k < 4; k++)
        if (4 * i + k < columns) {
            first_x[k] = in_x.v[row * ldx + 4 * i + k];
            if (MODE == NORM) first_by[k] = Floats(by).v[4 * i + k];
        }
    if (MODE == NORM) {
        precise vec4 four = vec4(0);
        for (uint c = 4 * i; c < columns; c += 4 * LANES)
            [[unroll]] for (uint k = 0; k < 4; k++)
                if (c + k < columns) {
                    float v = c == 4 * i ? first_x[k] : in_x.v[row * ldx + c + k];
                    four[k] = fma(v, v, four[k]);
                }
        precise float low = four.x + four.y, high = four.z + four.w;
        precise float sum = low + high;
        precise float mean = total_of(sum) * inverse(float(columns)) + eps;
        scale = inverse_sqrt(mean);
    }
    if (MODE == GATED_NORM) scale_heads(in_x, row);
    uint chunks = (columns + CHUNK - 1) / CHUNK;
    for (uint c0 = 0; c0 < chunks * CHUNK; c0 += 4 * LANES) {
        uint c = c0 + 4 * i;
        vec4 v = vec4(0);
        [[unroll]] for (uint k = 0; k < 4; k++)
            if (c + k < columns) {
                float x_c = c0 == 0 ? first_x[k] : in_x.v[row * ldx + c + k];
                float by_c = c0 == 0 || MODE != NORM ? first_by[k] : Floats(by).v[c + k];
                v[k] = value_of(x_c, by_c, row, c + k, scale);
            }
        if (wants_floats() && c < chunks * CHUNK) put_floats(c, v);
        if (wants_records()) put_record(c / CHUNK, c < chunks * CHUNK, v);
    }
}
