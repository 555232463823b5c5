/* The connection to one server, through the program tandem-net (src/net), so that the chat itself opens no connection.
 * Answers come by callbacks; several requests may be under way.
 *
 * Threads: the connection's own thread calls back; the functions may be called from any thread, also from callbacks,
 * except connection_close, which must not be called from a callback. */
#ifndef TANDEM_SRC_CONNECTION_H
#define TANDEM_SRC_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/span.h"
#include "engine/tandem.h"

typedef struct connection connection;

typedef struct {
    const char *url;      /* http://HOST:PORT or https://HOST...; paths are appended to it */
    const char *key_file; /* the file that has the server's key; or NULL ... */
    const char *key_env;  /* ... or the variable that has it; or NULL */
    bool plain_http;      /* plain http is allowed to another computer on an overlay network (src/net/address.h) */
} connection_options;

/* Starts tandem-net. Nothing is sent before the first request. */
tdm_status connection_open(connection **out, const connection_options *server, tdm_error *err);
/* Cancels all requests (no callback runs when this returns) and waits for tandem-net's end. NULL is allowed. */
void connection_close(connection *c);

/* The callbacks that get a request's answer. Bytes are untrusted and valid during the call. */
typedef struct {
    void *ctx;
    void (*head)(void *ctx, int status, int retry_after_s); /* -1: unknown */
    void (*data)(void *ctx, struct span bytes);             /* a value of a stream, or the next bytes of a body */
    /* Called last, once. error NULL: the answer is complete (whatever its status). Times in ms since the request
     * began. */
    void (*end)(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms);
} connection_calls;

/* Was a request refused because plain_http was not set and the server is on an overlay network? */
bool connection_lacks_plain_http(connection *c);

/* Sends a request of dialect.h. `end` reports its failure like any other end. Returns its id, never 0. */
uint32_t connection_send(connection *c, struct span request, const connection_calls *calls);
/* Cancels a request: `end` is still called, soon. */
void connection_cancel(connection *c, uint32_t id);
/* A request may come soon: if no connection to the server is open and free, this request opens one, and its
 * answer is dropped. A connection that the server closes within these seconds is opened again. Returns without waiting.
 */
void connection_ready(connection *c, struct span request, uint32_t seconds);

#endif
