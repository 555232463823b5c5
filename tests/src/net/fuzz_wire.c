/* Any bytes as what the other end of the socket says, piece by piece: frames lie within what came, and no more of it is
 * given out than there was. */
#include <stdlib.h>

#include "src/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire w = {.fd = -1, .in.most = WIRE_MAX};
    tdm_error err;
    size_t given = 0;
    bool good = true;
    for (size_t at = 0; at < size && good; at += 61) {
        size_t n = size - at < 61 ? size - at : 61;
        if (frames_feed(&w.in, (const char *)data + at, n, &err)) break;
        wire_frame f;
        while ((good = wire_take(&w, &f, &err) == TDM_OK) && f.frame.head) {
            const struct span bytes = f.frame.payload;
            given += bytes.length;
            json_free(f.frame.head);
            if (bytes.bytes < w.in.come.bytes || bytes.bytes + bytes.length > w.in.come.bytes + w.in.come.n)
                __builtin_trap();
        }
    }
    if (given > size || w.in.taken > w.in.come.n) __builtin_trap();
    wire_free(&w);
    return 0;
}
