/* The machine: its cores, the two units made of them, their activity and their limits.
 *
 * A tdm_machine has one pinned worker thread for each allowed core, and two units. Unit 0 prefills, unit 1 decodes. A
 * unit may be a GPU instead. Then its driver is a thread that waits for the GPU, and the cores stand by in case the GPU
 * is lost. A model is copied to a unit's GPU when a chat or a sequence is opened, or before that (tdm_preload).
 *
 * Threads: these functions may be called from any thread but a unit's own, which run its jobs.
 */
#ifndef TDM_MACHINE_H
#define TDM_MACHINE_H

#include "model.h"

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

typedef struct tdm_machine tdm_machine;

enum { TDM_PREFILL_UNIT = 0, TDM_DECODE_UNIT = 1, TDM_UNITS = 2 };

typedef struct {
    int threads;              /* cores used in all; 0: every allowed one */
    const char *prefill_unit; /* "cpu:2-3", or "gpu", "gpu:1"; NULL: by topology, all cores if the other is a GPU */
    const char *decode_unit;  /* the same; both may be one GPU */
    const char *prefill_kind; /* of a unit on cores: "native"; "blas", for which OpenBLAS is loaded; "amx-bf16", which
                                 multiplies in bfloat16 on the matrix unit; NULL: native */
    const char *decode_kind;
    bool no_lending;          /* a unit with nothing to do keeps its cores */
    /* The directory in which results of self-tests of GPU drivers are kept. If a unit's GPU fails its test, the unit
     * has cores instead (tdm_unit_info.refused). NULL: drivers are not tested. */
    const char *cache_folder;
    tdm_progress progress; /* of such a test, which takes some seconds for a new driver; may be NULL */
    void *progress_ctx;
} tdm_machine_options;

TDM_API tdm_status tdm_machine_open_sized(tdm_machine **out, const tdm_machine_options *options, size_t size,
                                          tdm_error *err);
static inline tdm_status tdm_machine_open(tdm_machine **out, const tdm_machine_options *options, tdm_error *err)
{
    return tdm_machine_open_sized(out, options, sizeof *options, err);
}
TDM_API void tdm_machine_close(tdm_machine *m);
TDM_API void tdm_machine_set_lending(tdm_machine *m, bool on);
TDM_API int tdm_machine_cores(const tdm_machine *m);
/* The kind that a unit has as long as the machine is open, also while a server does its work: native, blas, amx-bf16,
 * gpu. */
TDM_API const char *tdm_machine_kind(const tdm_machine *m, int unit);

/* ---- Activity of the units --------------------------------------------------------------------------------------- */

typedef enum {
    TDM_SPAN_HISTORY,    /* prefill of past turns and of the reply that is being decoded */
    TDM_SPAN_DRAFT,      /* prefill of the draft */
    TDM_SPAN_SUFFIX,     /* prefill of the end of the message with the generation suffix */
    TDM_SPAN_PROMPT,     /* prefill after Enter, in pipelines that do not read ahead */
    TDM_SPAN_DECODE,     /* one token of a reply */
    TDM_SPAN_HANDOVER,   /* a state moves to the decode unit, and its first token is sampled */
    TDM_SPAN_CHECKPOINT, /* a state is stored as a checkpoint */
    TDM_SPAN_RESTORE,    /* a checkpoint is restored */
    TDM_SPAN_PICTURE,      /* a picture, or a part of one, is encoded */
    TDM_SPAN_LENT,       /* the unit's cores work for the other unit */
    TDM_SPAN_CARRY,      /* a part of a state is copied to the decode unit's memory */
    TDM_SPAN_KINDS
} tdm_span_kind;

typedef struct {
    int64_t start_ns, end_ns; /* end 0: still running */
    tdm_span_kind kind;
    uint32_t tokens;
    uint64_t bytes;           /* weights, keys and values and states moved */
    uint32_t first, ids_hash; /* its tokens: position of the first, and a hash of their ids (0: unknown) */
} tdm_span;

typedef struct {
    const char *name;         /* "cpu:1", "gpu:0"; "server" while the chat that is served runs on one */
    const char *kind;         /* native, blas, amx-bf16, gpu, server */
    int cores;                /* cores that it computes with */
    char server[128];         /* the server's host; else "" */
    char device[128];         /* name of the GPU; "": none, and the following members are 0 */
    char device_driver[128];  /* its driver, with the version */
    char device_pci[16];      /* its PCI address, "0000:41:00.0"; "": unknown */
    uint64_t device_memory;   /* bytes in all */
    uint64_t device_used;     /* bytes that this program has allocated there */
    bool shares_device;       /* both units are on this GPU */
    bool device_software;     /* a software driver, which computes on the cores (lavapipe) */
    bool device_lost;         /* the GPU was lost; the cores have taken over */
    char refused[256];        /* why the GPU that the options name is not used: one line; else "" */
    struct { uint64_t spans, tokens, ns, bytes; } total[TDM_SPAN_KINDS]; /* since the machine was opened */
} tdm_unit_info;

TDM_API void tdm_unit_describe(const tdm_machine *m, int unit, tdm_unit_info *out);
/* Copies the spans that end after since_ns, oldest first, at most `room` (the newest are kept); returns how many. */
TDM_API size_t tdm_unit_spans(const tdm_machine *m, int unit, int64_t since_ns, tdm_span *out, size_t room);

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* Measured upper limits of some cores, to compare actual speeds with. 0: not measured. */
typedef struct {
    double operations[TDM_ARITHMETICS]; /* per second, from registers; a multiply-add counts as two */
    double bytes;                       /* read from memory, per second */
} tdm_ceiling;

typedef struct {
    tdm_ceiling unit[TDM_UNITS]; /* of a unit's own cores, with the other unit idle; not measured if it is a GPU */
    tdm_ceiling all;             /* of the cores of both units together; not measured if both are GPUs */
} tdm_ceilings;

/* Measures the limits with a kernel set (NULL: the best for this CPU); takes about 2 s and 256 MiB. It first waits for
 * the running dispatch and token, and holds back all other work of the units until it returns. One thread at a time.
 * progress (may be NULL) is called after each step of some hundredths of a second, on another thread. */
TDM_API tdm_status tdm_machine_measure(tdm_machine *m, const char *kernels, tdm_progress progress, void *progress_ctx,
                                       tdm_ceilings *out, tdm_error *err);
/* Of these limits how fast the cores of both units read memory, with the best kernel set, in bytes per second (0: both
 * are GPUs): takes some tenths of a second, as tdm_machine_measure. */
TDM_API tdm_status tdm_machine_measure_reading(tdm_machine *m, double *bytes_per_s, tdm_error *err);

#endif
