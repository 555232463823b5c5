/* What a command printed: nothing of it is left that a terminal would act on. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/utf8.h"
#include "src/attach/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer out = {0};
    tdm_error err;
    if (capture_clean(&out, (const char *)data, size, &err)) return 0;
    int32_t code;
    for (size_t i = 0, length; i < out.n; i += length) {
        length = utf8_decode(out.bytes + i, out.n - i, &code);
        if (code < 0 || (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0)) abort();
    }
    if (out.bytes[out.n]) abort();
    buffer_free(&out);
    return 0;
}
