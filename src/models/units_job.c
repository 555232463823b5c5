#include "src/models/units_job.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/figures/figures.h"
#include "src/files/files.h"

enum { MAX_GPUS = 16, REPLY = 24, CONTEXT = 1024, LOOK_MS = 20, READ_MS = 20000 };

static const char *const messages[] = {
    "I have a table with four legs, and one of them is shorter than the others. What can I put under it, so that "
    "it stands well and nobody sees how it was done?",
    "And if the floor is not even either: how do I find out which of the two is to blame, with nothing but a glass of "
    "water and a sheet of paper?",
};

/* ---- Power ------------------------------------------------------------------------------------------------------- */

/* The mean over some time, read as often as it is worth while. */
struct drawn {
    double sum;
    int n;
    int64_t at_ns;
};

static void look_at_power(units_job *j, struct drawn *d)
{
    enum { EACH_NS = 50000000 };
    int64_t now = clock_ns();
    bool processor = false;
    if (!j->watts || now - d->at_ns < EACH_NS) return;
    double watts = j->watts(j->watts_ctx, &processor);
    d->at_ns = now;
    if (watts < 0) return;
    d->sum += watts;
    d->n++;
    j->value.processor = processor;
}

static double mean(const struct drawn *d)
{
    return d->n ? d->sum / d->n : 0;
}

/* ---- Two turns with a pair --------------------------------------------------------------------------------------- */

static tdm_status wait_idle(units_job *j, tdm_chat *c, struct drawn *reading, tdm_error *err)
{
    for (int waited = 0; !tdm_chat_wait_idle(c, LOOK_MS); waited += LOOK_MS) {
        look_at_power(j, reading);
        if (task_cancelled(&j->task)) return error_set(err, TDM_E_CANCELLED, "given up");
        if (waited > READ_MS) return error_set(err, TDM_E_IO, "the message was not read in time");
    }
    return TDM_OK;
}

/* One turn whose message is read before Enter; its watts are added to the row. */
static tdm_status turn(units_job *j, tdm_chat *c, const char *text, tdm_turn_stats *out, units_row *row, tdm_error *err)
{
    struct drawn reading = {0}, writing = {0};
    tdm_event e;
    size_t n = strlen(text);
    tdm_status status = tdm_chat_set_draft(c, text, n, false, err);
    if (!status) status = wait_idle(j, c, &reading, err);
    if (!status) status = tdm_chat_send(c, text, n, clock_ns(), err);
    while (!status) {
        struct pollfd fd = {tdm_chat_fd(c), POLLIN, 0};
        if (task_cancelled(&j->task)) status = error_set(err, TDM_E_CANCELLED, "given up");
        poll(&fd, 1, LOOK_MS);
        look_at_power(j, &writing);
        while (!status && tdm_chat_next_event(c, &e)) {
            if (e.kind == TDM_EV_NOTICE || e.kind == TDM_EV_ERROR)
                status = error_set(err, TDM_E_IO, "%.*s", (int)e.length, e.text);
            if (e.kind != TDM_EV_END) continue;
            *out = e.stats;
            row->read_watts = mean(&reading);
            row->write_watts = mean(&writing);
            return TDM_OK;
        }
    }
    return status;
}

static tdm_status play(void *ctx, units_pair pair, const char *const named[TDM_UNITS], units_row *out, tdm_error *err)
{
    units_job *j = ctx;
    char *folder = files_path(FILES_CACHE, "gpu");
    tdm_machine_options m = {
        .cache_folder = folder, .prefill_unit = named[TDM_PREFILL_UNIT], .decode_unit = named[TDM_DECODE_UNIT]};
    (void)pair;
    tdm_machine *machine = NULL;
    tdm_chat *chat = NULL;
    tdm_chat_options o;
    tdm_unit_info unit[TDM_UNITS];
    tdm_turn_stats stats;
    units_row row = {0};
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
        status = turn(j, chat, messages[i], &stats, &row, err); /* the last one counts: the first warms up */
    double ttft_ms = status ? 0 : figures_ttft_ms(&stats, 0);
    if (!status) *out = (units_row){ttft_ms > 0, ttft_ms, stats.decode_tps, row.read_watts, row.write_watts};
    tdm_chat_close(chat);
    tdm_machine_close(machine);
    free(folder);
    return status;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* All pairs; one that can't be measured (its GPU has too little memory, or fails its self-test) is left out. */
static tdm_status measure(units_job *j, const int considered[UNITS_GPUS], int n, tdm_error *err)
{
    char names[UNITS_GPUS][UNITS_NAME];
    for (int i = 0; i < n; i++) snprintf(names[i], sizeof names[i], "gpu:%d", considered[i]);
    for (int i = 0; i < UNITS_PAIRS; i++) {
        const char *unit[TDM_UNITS] = {NULL};
        bool there = true;
        for (int u = 0; u < TDM_UNITS; u++) {
            int place = units_gpu_of((units_pair)i, u);
            there = there && place < n;
            if (place >= 0 && place < n) unit[u] = names[place];
        }
        if (!there) continue;
        tdm_status status = j->probe(j->probe == play ? j : NULL, (units_pair)i, unit, &j->value.row[i], err);
        if (task_cancelled(&j->task) || status == TDM_E_CANCELLED) return error_set(err, TDM_E_CANCELLED, "given up");
    }
    j->measured = true;
    return units_keep(&j->value, j->fingerprint, err);
}

static void run(void *ctx)
{
    units_job *j = ctx;
    tdm_gpu_info found[MAX_GPUS];
    const tdm_gpu_info *gpus = j->gpus ? j->gpus : found;
    int n = j->gpus ? j->n_gpus : tdm_gpu_list(found, MAX_GPUS);
    int considered[UNITS_GPUS], usable = units_gpus(gpus, n < MAX_GPUS ? n : MAX_GPUS, considered);
    units_measured kept;
    j->status = TDM_OK;
    j->value = (units_measured){0};
    bool known = units_recall(&kept, j->fingerprint);
    for (int i = 0; i < UNITS_GPUS; i++) {
        if (i < usable) j->value.gpu[i].identity = gpus[considered[i]].identity;
        if (i < usable) memcpy(j->value.gpu[i].name, gpus[considered[i]].name, sizeof j->value.gpu[i].name);
        known = known && kept.gpu[i].identity == j->value.gpu[i].identity;
    }
    if (usable && !known) j->status = measure(j, considered, usable, &j->err);
}

void units_job_begin(units_job *j, const tdm_model *model, int wake)
{
    tdm_model_info info;
    if (j->task.running) return;
    tdm_model_describe(model, &info);
    if (j->done_with == info.fingerprint) return;
    j->model = model;
    j->fingerprint = info.fingerprint;
    j->measured = false;
    if (!j->probe) j->probe = play;
    if (!task_begin(&j->task, run, j, wake)) j->done_with = j->fingerprint;
}

bool units_job_take(units_job *j, char *line, size_t room)
{
    if (!task_take(&j->task)) return false;
    if (j->status != TDM_E_CANCELLED) j->done_with = j->fingerprint;
    *line = 0;
    if (j->measured) units_tell(&j->value, line, room);
    return true;
}
