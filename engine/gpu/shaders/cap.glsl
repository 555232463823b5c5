// 1024 of a token's logits, from the block's on.
struct Cap {
    uint64_t logits; // of the first row
    uint vocab;
    float cap, doubled; // soft_cap
};
const uint CAP_BLOCK = 1024;

void cap_logits(Cap p, uint64_t row, uint block)
{
    uint end = min(block * CAP_BLOCK + CAP_BLOCK, p.vocab);
    for (uint c = block * CAP_BLOCK + gl_LocalInvocationIndex; c < end; c += gl_WorkGroupSize.x)
        Floats(row).v[c] = soft_cap(Floats(row).v[c], p.cap, p.doubled);
}
