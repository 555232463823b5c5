// The attention of a single token within a block of positions (attend.glsl), with what heads.comp does before it: each
// workgroup prepares the queries that it takes; that of the block with the token's own position prepares its key and value
// too, and puts them into the page. All lanes call. Who includes this has included heads.glsl, attend.glsl, kv.glsl and
// merge.glsl, has declared ROWS, and defines what waits for what other workgroups write in the same dispatch, and the shared
// memory: floats.
void wait_for_inputs();
float pool_float(uint at);
vec4 pool_four(uint at);
void put_pool(uint at, float v);

// Where there: queries [ROWS][HEAD], scores and then weights [BLOCK][ROWS], partial sums, what is found for each 16 positions,
// and of all; the token's key.
const uint QUERY = 0, WEIGHT = ROWS * HEAD, SOME = WEIGHT + ROWS * BLOCK,
           EIGHT = SOME + PARTS * ROWS * (HEAD > BLOCK ? HEAD : BLOCK), OWN = (EIGHT + ROWS * 9 + 3) / 4 * 4;

// Keys and values as half floats are held as they lie in memory, keys of earlier tokens from before the inputs are there,
// values from before the scores are: a lane has a part of a position's key, and two elements of 32 values.
const uint VALUES = 32, VALUE_STEP = 8;

// The token's own key as it is put into the page.
void take_own_key(uint at, out uvec4 key[KEY_QUADS])
{
    [[unroll]] for (uint k = 0; k < KEY_QUADS; k++) {
        vec4 a = pool_four(OWN + at + 8 * k), b = pool_four(OWN + at + 8 * k + 4);
        key[k] = uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
    }
}

// The elements d and d + 1 of the first `end` values of a page; of others there is the last one again.
void load_values(uint64_t values, uint d, uint end, out uint held[VALUES])
{
    [[unroll]] for (uint k = 0; k < VALUES; k++) held[k] = Words(values).v[(min(k, end - 1) * HEAD + d) / 2];
}

vec4 query_four(uint r, uint v)
{
    return pool_four(QUERY + r * HEAD + 4 * v);
}

// The part of the scores of a position that a lane has.
void score_part(uint64_t keys, uint position, uint part, uvec4 key[KEY_QUADS], uint p)
{
    vec4 four[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) four[r] = vec4(0);
    if (HALVES) {
        add_loaded_key(key, part, four);
    } else {
        [[dont_unroll]] for (uint v = part * PART; v < min(part * PART + PART, HEAD / 4); v++)
            add_key(kv_four(keys, position % 32 * HEAD + 4 * v), v, four);
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        precise float x = four[r].x + four[r].y, y = four[r].z + four[r].w;
        precise float some = x + y;
        put_pool(SOME + (part * ROWS + r) * BLOCK + p, some);
    }
}

// The scores of the positions before `end` become weights, with the largest score and the weights' sums of 16 positions beside.
void weigh(uint end)
{
    uint i = gl_LocalInvocationIndex;
    for (uint e = i; e < ROWS * BLOCK; e += LANES) {
        uint r = e / BLOCK, p = e % BLOCK;
        precise float score = pool_float(SOME + r * BLOCK + p);
        [[unroll]] for (uint part = 1; part < PARTS; part++) score += pool_float(SOME + (part * ROWS + r) * BLOCK + p);
        put_pool(WEIGHT + p * ROWS + r, p < end ? score : NOTHING);
    }
    barrier();
    for (uint e = i; e < ROWS * 8; e += LANES) {
        float top = NOTHING;
        [[unroll]] for (uint k = 0; k < 16; k++) top = max(top, pool_float(WEIGHT + (e % 8 * 16 + k) * ROWS + e / 8));
        put_pool(EIGHT + e, top);
    }
    barrier();
    for (uint e = i; e < ROWS * BLOCK; e += LANES) {
        float top = pool_float(EIGHT + e % ROWS * 8), score = pool_float(WEIGHT + e);
        [[unroll]] for (uint k = 1; k < 8; k++) top = max(top, pool_float(EIGHT + e % ROWS * 8 + k));
        precise float less = score - top;
        put_pool(WEIGHT + e, score == NOTHING ? 0 : exp_of(less));
        if (e < ROWS) put_pool(EIGHT + ROWS * 8 + e, top);
    }
    barrier();
    for (uint e = i; e < ROWS * 8; e += LANES) {
        precise float some = 0;
        [[unroll]] for (uint k = 0; k < 16; k++) some += pool_float(WEIGHT + (e % 8 * 16 + k) * ROWS + e / 8);
        put_pool(EIGHT + e, some);
    }
}

// acc[r] += the weighted elements of a value.
void add_value(vec2 value, uint p, inout vec2 acc[ROWS])
{
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        uint at = WEIGHT + p * ROWS + r;
        float w = ROWS % 4 == 0 ? pool_four(at / 4 * 4)[r % 4] : pool_float(at);
        precise vec2 more = fma(vec2(w), value, acc[r]);
        acc[r] = more;
    }
}

