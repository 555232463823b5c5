/* Any bytes as a safetensors file: opened, every tensor's ends touched, its name looked up as that of a mixture's. */
#include "engine/model/hf/safetensors.h"
#include "engine/model/schema/schema.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

/* A name that is known stands for a tensor that the model has, or for an expert's. */
static void find_role(const char *name)
{
    static const struct config c = {.schema = &schema_qwen35moe, .layers = 8, .experts.count = 12, .hidden = 1};
    struct role_place place;
    role_find(&c, SCHEMA_HF, (struct span){name, strlen(name)}, &place);
    if (place.kind != ROLE_KNOWN) return;
    if (!place.tensor == !place.pieces || place.layer >= c.layers || place.part >= c.experts.count) __builtin_trap();
}

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
        find_role(tensors[i].name);
    }
    safetensors_close(s);
    return 0;
}
