/* The pages of the tests' server: what is asked, evaluated by slots.h and answered in the form of answers.h, on
 * libmicrohttpd with a thread for each connection. */
#ifndef TANDEM_TESTS_PAGES_H
#define TANDEM_TESTS_PAGES_H

#include <microhttpd.h>
#include <pthread.h>

#include "engine/base/span.h"
#include "engine/json/json.h"
#include "src/server/dialect.h"
#include "tests/server/fault.h"
#include "tests/server/line.h"
#include "tests/server/slots.h"

typedef struct {
    dialect kind;
    bool old;         /* an old llama-server (answers.h) */
    const char *name; /* of the model */
    const char *path; /* of its file */
    const char *key;  /* that requests must have; NULL: none */
    struct span chat_template;
    int context, n_slots;
    slots *slots;
    struct line *line;
    pthread_mutex_t lock; /* guards what follows */
    fault fault;
    uint64_t requests;
    json_object *by_path; /* requests */
} pages;

/* Handlers for MHD_start_daemon, with a `pages *` as their context: of the server, and of the tests' own pages:
 *
 *   GET /test/counters   connections, bytes of both directions, requests (in all, by path), tokens evaluated
 *   POST /test/fault     the body is a fault (fault.h)
 *   POST /test/restart   empties all states and closes all connections */
enum MHD_Result pages_serve(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                            const char *version, const char *data, size_t *n, void **state);
enum MHD_Result pages_control(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *data, size_t *n, void **state);
/* For MHD_OPTION_NOTIFY_COMPLETED. */
void pages_done(void *ctx, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why);

#endif
