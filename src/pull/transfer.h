/* Requests to the hub, by libcurl: TLS verified, redirects followed by hand so that the access token goes to the hub's
 * own server alone, and tried again where a connection or a busy server fails. One thread; Ctrl-C
 * (src/process/interrupt.h) ends what is under way. */
#ifndef TANDEM_SRC_PULL_TRANSFER_H
#define TANDEM_SRC_PULL_TRANSFER_H

#include "src/pull/repository.h"

typedef struct transfer transfer;

/* endpoint: https://host[:port][/path], no slash at its end; http too, where the user says so. token: NULL for none;
 * over http it is sent to this computer only. */
tdm_status transfer_open(transfer **out, const char *endpoint, const char *token, tdm_error *err);
void transfer_close(transfer *t);

typedef struct {
    long status;                       /* of HTTP */
    char etag[REPOSITORY_DIGEST_ROOM]; /* of the content, as the hub's own server says it; "" when it doesn't */
    bool sized;                        /* it also says the size (X-Linked-Size) */
    uint64_t size;
    bool ranged; /* 206: the body begins at `from` of `total` bytes */
    uint64_t from, total;
    bool html;      /* it says that a web page comes (Content-Type) */
    int64_t length; /* of the body that comes (Content-Length); -1: not said */
    bool framed;    /* its end is marked (chunks, HTTP/2 and later): one that ends without a failure is whole */
    char next[REPOSITORY_URL_ROOM]; /* the next page; "" when this is the last */
    char message[200];              /* what the hub says about a failure; untrusted */
} transfer_reply;

/* What is done with an answer. Each returns a failure to give up with; the answer's bytes are untrusted. */
typedef struct {
    void *ctx;
    /* Before each attempt: the byte to go on from; 0: all are wanted. */
    tdm_status (*begin)(void *ctx, uint64_t *from, tdm_error *err);
    /* Once for each attempt that is answered with 200 or 206, before its body. */
    tdm_status (*head)(void *ctx, const transfer_reply *reply, tdm_error *err);
    tdm_status (*body)(void *ctx, const void *bytes, size_t n, tdm_error *err);
    /* After a body: whether it was all; a server may close early without a word. */
    bool (*complete)(void *ctx);
    /* A body came to its end and was not all; or NULL. TDM_OK: it counts as cut. */
    tdm_status (*short_body)(void *ctx, const transfer_reply *reply, tdm_error *err);
    /* Now and then while an answer is waited for, at least once a second; or NULL. */
    void (*tick)(void *ctx);
    /* Another attempt follows in this many seconds; why: the reason. */
    void (*again)(void *ctx, const char *why, int seconds);
} transfer_sink;

/* TDM_OK with any status of HTTP but those that are tried again (429, 500, 502, 503, 504): for other than 200 and 206
 * no body was given to the sink. Tried again, with growing pauses or as Retry-After says: cut connections and those
 * statuses, until several attempts in a row bring nothing. url may be relative to the endpoint's ("/api..." or what a
 * Link header has). */
tdm_status transfer_get(transfer *t, const char *url, const transfer_sink *sink, transfer_reply *reply, tdm_error *err);

#endif
