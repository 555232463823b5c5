/* What a tdm_machine is inside the engine: the worker threads, the two units made of them, and the chat that they
 * serve. */
#ifndef TANDEM_API_MACHINE_H
#define TANDEM_API_MACHINE_H

#include "engine/backend/backend.h"
#include "engine/tandem.h"
#include "engine/unit/machine.h"
#include "engine/unit/unit.h"

#include <pthread.h>

/* A client has work for both units, as sources of it (unit.h). The client that came last is served. When it leaves, the
 * one before it is served again. */
struct machine_client {
    unit_next_fn *next[TDM_UNITS];
    void *ctx;
    bool on_cores[TDM_UNITS]; /* the cores do its work for this unit, although the unit has a device */
    const char *server;       /* the host of the server that does the work of both units; NULL: the units do it */
    struct machine_client *before;
};

struct tdm_machine {
    struct machine *machine;
    struct unit *units[TDM_UNITS];
    struct backend_device *device[TDM_UNITS]; /* NULL: cores; both may be the same */
    char names[TDM_UNITS][64];
    char refused[TDM_UNITS]
                [256]; /* why the GPU that the unit names is not used; "": it is used, or the unit names none */
    pthread_mutex_t serving;
    struct machine_client *client;
};

/* Serves c from now on. c must stay at its address until machine_leave. Any thread but the workers. */
void machine_serve(struct tdm_machine *m, struct machine_client *c);
/* When this returns, no source of c is running, nor any of its jobs. A client that was never served may leave. */
void machine_leave(struct tdm_machine *m, struct machine_client *c);

#endif
