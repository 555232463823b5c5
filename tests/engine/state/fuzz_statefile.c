/* Arbitrary bytes as a state, into pools of each key/value type: an error leaves an empty state, a success one that
 * saves and loads again. The fingerprint is the input's own, so that the check of it hides nothing. */
#include "engine/state/statefile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct state_shape shape = {.kinds = 2,
                                             .kind = {{.kv_heads = 1, .head_dim = 16, .layers = 1},
                                                      {.window = 8, .kv_heads = 1, .head_dim = 4, .layers = 1},
                                                      {.kv_heads = 1, .head_dim = 16, .layers = 1}},
                                             .linear_layers = 1,
                                             .key_heads = 1,
                                             .value_heads = 2,
                                             .key_dim = 2,
                                             .value_dim = 2,
                                             .conv_channels = 8,
                                             .conv_taps = 2,
                                             .vocab = 3,
                                             .head_width = 2};
    static struct state *states[3];
    static struct state_bytes bytes;
    const struct kernels *kernels;
    static struct pool *pools[3]; /* named here: the leak check does not look into the states' own memory */
    if (!states[0])
        for (int kv = 0; kv < 3; kv++)
            if (kernels_find(&kernels, "scalar", NULL) ||
                pool_new(&pools[kv], &shape, kernels, (enum kv_type)kv, 80, NULL) ||
                state_new(&states[kv], pools[kv], NULL))
                abort();
    uint64_t fingerprint = 0;
    if (size >= 24) memcpy(&fingerprint, data + 16, sizeof fingerprint);
    for (int kv = 0; kv < 3; kv++) {
        struct state *s = states[kv];
        tdm_error err;
        if (state_load_memory(s, fingerprint, data, size, &err)) {
            if (s->length || s->pages[0] || s->logits_valid || !err.text[0]) abort();
            continue;
        }
        if (state_save_memory(s, 1, &bytes, NULL) || state_load_memory(s, 1, bytes.data, bytes.size, NULL)) abort();
    }
    return 0;
}
