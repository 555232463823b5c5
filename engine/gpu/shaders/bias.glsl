// The bias of a product's outputs, where the product then adds to it: 128 columns of a row. add: it is added there itself.
struct Bias {
    uint64_t bias, result;
    uint columns, ld, add;
    float scale;
    uint64_t chosen; // 0: one for all rows; else the experts that the rows are of, whose biases lie one behind the other
};

void put_bias(Bias p, uint chunk, uint row)
{
    uint expert = Words(present(p.chosen, p.bias)).v[p.chosen == 0 ? 0 : row], from = p.chosen == 0 ? 0 : expert * p.columns;
    for (uint c = chunk * CHUNK + gl_LocalInvocationIndex; c < min(chunk * CHUNK + CHUNK, p.columns); c += gl_WorkGroupSize.x) {
        uint at = row * p.ld + c;
        precise float v = Floats(p.bias).v[from + c] * p.scale;
        precise float more = Floats(p.result).v[at] + v;
        Floats(p.result).v[at] = p.add == 1 ? more : v;
    }
}
