// Sums and maxima over the lanes of a workgroup. Who includes this has declared LANES, a multiple of 32, and SUBGROUP: how
// many lanes exchange values without shared memory, 1: none. The order of sums, and so their bits, are the same for each.
shared float part[LANES];

// What the lane has whose number differs in the bit n: through a subgroup where that reaches, else through shared memory.
float of_other(float v, uint n)
{
    if (n < SUBGROUP) return subgroupShuffleXor(v, n);
    uint i = gl_LocalInvocationIndex;
    barrier();
    part[i] = v;
    barrier();
    return part[i ^ n];
}

// The sum of 32 lanes' values, in each of them.
float sum_of_32(float v)
{
    [[unroll]] for (uint n = 16; n > 0; n /= 2) {
        precise float sum = v + of_other(v, n);
        v = sum;
    }
    return v;
}

float top_of_32(float v)
{
    [[unroll]] for (uint n = 16; n > 0; n /= 2) v = max(v, of_other(v, n));
    return v;
}

// The sum of LANES values.
float total_of(float v)
{
    uint i = gl_LocalInvocationIndex;
    v = sum_of_32(v);
    if (LANES == 32) return v;
    barrier();
    if (i % 32 == 0) part[i / 32] = v;
    barrier();
    precise float sum = part[0];
    [[unroll]] for (uint n = 1; n < LANES / 32; n++) sum += part[n];
    return sum;
}
