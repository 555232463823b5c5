/* The connection to one server, through the program tandem-net (src/net), so that the chat itself opens no connection.
 * Requests are answered by calls; several may be under way.
 *
 * Threads: a thread of its own calls back; the functions may be called from any thread, also from within calls,
 * but connection_close from none of these. */
#ifndef TANDEM_SRC_CONNECTION_H
#define TANDEM_SRC_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/span.h"
#include "engine/tandem.h"

typedef struct connection connection;

typedef struct {
    const char *url;      /* http://HOST:PORT or https://HOST..., what a path is appended to */
    const char *key_file; /* where the server's key is; or NULL ... */
    const char *key_env;  /* ... or the variable that holds it; or NULL */
} connection_options;

/* Starts tandem-net. Nothing is sent before the first request. */
tdm_status connection_open(connection **out, const connection_options *server, tdm_error *err);
/* Gives up what is under way (no more calls when this returns) and waits for tandem-net's end. NULL is allowed. */
void connection_close(connection *c);

/* What a request's answer is told by. Bytes are untrusted and valid during the call. */
typedef struct {
    void *ctx;
    void (*head)(void *ctx, int status, int retry_after_s); /* -1: not said */
    void (*data)(void *ctx, struct span bytes);             /* an event's data, or the next bytes of a body */
    /* Last of all, once. error NULL: the answer is whole (whatever its status). Times in ms since the request began. */
    void (*end)(void *ctx, const char *error, double connect_ms, double first_ms, double total_ms);
} connection_calls;

/* Sends a request as of dialect.h. Its failure is told by `end` like any other. Returns its id, never 0. */
uint32_t connection_send(connection *c, struct span request, const connection_calls *calls);
/* Gives a request up: `end` still comes, soon. */
void connection_cancel(connection *c, uint32_t id);
/* A request may come soon: where no connection to the server is open and free, one is made by this request, of which
 * nobody is told. One that the server closes within these seconds is made anew. Never waited for. */
void connection_ready(connection *c, struct span request, uint32_t seconds);

#endif
