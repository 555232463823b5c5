/* tdm_machine_measure: the ceilings of a machine's units, by jobs on the units themselves, so that the cores, their
 * workers and the lending are those that the speeds come from. */
#include "engine/base/error.h"
#include "engine/kernel/ceiling.h"
#include "engine/object/machine.h"
#include "engine/os/pages.h"

_Static_assert((int)TDM_F32 == PANEL_F32 && (int)TDM_BF16 == PANEL_BF16 && (int)TDM_INT8 == PANEL_INT8 &&
                   (int)TDM_ARITHMETICS == PANEL_KINDS,
               "the public names of the arithmetics stand in the order of the panels");

enum { READ_BYTES = 256 << 20, READS = 4, PEAKS = 3, STEPS = (TDM_UNITS + 1) * (READS + PEAKS * PANEL_KINDS) };

struct measurement {
    const struct kernels *kernels;
    const void *memory;
    tdm_ceiling *out;
    bool reads; /* only how fast memory is read */
    tdm_progress progress;
    void *progress_ctx;
    uint64_t steps; /* that are done */
    bool cancelled;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static bool goes_on(struct measurement *w)
{
    if (w->progress && w->progress(w->progress_ctx, TDM_STEP_LIMITS, w->steps, STEPS)) w->cancelled = true;
    w->steps++;
    return !w->cancelled;
}

static void job_measure(void *ctx, struct team *team, struct activity_span *span)
{
    struct measurement *w = ctx;
    (void)span;
    /* A ceiling is the best of several measurements, since disturbances only slow them. */
    for (int i = 0; !w->reads && i < PEAKS * PANEL_KINDS && goes_on(w); i++) {
        double *best = &w->out->operations[i % PANEL_KINDS];
        *best = larger(*best, ceiling_peak(team, w->kernels, (enum panel_kind)(i % PANEL_KINDS)));
    }
    for (int i = 0; i < READS && goes_on(w); i++)
        w->out->bytes = larger(w->out->bytes, ceiling_read(team, w->kernels, w->memory, READ_BYTES));
}

/* Of the places from the first one on: each unit, then the cores of both. */
static tdm_status measure(tdm_machine *m, struct measurement *w, const char *kernels, int first, tdm_ceilings *out,
                          tdm_error *err)
{
    tdm_status status = kernels_find(&w->kernels, kernels, err);
    if (status) return status;
    void *memory = ceiling_memory(READ_BYTES);
    if (!memory)
        return error_set(err, TDM_E_NOMEM, "no memory (%d MiB) to measure how fast it is read", READ_BYTES >> 20);
    bool lending = machine_lending(m->machine);
    *out = (tdm_ceilings){0};
    w->memory = memory;
    for (int u = 0; u < TDM_UNITS; u++) unit_quiesce(m->units[u]);
    for (int u = first; u <= TDM_UNITS && !w->cancelled; u++) {
        bool all = u == TDM_UNITS;
        struct unit *on = m->units[!all ? u : m->device[TDM_DECODE_UNIT] ? TDM_PREFILL_UNIT : TDM_DECODE_UNIT];
        if (unit_kind(on) == UNIT_GPU) continue; /* its jobs have one thread, which waits */
        w->out = all ? &out->all : &out->unit[u];
        machine_set_lending(m->machine, all);
        unit_call(on, &(struct work){.fn = job_measure, .ctx = w, .kind = SPAN_NONE});
    }
    machine_set_lending(m->machine, lending);
    for (int u = 0; u < TDM_UNITS; u++) unit_resume(m->units[u]);
    pages_unmap(memory, READ_BYTES);
    return w->cancelled ? error_set(err, TDM_E_CANCELLED, "cancelled") : TDM_OK;
}

TDM_API tdm_status tdm_machine_measure(tdm_machine *m, const char *kernels, tdm_progress progress, void *progress_ctx,
                                       tdm_ceilings *out, tdm_error *err)
{
    return measure(m, &(struct measurement){.progress = progress, .progress_ctx = progress_ctx}, kernels, 0, out, err);
}

TDM_API tdm_status tdm_machine_measure_reading(tdm_machine *m, double *bytes_per_s, tdm_error *err)
{
    tdm_ceilings c = {0};
    tdm_status status = measure(m, &(struct measurement){.reads = true}, NULL, TDM_UNITS, &c, err);
    *bytes_per_s = c.all.bytes;
    return status;
}
