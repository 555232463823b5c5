/* Requests to the hub, by libcurl: TLS verified, redirects followed by hand so that the access token goes to the hub's
 * own server alone, and repeated if a connection breaks or the server is busy. One thread; Ctrl-C
 * (src/process/interrupt.h) ends a running request. */
#ifndef TANDEM_SRC_PULL_TRANSFER_H
#define TANDEM_SRC_PULL_TRANSFER_H

#include "src/pull/repository.h"

typedef struct transfer transfer;

/* endpoint: https://host[:port][/path], no slash at its end; http too, if the user asks for it. token: NULL for none;
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
    bool html;      /* the Content-Type is a web page's */
    int64_t length; /* of the body that comes (Content-Length); -1: not said */
    bool framed;    /* its end is marked (chunks, HTTP/2 and later): a body that ends without a failure is complete */
    char next[REPOSITORY_URL_ROOM]; /* the next page; "" when this is the last */
    char message[200];              /* what the hub says about a failure; untrusted */
} transfer_reply;

/* The receiver of an answer. A failure of any function ends the transfer; the answer's bytes are untrusted. */
typedef struct {
    void *ctx;
    /* Before each attempt: the byte to continue from; 0: all are wanted. */
    tdm_status (*begin)(void *ctx, uint64_t *from, tdm_error *err);
    /* Once for each attempt that is answered with 200 or 206, before its body. */
    tdm_status (*head)(void *ctx, const transfer_reply *reply, tdm_error *err);
    tdm_status (*body)(void *ctx, const void *bytes, size_t n, tdm_error *err);
    /* After a body: whether it is complete; a server may close early without an error. */
    bool (*complete)(void *ctx);
    /* A body ended but is not complete; may be NULL. TDM_OK: treat it as a broken connection. */
    tdm_status (*short_body)(void *ctx, const transfer_reply *reply, tdm_error *err);
    /* Now and then while an answer is waited for, at least once a second; or NULL. */
    void (*tick)(void *ctx);
    /* Another attempt follows in this many seconds; why: the reason. */
    void (*again)(void *ctx, const char *why, int seconds);
} transfer_sink;

/* TDM_OK with any status of HTTP but those that are tried again (429, 500, 502, 503, 504): for other than 200 and 206
 * the sink got no body. Broken connections and those statuses are retried, with growing pauses or as Retry-After says,
 * until several attempts in a row bring no data. url may be relative to the endpoint's ("/api..." or what a Link header
 * has). */
tdm_status transfer_get(transfer *t, const char *url, const transfer_sink *sink, transfer_reply *reply, tdm_error *err);

/* ---- Web pages ---------------------------------------------------------------------------------------------------
 *
 * They come in place of the requested file, from a proxy or a network that demands a sign-in. */

/* A possible reason for a size or ETag that differs from the hub's list; it follows the expected and found values. */
#define TRANSFER_PAGE_DOUBT "(a web page came: sign-in or proxy?)"

/* Whether these first bytes are those of a web page. No fetched file of the hub begins so. */
bool transfer_page_begins(const void *bytes, size_t n);
/* Fails with the line about a page in place of `what`. */
tdm_status transfer_page_came(const char *what, tdm_error *err);

#endif
