// The rows that a workgroup of a product has, at most BATCH of them, and their weights. Who includes this has the constants
// BATCH and EXPERTS, and among its push constants weights, chosen, tokens and each. EXPERTS, by the workgroup's number:
//   0  rows number * BATCH and so on
//   1  row `number`, with the weights of the expert chosen[number]
//   2  a batch of the rows of one expert, as group.comp lists them: at `chosen` lie the numbers of all rows, by expert, in
//      whole quads, then for each batch its expert, where in them it begins, and how many rows it has
// With experts, weights are the addresses of each one's first tile, and `each` rows have one row of activations.
uint64_t batch_weights;
uint batch_first, batch_end;
shared uint inputs[EXPERTS == 2 ? BATCH : 1];

// False: there is no such batch.
bool find_batch(uint number)
{
    batch_weights = weights;
    batch_first = number * BATCH;
    batch_end = tokens;
    if (EXPERTS == 1) batch_weights = Addresses(weights).v[Words(chosen).v[number]];
    if (EXPERTS == 2) {
        uvec4 batch = Quads(chosen).v[(tokens + 3) / 4 + number];
        if (batch.z == 0) return false;
        batch_weights = Addresses(weights).v[batch.x];
        batch_first = batch.y;
        batch_end = batch.y + batch.z;
        const uint lanes = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
        for (uint t = gl_LocalInvocationIndex; t < BATCH; t += lanes)
            inputs[t] = Words(chosen).v[min(batch_first + t, batch_end - 1)] / each;
        barrier();
    }
    return true;
}

// Of the batch's t-th row its activations, or those of another row where it has none.
uint input_row(uint t)
{
    if (EXPERTS == 2) return inputs[t];
    if (EXPERTS == 1) return batch_first / each;
    return min(batch_first + t, tokens - 1);
}

bool has_row(uint t)
{
    return batch_first + t < batch_end;
}

uint result_row(uint t)
{
    return EXPERTS == 2 ? Words(chosen).v[batch_first + t] : batch_first + t;
}
