// Attention within a block of 128 absolute positions. A score is the sums of four parts of the head's elements, added in
// ascending order, each of four sums over every fourth element; the largest score is exact; the exponentials are added 16
// at a time; values are the sums of four times 32 positions, added in ascending order. Who includes this has declared HEAD.
const uint BLOCK = 128, PARTS = 4, PART = (HEAD / 4 + PARTS - 1) / PARTS; // PART: vectors of 4 elements

// A part of a key as half floats is loaded at once, as it lies in memory, and worked on in two steps; others by vectors. Who
// includes this has included kv.glsl, has declared KV and ROWS, and defines where queries lie.
const bool HALVES = KV == 1 ? HEAD % 32 == 0 : false;
const uint KEY_QUADS = HALVES ? PART / 2 : 1, KEY_STEP = KEY_QUADS % 2 == 0 ? KEY_QUADS / 2 : KEY_QUADS;

// From the at-th element of a key on.
void load_key(uint64_t keys, uint at, out uvec4 key[KEY_QUADS])
{
    [[unroll]] for (uint k = 0; k < KEY_QUADS; k++) key[k] = WeightQuads(keys).v[at / 8 + k];
}

vec4 query_four(uint r, uint v); // the v-th four elements of query r

// four[r] += the products of the v-th four elements of a key and of query r.
void add_key(vec4 key, uint v, inout vec4 four[ROWS])
{
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        precise vec4 more = fma(key, query_four(r, v), four[r]);
        four[r] = more;
    }
}

// The same of a part of a key that was loaded.
void add_loaded_key(uvec4 key[KEY_QUADS], uint part, inout vec4 four[ROWS])
{
    [[dont_unroll]] for (uint k0 = 0; k0 < KEY_QUADS; k0 += KEY_STEP) {
        [[unroll]] for (uint k = 0; k < KEY_STEP; k++) {
            add_key(halves(key[k].xy), part * PART + 2 * (k0 + k), four);
            add_key(halves(key[k].zw), part * PART + 2 * (k0 + k) + 1, four);
        }
        [[unroll]] for (uint k = 0; k + KEY_STEP < KEY_QUADS; k++) key[k] = key[k + KEY_STEP];
    }
}
