// Merging the attention of a later block of positions into that of the earlier ones.
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
