// Merging the attention of a later block of positions into that of the earlier ones. Who includes this has declared HEAD.
const float NOTHING = -3.0e38; // the score of a position that is not seen

struct Merge {
    float most, before, after;
};

Merge merge_of(float most, float top)
{
    Merge m;
    m.most = max(most, top);
    precise float a = most - m.most, b = top - m.most;
    m.before = exp_of(a);
    m.after = exp_of(b);
    return m;
}

float merged(Merge m, float a, float b)
{
    precise float old = a * m.before;
    precise float y = fma(b, m.after, old);
    return y;
}

// The blocks from `first` on of one dimension of a head: part [block][HEAD + 2] has the largest score, the exponentials' sum, the values.
// Some blocks are loaded together, before they are merged one after the other.
float merge_blocks(Floats part, uint first, uint count, uint d)
{
    const uint SOME = 8;
    float most = 0, sum = 0, acc = 0;
    for (uint b0 = first; b0 < count; b0 += SOME) {
        vec3 some[SOME];
        [[unroll]] for (uint k = 0; k < SOME; k++) {
            uint at = min(b0 + k, count - 1) * (HEAD + 2);
            some[k] = vec3(part.v[at], part.v[at + 1], part.v[at + 2 + d]);
        }
        [[unroll]] for (uint k = 0; k < SOME; k++) {
            if (b0 + k >= count) continue;
            if (b0 + k == first) {
                most = some[k].x, sum = some[k].y, acc = some[k].z;
                continue;
            }
            Merge m = merge_of(most, some[k].x);
            most = m.most;
            sum = merged(m, sum, some[k].y);
            acc = merged(m, acc, some[k].z);
        }
    }
    precise float y = acc * inverse(sum);
    return y;
}
