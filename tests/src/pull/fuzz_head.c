/* Any bytes as the head of a hub's answer: whatever is taken of it is a digest, an address that fits, text that
 * ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/pull/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reply(const head *h)
{
    const transfer_reply *r = h->reply;
    size_t n = strlen(r->etag);
    if (n && n != 40 && n != 64) abort();
    if (strspn(r->etag, "0123456789abcdef") != n) abort();
    if (strlen(r->next) >= sizeof r->next || strlen(r->message) >= sizeof r->message || h->after < -1) abort();
    if (!h->own && (r->etag[0] || r->next[0] || r->message[0] || r->sized)) abort();
}

/* The first byte: whether the server is the hub's own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    transfer_reply reply = {0};
    head h = {.reply = &reply, .own = size && data[0] & 1, .after = -1};
    for (size_t at = 1; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end ? (size_t)(end - data) + 1 - at : size - at;
        char *line = malloc(n);
        if (!line) break;
        memcpy(line, data + at, n);
        head_take(&h, line, n);
        free(line);
        check_reply(&h);
        at += n;
    }
    free(h.location);
    return 0;
}
