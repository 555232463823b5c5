/* Scripts: what is read holds what its header promises. */
#include <stdlib.h>

#include "src/play/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script s;
    tdm_error err;
    if (script_parse(&s, "fuzz", (const char *)data, size, &err)) return 0;
    if (s.n < 1 || s.max_tokens < 1 || s.n_history % 2) abort();
    for (int i = 0; i < s.n; i++) {
        if (!s.turns[i].text || !(script_interval(&s, i, 0) >= 0)) abort();
        for (int k = 0; k < s.turns[i].n_events; k++)
            if (s.turns[i].events[k].action >= SCRIPT_ACTIONS) abort();
    }
    script_free(&s);
    return 0;
}
