/* Chooses which of the cores, the GPU and another GPU reads and which writes, if no unit is named: once, during a pause
 * of the conversation, each pair of them plays two turns with the loaded model (units_job.h). The results are kept for
 * this model, these GPUs, their drivers and Tandem's shaders in $XDG_CACHE_HOME/tandem/units-HASH.json, and the best
 * pair is used from the next start on. Software GPUs and third GPUs are not considered. */
#ifndef TANDEM_SRC_UNITS_H
#define TANDEM_SRC_UNITS_H

#include "engine/tandem.h"
#include "src/cli/options.h"

/* Which unit reads, and which writes. */
typedef enum {
    UNITS_CORES_CORES,
    UNITS_GPU_CORES,
    UNITS_CORES_GPU,
    UNITS_GPU_GPU,
    UNITS_GPU_OTHER,
    UNITS_OTHER_GPU,
    UNITS_PAIRS
} units_pair;

enum { UNITS_GPUS = 2 };
/* The index, among the considered GPUs, of the one that reads (unit 0) or writes (1); -1: the cores. */
int units_gpu_of(units_pair pair, int unit);

typedef struct {
    bool known;        /* the pair could be measured */
    double ttft_ms;    /* from Enter to the first token, for a message that was read before */
    double decode_tps;
    double read_watts, write_watts; /* while the message is read, and the reply is written; 0: unknown */
} units_row;

typedef struct {
    units_row row[UNITS_PAIRS];
    struct {
        char name[128];    /* the device's own name; "": there is no such GPU */
        uint64_t identity; /* its tdm_gpu_info's */
    } gpu[UNITS_GPUS];
    bool processor; /* its watts are among those of the rows, else they are the GPUs' alone */
} units_measured;

/* The pair with the shortest wait after Enter; among those that hardly differ (by 5 ms, or a tenth) the one that writes
 * fastest; among equally fast ones (within a twentieth) the first, which uses the GPU least. */
units_pair units_best(const units_measured *m);
/* One line about the results and the choice. */
void units_tell(const units_measured *m, char *out, size_t room);
/* All results, a line for each pair, and which is best in what; malloc'ed, NULL: no memory. */
char *units_table(const units_measured *m);

/* Do the options leave the choice of units to Tandem? */
bool units_are_open(const options *o);
/* The indices of the considered devices: the first ones that are not software; returns how many. */
int units_gpus(const tdm_gpu_info *gpus, int n, int out[UNITS_GPUS]);

/* Reads the results for the model with this fingerprint; false: there are none, or the file is damaged. */
bool units_recall(units_measured *out, uint64_t fingerprint);
tdm_status units_keep(const units_measured *m, uint64_t fingerprint, tdm_error *err);
/* The best values for --prefill-unit and --decode-unit ("gpu:N"; "": the cores). false: there are no results, the cores
 * are best, or the GPU is gone. */
enum { UNITS_NAME = 16 };
bool units_choose(uint64_t fingerprint, char unit[TDM_UNITS][UNITS_NAME]);

/* Measures a pair; unit: as --prefill-unit and --decode-unit name them, NULL: cores. TDM_E_CANCELLED: the caller
 * cancelled it.
 */
typedef tdm_status units_probe(void *ctx, units_pair pair, const char *const unit[TDM_UNITS], units_row *out,
                               tdm_error *err);

#endif
