/* Which of the cores and the GPU reads and which writes, where no unit is named: each pair of them plays two turns with
 * the loaded model once, at a rest of the conversation (units_job.h). What was measured is kept for this model, this
 * GPU, its driver and Tandem's shaders in $XDG_CACHE_HOME/tandem/units-HASH.json, and the best pair is taken from the
 * next start on. A GPU that is software is not considered. */
#ifndef TANDEM_SRC_UNITS_H
#define TANDEM_SRC_UNITS_H

#include "engine/tandem.h"
#include "src/cli/options.h"

/* What reads, what writes. */
typedef enum { UNITS_CORES_CORES, UNITS_GPU_CORES, UNITS_CORES_GPU, UNITS_GPU_GPU, UNITS_PAIRS } units_pair;

typedef struct {
    bool known;        /* the pair could be measured */
    double ttft_ms;    /* from Enter to the first token of a message that was read before */
    double decode_tps;
} units_row;

typedef struct {
    units_row row[UNITS_PAIRS];
    char gpu[128];     /* what it calls itself */
    uint64_t identity; /* its tdm_gpu_info's */
} units_measured;

/* The pair with the shortest wait after Enter; of those between which nobody feels a difference (5 ms, or a tenth) the
 * one that writes fastest; of equally fast ones (a twentieth) the first, which needs the GPU least. */
units_pair units_best(const units_measured *m);
/* One line about what was measured, and what follows. */
void units_tell(const units_measured *m, char *out, size_t room);

/* Are the units left to Tandem? */
bool units_are_open(const options *o);
/* The device that is considered: the first of these that is not software; NULL: none. */
const tdm_gpu_info *units_gpu(const tdm_gpu_info *gpus, int n);

/* What is kept for the model with this fingerprint; false: nothing, or the file was damaged. */
bool units_recall(units_measured *out, uint64_t fingerprint);
tdm_status units_keep(const units_measured *m, uint64_t fingerprint, tdm_error *err);
/* What --prefill-unit and --decode-unit would have to say, into `gpu` ("gpu:N"; false: nothing is kept, the cores are
 * best, or that GPU is not there any more). */
bool units_choose(uint64_t fingerprint, units_pair *pair, char *gpu, size_t room);

/* Measures a pair; gpu: the device's name for a unit. TDM_E_CANCELLED: it was given up. */
typedef tdm_status units_probe(void *ctx, units_pair pair, const char *gpu, units_row *out, tdm_error *err);

#endif
