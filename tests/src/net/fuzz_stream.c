/* Any bytes as the stream of a reply, once whole and once in pieces as the bytes themselves say: the values are the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "src/net/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t hash;
    size_t values;
};

static tdm_status take(void *ctx, struct span value, tdm_error *err)
{
    struct seen *s = ctx;
    (void)err;
    s->values++;
    for (size_t i = 0; i < value.length; i++) s->hash = (s->hash ^ (unsigned char)value.bytes[i]) * 0x100000001b3;
    s->hash = (s->hash ^ 0x100) * 0x100000001b3;
    return TDM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct seen whole = {0}, pieces = {0};
    stream a = {0}, b = {0};
    if (stream_read(&a, bytes, size, take, &whole, NULL)) __builtin_trap();
    for (size_t at = 0; at < size;) {
        size_t n = 1 + data[at] % 7;
        if (n > size - at) n = size - at;
        if (stream_read(&b, bytes + at, n, take, &pieces, NULL)) __builtin_trap();
        at += n;
    }
    if (stream_end(&a, take, &whole, NULL) || stream_end(&b, take, &pieces, NULL)) __builtin_trap();
    if (whole.hash != pieces.hash || whole.values != pieces.values) __builtin_trap();
    stream_free(&a);
    stream_free(&b);
    return 0;
}
