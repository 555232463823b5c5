/* A machine: the worker threads that units share, one for each core that a unit names, pinned to it, from its first
 * use to machine_close. It is an object: several may live in one process (on different cores, or they would spin
 * against each other).
 *
 * A core runs one thing at a time: it drives its unit (asks the unit's source and runs its jobs), or it is a member of
 * the team of some unit's job, or it sleeps. Lending: a core whose unit has nothing to do joins the jobs of the
 * other units, and is free again at the end of each job (a dispatch, a token).
 *
 * Threads: everything here may be called from any thread but a worker's. */
#ifndef TANDEM_UNIT_MACHINE_H
#define TANDEM_UNIT_MACHINE_H

#include "engine/tandem.h"

struct machine;

/* A machine without cores yet, with lending on. */
tdm_status machine_open(struct machine **out, tdm_error *err);
/* All units must be closed. Ends the threads. */
void machine_close(struct machine *m);

/* Holds from each unit's next job on. */
void machine_set_lending(struct machine *m, bool on);
bool machine_lending(struct machine *m);

/* Worker threads so far: no team has more members. Only unit_open raises it. */
int machine_workers(struct machine *m);

#endif
