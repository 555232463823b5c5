/* Any bytes as a stream of events, once whole and once in pieces as the bytes themselves say: the events are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "src/net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t hash;
    size_t events;
};

static tdm_status take(void *ctx, sse_kind kind, struct span data, tdm_error *err)
{
    struct seen *s = ctx;
    (void)err;
    s->hash = (s->hash ^ kind) * 0x100000001b3;
    s->events++;
    for (size_t i = 0; i < data.length; i++) s->hash = (s->hash ^ (unsigned char)data.bytes[i]) * 0x100000001b3;
    s->hash = (s->hash ^ 0x100) * 0x100000001b3;
    return TDM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct seen whole = {0}, pieces = {0};
    sse a = {0}, b = {0};
    if (sse_read(&a, bytes, size, take, &whole, NULL)) __builtin_trap();
    for (size_t at = 0; at < size;) {
        size_t n = 1 + data[at] % 7;
        if (n > size - at) n = size - at;
        if (sse_read(&b, bytes + at, n, take, &pieces, NULL)) __builtin_trap();
        at += n;
    }
    if (sse_end(&a, take, &whole, NULL) || sse_end(&b, take, &pieces, NULL)) __builtin_trap();
    if (a.odd.n > SSE_ODD || a.odd.n != b.odd.n || (a.odd.n && memcmp(a.odd.bytes, b.odd.bytes, a.odd.n)))
        __builtin_trap();
    if (whole.hash != pieces.hash || whole.events != pieces.events) __builtin_trap();
    sse_free(&a);
    sse_free(&b);
    return 0;
}
