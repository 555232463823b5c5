/* Any bytes as what the other end of the socket says, piece by piece: frames lie within what came, and no more of it is
 * given out than there was. */
#include <stdlib.h>

#include "src/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire w = {.fd = -1};
    tdm_error err;
    size_t given = 0;
    for (size_t at = 0; at < size; at += 61) {
        size_t n = size - at < 61 ? size - at : 61;
        if (buffer_append(&w.in, (const char *)data + at, n, &err)) break;
        wire_frame frame;
        bool found = true, good = true;
        while (found && (good = wire_take(&w, &frame, &found, &err) == TDM_OK)) {
            if (!found) break;
            given += frame.bytes.length;
            if (frame.bytes.bytes < w.in.bytes || frame.bytes.bytes + frame.bytes.length > w.in.bytes + w.in.n)
                __builtin_trap();
        }
        if (!good) break;
    }
    if (given > size || w.taken > w.in.n) __builtin_trap();
    wire_free(&w);
    return 0;
}
