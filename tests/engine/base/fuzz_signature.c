/* Any bytes as the beginning of a file, and as words: what is said of them is text that fits its room. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char out[SIGNATURE_ROOM], *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    bool bytes = signature_of_bytes(out, data, size);
    if (bytes != (out[0] != 0) || strlen(out) >= SIGNATURE_ROOM) __builtin_trap();
    bool weights = signature_of_weights(out, data, size);
    if (weights != (out[0] != 0) || (bytes && !weights)) __builtin_trap();
    signature_of_gguf((struct span){text, size}, (struct span){text, size / 2});
    if (!signature_of_method(text)) __builtin_trap();
    signature_of_tensor(text, text);
    signature_of_name(text);
    free(text);
    return 0;
}
