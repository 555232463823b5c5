// Keys or values of one head in a page, [32 positions][HEAD]: KV 0: float32, 1: float16, 2: int8 with a scale for each 32
// elements of a position behind them, which is a float16 stored as float32. Who includes this has declared KV and HEAD.
const uint KV_SCALES = (HEAD + 31) / 32;

float kv_scale(uint64_t base, uint at)
{
    return Floats(base).v[32 * HEAD / 4 + at / HEAD * KV_SCALES + at % HEAD / 32];
}

// Four elements from the at-th on, which is a multiple of four.
vec4 kv_four(uint64_t base, uint at)
{
    if (KV == 1) return halves(Pairs(base).v[at / 4]);
    if (KV == 0) return uintBitsToFloat(Quads(base).v[at / 4]);
    int q = int(Words(base).v[at / 4]);
    ivec4 each = ivec4(q << 24, q << 16, q << 8, q) >> 24;
    precise vec4 y = vec4(each) * kv_scale(base, at);
    return y;
}

// Two, from an even one on.
vec2 kv_two(uint64_t base, uint at)
{
    if (KV == 1) return unpackHalf2x16(Words(base).v[at / 2]);
    if (KV == 0) return uintBitsToFloat(Pairs(base).v[at / 2]);
    int q = int(Words(base).v[at / 4] >> at % 4 * 8);
    precise vec2 y = vec2(ivec2(q << 24, q << 16) >> 24) * kv_scale(base, at);
    return y;
}

float kv_one(uint64_t base, uint at)
{
    if (KV == 0) return Floats(base).v[at];
    return kv_two(base, at / 2 * 2)[at % 2];
}
