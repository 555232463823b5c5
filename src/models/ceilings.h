/* The measured limits of the cores (tdm_machine_measure), kept between runs: $XDG_CACHE_HOME/tandem/ceilings-HASH.json,
 * a file for each processor, kernel set and split of the cores, so that another machine measures again. They are
 * measured at the first pause of a conversation (ceilings_job.h) and on request (/units measure, info --cpu --measure);
 * until then shares of the ceilings are unknown. A file that was changed or damaged is ignored. */
#ifndef TANDEM_SRC_CEILINGS_H
#define TANDEM_SRC_CEILINGS_H

#include "engine/tandem.h"

typedef struct {
    bool known;
    tdm_ceilings value; /* 0: of a GPU, whose limits aren't measured */
    int64_t when; /* of the measurement, in seconds since 1970; 0: not known */
} ceilings;

/* Reads the file for this processor; without one c->known is false. kernels: the name of the set, NULL: the best. */
void ceilings_recall(ceilings *c, const tdm_machine *m, const char *kernels);
/* Measures and stores the limits; kept_err NULL: doesn't store them. If they can't be stored (no folder, a full disk),
 * that is no failure, but kept_err has the reason (its code isn't 0). */
tdm_status ceilings_measure(ceilings *c, tdm_machine *m, const char *kernels, tdm_progress progress, void *progress_ctx,
                            tdm_error *kept_err, tdm_error *err);

/* How fast all cores read memory, which is what a list of models needs. */
typedef struct {
    double bytes_per_s; /* 0: not known */
    int64_t when;       /* as above */
} ceilings_memory;
ceilings_memory ceilings_memory_of(const ceilings *c);
/* The same; where it is not known it is measured, which is too quick to be worth storing. */
tdm_status ceilings_memory_now(ceilings_memory *out, const ceilings *c, tdm_machine *m, tdm_error *err);

/* A table of lines, for a user; malloc'ed. */
char *ceilings_text(const ceilings *c, const tdm_machine *m);

/* Seconds that a unit worked on its own cores alone, and on those of both units. ceilings_operations and ceilings_bytes
 * say how much it could have done in that time at most. */
typedef struct {
    double own_s, all_s;
} ceilings_time;
double ceilings_operations(const ceilings *c, int unit, tdm_arithmetic a, ceilings_time t); /* 0: not known */
double ceilings_bytes(const ceilings *c, int unit, ceilings_time t);

/* ---- For tests ---- */

/* The text of the file, malloc'ed, and back; false: it is of another processor, or damaged. */
char *ceilings_write(const ceilings *c, const char *processor, size_t *n);
bool ceilings_read(ceilings *out, const char *processor, const char *text, size_t n);

#endif
