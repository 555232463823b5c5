/* Any bytes as a safetensors file: opened, every tensor's ends touched. */
#include "engine/model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors *s;
    tdm_error err;
    if (safetensors_open_memory(&s, data, size, "fuzz", &err)) return 0;
    const struct safetensors_tensor *tensors;
    size_t n = safetensors_tensors(s, &tensors);
    for (size_t i = 0; i < n; i++) {
        if (tensors[i].bytes) sink = tensors[i].data[0] ^ tensors[i].data[tensors[i].bytes - 1];
        if (!safetensors_find(s, tensors[i].name)) __builtin_trap();
    }
    safetensors_close(s);
    return 0;
}