// Two elements, from d on, of the weighted sum of the `end` values of a page, the part-th of the block's.
void sum_part(uint64_t values, uint part, uint d, uint end, uint held[VALUES])
{
    vec2 acc[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) acc[r] = vec2(0);
    [[dont_unroll]] for (uint p0 = 0; p0 < end; p0 += VALUE_STEP) {
        vec2 value[VALUE_STEP];
        [[unroll]] for (uint k = 0; k < VALUE_STEP; k++)
            value[k] = HALVES ? unpackHalf2x16(held[k]) : kv_two(values, min(p0 + k, end - 1) * HEAD + d);
        if (HALVES)
            [[unroll]] for (uint k = 0; k + VALUE_STEP < VALUES; k++) held[k] = held[k + VALUE_STEP];
        [[unroll]] for (uint k = 0; k < VALUE_STEP; k++) add_value(value[k], part * 32 + p0 + k, acc);
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        put_pool(SOME + (part * ROWS + r) * HEAD + d, acc[r].x);
        put_pool(SOME + (part * ROWS + r) * HEAD + d + 1, acc[r].y);
    }
}

// Queries, and the token's key and value if this is their block: they go into a page.
void prepare(Heads p, uint kv_head, bool own, uint64_t page, uint position)
{
    uint group = p.heads / p.kv_heads, team = gl_LocalInvocationIndex / TEAM;
    Turn t = turn_of(p, team == group, 0);
    wait_for_inputs();
    [[dont_unroll]] for (uint h0 = 0; h0 <= group; h0 += LANES / TEAM) {
        uint h = h0 + team;
        bool key = h == group;
        if (h0 > 0) t = turn_of(p, key, 0);
        turn_head(p, t, key ? p.heads + kv_head : kv_head * group + h, 0, key ? own : h < group, key ? OWN : QUERY + h * HEAD);
        if (key && own) put_kv(p, page, position, kv_head, 0, OWN);
    }
}

// What the others of this workgroup have written can be read, in shared memory and in pages.
void settle()
{
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
}

// partials: as merge.glsl has them, `blocks` of a head.
void attend_one(Heads p, Run run, uint kv_head, uint b, uint64_t partials, uint blocks)
{
    uint i = gl_LocalInvocationIndex, group = p.heads / p.kv_heads, before = min(run.start - b * BLOCK, BLOCK);
    bool own = before < BLOCK; // the token's position, the before-th, is in this block
    uint end = own ? before + 1 : BLOCK;
    Addresses pages = Addresses(run.pages + uint64_t(b * PARTS) * 8);
    uint64_t layer = p.layer_bytes + uint64_t(kv_head) * 2 * p.kv_bytes;
    uint64_t key_page = pages.v[min(i % BLOCK, end - 1) / 32] + layer; // of this lane's first key
    uint value_part = i / (HEAD / 2), value_end = min(end - min(end, value_part * 32), 32);
    uint64_t value_page = 0;
    if (value_part < PARTS && value_end > 0) value_page = pages.v[value_part] + layer + p.kv_bytes;
    uvec4 key[KEY_QUADS];
    uint held[VALUES];
    bool holds = HALVES && value_part < PARTS && value_part * 32 + 32 <= before;
    if (HALVES && i < BLOCK * PARTS && i % BLOCK < before) load_key(key_page, i % 32 * HEAD + i / BLOCK * PART * 4, key);
    prepare(p, kv_head, own, pages.v[(end - 1) / 32], before % 32);
    if (holds) load_values(value_page, i % (HEAD / 2) * 2, 32, held);
    if (!HALVES) settle();
    for (uint e = i; e < BLOCK * PARTS; e += LANES) {
        uint at = e % BLOCK, part = e / BLOCK;
        if (at >= end) continue;
        uint64_t keys = LANES % BLOCK == 0 ? key_page : pages.v[at / 32] + layer;
        if (HALVES && at == before) take_own_key(part * PART * 4, key);
        else if (HALVES && e != i) load_key(keys, at % 32 * HEAD + part * PART * 4, key);
        score_part(keys, at, part, key, at);
    }
    settle();
    weigh(end);
    [[dont_unroll]] for (uint e = i; e < PARTS * HEAD / 2; e += LANES) {
        uint part = e / (HEAD / 2), d = e % (HEAD / 2) * 2;
        if (e != i) {
            value_end = min(end - min(end, part * 32), 32);
            value_page = value_end > 0 ? pages.v[part] + layer + p.kv_bytes : 0;
        }
        if (HALVES && value_end > 0 && !(holds && e == i)) load_values(value_page, d, value_end, held);
        sum_part(value_page, part, d, value_end, held);
    }
    barrier();
    for (uint e = i; e < group * HEAD; e += LANES) {
        uint r = e / HEAD, d = e % HEAD;
        Floats to = Floats(partials + uint64_t((kv_head * group + r) * blocks + b) * (HEAD + 2) * 4);
        precise float sum = pool_float(SOME + r * HEAD + d);
        [[unroll]] for (uint part = 1; part < PARTS; part++) sum += pool_float(SOME + (part * ROWS + r) * HEAD + d);
        to.v[2 + d] = sum;
        if (d != 0) continue;
        precise float all = pool_float(EIGHT + r * 8);
        [[unroll]] for (uint k = 1; k < 8; k++) all += pool_float(EIGHT + r * 8 + k);
        to.v[0] = pool_float(EIGHT + ROWS * 8 + r);
        to.v[1] = all;
    }
    barrier();
}
