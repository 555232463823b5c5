// Attention within a block of 128 absolute positions. A score is the sums of four parts of the head's elements, added in
// ascending order, each of four sums over every fourth element; the largest score is exact; the exponentials are added 16
// at a time; values are the sums of four times 32 positions, added in ascending order. Who includes this has declared HEAD.
const uint BLOCK = 128, PARTS = 4, PART = (HEAD / 4 + PARTS - 1) / PARTS; // PART: vectors of 4 elements

// A part of a key as half floats is loaded at once, as it lies in memory, and worked on in two steps; others by vectors. Who
// includes this has included kv.glsl and declared KV.
const bool HALVES = KV == 1 ? HEAD % 32 == 0 : false;
const uint KEY_QUADS = HALVES ? PART / 2 : 1, KEY_STEP = KEY_QUADS % 2 == 0 ? KEY_QUADS / 2 : KEY_QUADS;

// From the at-th element of a key on.
void load_key(uint64_t keys, uint at, out uvec4 key[KEY_QUADS])
{
    [[unroll]] for (uint k = 0; k < KEY_QUADS; k++) key[k] = WeightQuads(keys).v[at / 8 + k];
}
