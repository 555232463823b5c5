/* What a tdm_machine is inside the engine: the worker threads, the two units made of them, and whom they serve. */
#ifndef TANDEM_API_MACHINE_H
#define TANDEM_API_MACHINE_H

#include "engine/backend/backend.h"
#include "engine/tandem.h"
#include "engine/unit/machine.h"
#include "engine/unit/unit.h"

#include <pthread.h>

/* Somebody with work for both units, as sources of it (unit.h). The one who came last is served; when it leaves, the
 * one before it is again. */
struct client {
    unit_next_fn *next[TDM_UNITS];
    void *ctx;
    bool on_cores[TDM_UNITS]; /* its work for this unit is the cores', though the unit is a device's */
    const char *server;       /* the host that does the work of both units; NULL: they do */
    struct client *before;
};

struct tdm_machine {
    struct machine *machine;
    struct unit *units[TDM_UNITS];
    struct backend_device *device[TDM_UNITS]; /* NULL: cores; both may be the same */
    char names[TDM_UNITS][64];
    char refused[TDM_UNITS][256]; /* why the GPU that the unit names is not used; "": it is, or it names none */
    pthread_mutex_t serving;
    struct client *client;
};

/* Serves c from now on. It stays the caller's, in its place, until it has left. Any thread but the workers. */
void machine_serve(struct tdm_machine *m, struct client *c);
/* When this returns, no source of c is running, nor any of its jobs. One that never came may leave. */
void machine_leave(struct tdm_machine *m, struct client *c);

#endif
