/* A machine: the worker threads that units share, one per core that a unit names, pinned to it and alive from the
 * core's first use to machine_close. A process may have several machines, on different cores (on the same ones they
 * would spin against each other).
 *
 * A core does one thing at a time: it drives its unit (asks the unit's source for jobs and runs them), or it is a
 * member of the team of a unit's job, or it sleeps. Lending: a core whose unit has nothing to do joins the jobs of
 * other units and is free again at the end of each job (a dispatch, a token).
 *
 * Threads: everything here may be called from any thread but a worker's. */
#ifndef TANDEM_UNIT_MACHINE_H
#define TANDEM_UNIT_MACHINE_H

#include "engine/tandem.h"

struct machine;

/* Opens a machine without cores, with lending on. */
tdm_status machine_open(struct machine **out, tdm_error *err);
/* All units must be closed. Ends the threads. */
void machine_close(struct machine *m);

/* Takes effect with each unit's next job. */
void machine_set_lending(struct machine *m, bool on);
bool machine_lending(struct machine *m);

/* Worker threads so far: no team has more members. Only unit_open raises it. */
int machine_workers(struct machine *m);
/* Of these, the threads that are pinned to a CPU. */
int machine_cores(struct machine *m);

#endif
