/* Chooses which of the cores, the GPU and another GPU reads and which writes, and whether cores with a matrix unit
 * read in bfloat16 (--prefill-kind amx-bf16), if neither units nor kinds are named: once, during a pause of the
 * conversation, each pair of them plays two turns with the loaded model and reads drafts (units_job.h). The results are
 * kept for this model, these GPUs, their drivers and Tandem's shaders in $XDG_CACHE_HOME/tandem/units-HASH.json, and
 * the best pair is used from the next start on; until then a conversation keeps its pair. A saved session goes on with
 * whatever reads after the start: where that has another arithmetic than what read before, a GPU's or bfloat16, the
 * conversation is read again (tdm_chat_load_state). Software GPUs and third GPUs are not considered. */
#ifndef TANDEM_SRC_UNITS_H
#define TANDEM_SRC_UNITS_H

#include "engine/tandem.h"
#include "src/cli/options.h"

/* Which unit reads, and which writes. */
typedef enum {
    UNITS_CORES_CORES,
    UNITS_BF16_CORES, /* the cores of PREFILL multiply in bfloat16 on the matrix unit */
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
    double read_tps;   /* tokens per second of some hundred tokens that were not read before; 0: unknown */
    double short_tps;  /* the same of a message of few tokens; 0: unknown */
    double read_watts, write_watts; /* while the message is read, and the reply is written; 0: unknown */
} units_row;

typedef struct {
    units_row row[UNITS_PAIRS];
    struct {
        char name[128];    /* the device's own name; "": there is no such GPU */
        uint64_t identity; /* its tdm_gpu_info's */
    } gpu[UNITS_GPUS];
    bool matrix;    /* the cores have a matrix unit, so the pair in bfloat16 was considered */
    bool processor; /* its watts are among those of the rows, else they are the GPUs' alone */
} units_measured;

/* By four figures, in this order:
 * - the shortest wait after Enter, of a message that was read before; waits that hardly differ (by 5 ms, or a tenth)
 *   are alike;
 * - of pairs that wait alike, the one that writes fastest; of equally fast ones (within a twentieth) the first, which
 *   uses the GPU least;
 * - of pairs that wait and write alike, one that reads a long unread text faster by more than a tenth takes the place
 *   of the one chosen so far;
 * - unless it reads a short message slower by more than a tenth.
 * The pair in bfloat16 waits and writes as the cores do, so it is chosen by the last two alone. */
units_pair units_best(const units_measured *m);
/* One line about the results and the choice. */
void units_tell(const units_measured *m, char *out, size_t room);
/* All results, a line for each pair, which is best in what, and why the pair in bfloat16 is taken or not; malloc'ed,
 * NULL: no memory. */
char *units_table(const units_measured *m);

/* Do the options leave the choice of units and kinds to Tandem? */
bool units_are_open(const options *o);
/* Can cores read for this model in bfloat16? That is: its kernels are the set amx, whose packed weights serve that kind
 * too, and no option names them: who names a set wants its bits. */
bool units_have_matrix(const options *o, const tdm_model_info *model);
/* The indices of the considered devices: the first ones that are not software; returns how many. */
int units_gpus(const tdm_gpu_info *gpus, int n, int out[UNITS_GPUS]);

/* Reads the results for the model with this fingerprint; matrix: by units_have_matrix. false: there are none, those of
 * cores of another sort included, or the file is damaged. */
bool units_recall(units_measured *out, uint64_t fingerprint, bool matrix);
tdm_status units_keep(const units_measured *m, uint64_t fingerprint, tdm_error *err);

/* The best values for --prefill-unit and --decode-unit ("gpu:N"; "": the cores), and for --prefill-kind (NULL: native).
 * false: there are no results, cores as they are without any choice are best, or the GPU is gone. */
enum { UNITS_NAME = 16 };
#define UNITS_BF16 "amx-bf16"
typedef struct {
    char unit[TDM_UNITS][UNITS_NAME];
    const char *prefill_kind;
} units_choice;
bool units_choose(uint64_t fingerprint, bool matrix, units_choice *out);

/* Measures a pair; unit: as --prefill-unit and --decode-unit name them, NULL: cores. TDM_E_CANCELLED: the caller
 * cancelled it.
 */
typedef tdm_status units_probe(void *ctx, units_pair pair, const char *const unit[TDM_UNITS], units_row *out,
                               tdm_error *err);

#endif
