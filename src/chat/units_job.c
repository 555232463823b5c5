#include "src/chat/units_job.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/chat/figures.h"
#include "src/cli/files.h"

enum { MOST_GPUS = 16, REPLY = 24, CONTEXT = 1024, LOOK_MS = 20, READ_MS = 20000 };

static const char *const messages[] = {
    "I have a table with four legs, and one of them is shorter than the others. What can I put under it, so that "
    "it stands well and nobody sees how it was done?",
    "And if the floor is not even either: how do I find out which of the two is to blame, with nothing but a glass of "
    "water and a sheet of paper?",
};

/* ---- Two turns with a pair --------------------------------------------------------------------------------------- */

static tdm_status wait_idle(units_job *j, tdm_chat *c, tdm_error *err)
{
    for (int waited = 0; !tdm_chat_wait_idle(c, LOOK_MS); waited += LOOK_MS) {
        if (job_cancelled(&j->job)) return error_set(err, TDM_E_CANCELLED, "given up");
        if (waited > READ_MS) return error_set(err, TDM_E_IO, "the message was not read in time");
    }
    return TDM_OK;
}

/* One turn whose message is read before Enter. */
static tdm_status turn(units_job *j, tdm_chat *c, const char *text, tdm_turn_stats *out, tdm_error *err)
{
    tdm_event e;
    size_t n = strlen(text);
    tdm_status status = tdm_chat_set_draft(c, text, n, false, err);
    if (!status) status = wait_idle(j, c, err);
    if (!status) status = tdm_chat_send(c, text, n, clock_ns(), err);
    while (!status) {
        struct pollfd fd = {tdm_chat_fd(c), POLLIN, 0};
        if (job_cancelled(&j->job)) status = error_set(err, TDM_E_CANCELLED, "given up");
        poll(&fd, 1, LOOK_MS);
        while (!status && tdm_chat_next_event(c, &e)) {
            if (e.kind == TDM_EV_NOTICE || e.kind == TDM_EV_ERROR)
                status = error_set(err, TDM_E_IO, "%.*s", (int)e.length, e.text);
            if (e.kind != TDM_EV_END) continue;
            *out = e.stats;
            return TDM_OK;
        }
    }
    return status;
}

static tdm_status play(void *ctx, units_pair pair, const char *gpu, units_row *out, tdm_error *err)
{
    units_job *j = ctx;
    char *folder = files_path(FILES_CACHE, "gpu");
    tdm_machine_options m = {.cache_folder = folder};
    if (pair == UNITS_GPU_CORES || pair == UNITS_GPU_GPU) m.prefill_unit = gpu;
    if (pair == UNITS_CORES_GPU || pair == UNITS_GPU_GPU) m.decode_unit = gpu;
    tdm_machine *machine = NULL;
    tdm_chat *chat = NULL;
    tdm_chat_options o;
    tdm_unit_info unit[TDM_UNITS];
    tdm_turn_stats stats;
    tdm_status status = tdm_machine_open(&machine, &m, err);
    for (int u = 0; u < TDM_UNITS && !status; u++) {
        tdm_unit_describe(machine, u, &unit[u]);
        if (unit[u].refused[0]) status = error_set(err, TDM_E_UNSUPPORTED, "%s", unit[u].refused);
    }
    tdm_chat_defaults(&o, j->model);
    o.context = CONTEXT;
    o.max_tokens = REPLY;
    o.ignore_eos = true;
    o.mtp = TDM_MTP_OFF;
    o.speculation = TDM_SPEC_FULL;
    if (!status) status = tdm_chat_open(&chat, j->model, machine, &o, err);
    for (size_t i = 0; i < sizeof messages / sizeof *messages && !status; i++)
        status = turn(j, chat, messages[i], &stats, err); /* the last one counts: the first warms up */
    double ttft_ms = status ? 0 : figures_ttft_ms(&stats, 0);
    if (!status) *out = (units_row){ttft_ms > 0, ttft_ms, stats.decode_tps};
    tdm_chat_close(chat);
    tdm_machine_close(machine);
    free(folder);
    return status;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* All pairs; one that can't be measured (its GPU has too little memory, or fails its self-test) is left out. */
static tdm_status measure(units_job *j, const tdm_gpu_info *gpu, const char *name, tdm_error *err)
{
    j->value = (units_measured){.identity = gpu->identity};
    memcpy(j->value.gpu, gpu->name, sizeof j->value.gpu);
    for (int i = 0; i < UNITS_PAIRS; i++) {
        tdm_status status = j->probe(j->probe == play ? j : NULL, (units_pair)i, name, &j->value.row[i], err);
        if (job_cancelled(&j->job) || status == TDM_E_CANCELLED) return error_set(err, TDM_E_CANCELLED, "given up");
    }
    j->measured = true;
    return units_keep(&j->value, j->fingerprint, err);
}

static void run(void *ctx)
{
    units_job *j = ctx;
    tdm_gpu_info found[MOST_GPUS];
    const tdm_gpu_info *gpus = j->gpus ? j->gpus : found;
    int n = j->gpus ? j->n_gpus : tdm_gpu_list(found, MOST_GPUS);
    const tdm_gpu_info *gpu = units_gpu(gpus, n < MOST_GPUS ? n : MOST_GPUS);
    units_measured kept;
    char name[16];
    j->status = TDM_OK;
    bool known = units_recall(&kept, j->fingerprint) && gpu && kept.identity == gpu->identity;
    if (!gpu || known) return;
    snprintf(name, sizeof name, "gpu:%d", (int)(gpu - gpus));
    j->status = measure(j, gpu, name, &j->err);
}

void units_job_begin(units_job *j, const tdm_model *model, int wake)
{
    tdm_model_info info;
    if (j->job.running) return;
    tdm_model_describe(model, &info);
    if (j->done_with == info.fingerprint) return;
    j->model = model;
    j->fingerprint = info.fingerprint;
    j->measured = false;
    if (!j->probe) j->probe = play;
    if (!job_begin(&j->job, run, j, wake)) j->done_with = j->fingerprint;
}

bool units_job_take(units_job *j, char *line, size_t room)
{
    if (!job_take(&j->job)) return false;
    if (j->status != TDM_E_CANCELLED) j->done_with = j->fingerprint;
    *line = 0;
    if (j->measured) units_tell(&j->value, line, room);
    return true;
}
