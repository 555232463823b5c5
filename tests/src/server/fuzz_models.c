/* Any bytes as a server's list of models: names stay in their places and can be shown. */
#include <stdlib.h>
#include <string.h>

#include "src/server/facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const wanted[] = {NULL, "m"};
    for (int i = 0; i < 2; i++) {
        facts f = {0};
        tdm_error err;
        tdm_status status = facts_read_models(&f, (struct span){(const char *)data, size}, wanted[i], &err);
        if (f.n_models > FACTS_MODELS || (status == TDM_OK && !f.model[0])) __builtin_trap();
        for (int m = 0; m < f.n_models; m++)
            for (const char *c = f.models[m]; *c; c++)
                if (c - f.models[m] >= FACTS_NAME || (unsigned char)*c < ' ') __builtin_trap();
        facts_free(&f);
    }
    return 0;
}
