/* The requests of tandem-net: several at once to one server, by libcurl's multi interface. Certificates are verified,
 * proxies honoured as libcurl does for https; plain http goes to private addresses (address.h), to those of overlay
 * networks if the user has agreed, and through no proxy. Redirects are not followed, since a request is meant for the
 * named server alone.
 *
 * Threads: one. */
#ifndef TANDEM_SRC_REQUEST_H
#define TANDEM_SRC_REQUEST_H

#include "src/net/wire.h"

typedef struct server server;

/* o: the head of a WIRE_SERVER frame. The key is read from its file or variable here, so that the chat never holds it.
 * If that fails, every request ends with the error. NULL: no memory. */
server *server_open(wire *w, json_object *o);
void server_close(server *s); /* NULL is allowed */

/* Begins the request of a frame. Its WIRE_END reports a failure like any other end. */
void server_request(server *s, uint32_t id, struct span bytes);
void server_cancel(server *s, uint32_t id);
/* Opens a connection for the next request if none waits, as WIRE_READY says. */
void server_ready(server *s, uint32_t seconds, struct span bytes);

/* Waits until a server or the chat has sent bytes, and passes them on. False: libcurl failed. */
bool server_run(server *s, wire *w);

#endif
