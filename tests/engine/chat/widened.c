#include "tests/engine/chat/widened.h"

#include "tests/engine/kernel/tested.h"

bool widened_runs(void)
{
    const struct kernels *wide;
    return !tested_find(&wide, "amx-bf16 in C", NULL);
}

tdm_status widened_pair(struct tdm_model *decoding, struct tdm_model *reading, tdm_error *err)
{
    const struct kernels *tiles, *wide;
    struct team team;
    tdm_status status = tested_find(&tiles, "amx in C", err);
    if (!status) status = tested_find(&wide, "amx-bf16 in C", err);
    if (status) return status;
    weights_free(reading->weights);
    weights_free(decoding->weights);
    decoding->weights = reading->weights = NULL;
    team_solo(&team);
    status = weights_new(&decoding->weights, decoding->source, tiles, &team, NULL, err);
    return status ? status : weights_share(&reading->weights, decoding->weights, wide, err);
}
