#include "src/models/units_job.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/figures/figures.h"
#include "src/files/files.h"
#include "src/models/load.h"

enum { MAX_GPUS = 16, REPLY = 24, CONTEXT = 1536, LOOK_MS = 20, READ_MS = 20000, SHORT_MS = 5000 };

static const char *const messages[] = {
    "I have a table with four legs, and one of them is shorter than the others. What can I put under it, so that "
    "it stands well and nobody sees how it was done?",
    "And if the floor is not even either: how do I find out which of the two is to blame, with nothing but a glass of "
    "water and a sheet of paper?",
};

/* Drafts that are read and not sent. Of the long ones (the second is the passage without its first sentence) the one
 * that is read fastest counts, and so of the short ones. All differ, since what was read once is kept. */
static const char passage[] =
    "The old mill stands where the brook leaves the wood, and for as long as anyone in the village can remember, its "
    "wheel has not turned. Last spring two sisters bought it, together with the meadow behind it and a barn without a "
    "roof. They wanted to grind grain again, as it was done two hundred years ago, and to bake bread from the flour. "
    "First they had to find out whether there was still enough water. The brook is not wide, and in a dry summer a "
    "child can step across it; but higher up, between the rocks, they found the remains of a pond, and a wooden gate "
    "by which it could be closed. A carpenter from the next town looked at the wheel. The oak of the axle was sound, "
    "he said, and so were most of the spokes, while the buckets had to be made anew. The stones were harder to judge. "
    "One of them had a crack, from the rim almost to the eye, and nobody could say whether it would hold. So they "
    "wrote to a man who had worked in mills all his life. He came by train, with a small bag in which there was a "
    "hammer and nothing else, knocked on the stone in a dozen places, listened, and shook his head. It will hold for "
    "as long as you grind slowly, he told them, and he showed them how the grooves have to be cut so that the flour "
    "stays cool and runs outwards by itself, which takes a steady hand and more patience than either of them had.";
static const char *const short_drafts[] = {
    "Tell me which tools I need to take an old window out of its frame.",
    "Can the same glue be used for a chair that stands in the rain?",
    "How long does a board of oak have to dry before it can be cut?",
    "What would you look at first when a door no longer closes well?",
    "Is it worth while to sharpen a saw that has lost some teeth?",
    "Why do the stairs creak in winter and not in the summer?",
    "Where do I find the beam behind a wall that sounds alike all over?",
    "Name three kinds of wood that can lie on the ground for years.",
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

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

/* reading: NULL: power is not asked for. */
static tdm_status wait_idle(units_job *j, tdm_chat *c, struct drawn *reading, tdm_error *err)
{
    for (int waited = 0; !tdm_chat_wait_idle(c, LOOK_MS); waited += LOOK_MS) {
        if (reading) look_at_power(j, reading);
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

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* A draft is read, in full unless it takes too long; *tps becomes the speed, if that is higher. */
static tdm_status read_draft(units_job *j, tdm_chat *c, const char *text, double *tps, tdm_error *err)
{
    tdm_chat_status before, after;
    tdm_chat_status_of(c, &before);
    int64_t began_ns = clock_ns();
    tdm_status status = tdm_chat_set_draft(c, text, strlen(text), false, err);
    if (!status) status = wait_idle(j, c, NULL, err);
    int64_t ns = clock_ns() - began_ns;
    tdm_chat_status_of(c, &after);
    *tps = fmax(*tps, 1e9 * (after.ahead - before.ahead) / (double)ns);
    return status;
}

/* Short drafts, then long ones. Only giving up is a failure: a unit that is too slow has read a part. */
static tdm_status read_drafts(units_job *j, tdm_chat *c, units_row *row, tdm_error *err)
{
    const char *const long_drafts[] = {passage, strchr(passage, '.') + 2};
    tdm_status status = wait_idle(j, c, NULL, err); /* the last reply is read as history */
    int64_t until_ns = clock_ns() + SHORT_MS * INT64_C(1000000);
    for (size_t i = 0; i < sizeof short_drafts / sizeof *short_drafts && !status && clock_ns() < until_ns; i++)
        status = read_draft(j, c, short_drafts[i], &row->short_tps, err);
    for (size_t i = 0; i < sizeof long_drafts / sizeof *long_drafts && !status; i++)
        status = read_draft(j, c, long_drafts[i], &row->read_tps, err);
    return status == TDM_E_CANCELLED ? status : TDM_OK;
}

/* ---- A pair ------------------------------------------------------------------------------------------------------ */

static int may_go_on(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    const units_job *j = ctx;
    (void)step, (void)done, (void)total;
    return task_cancelled(&j->task);
}

static tdm_status play(void *ctx, units_pair pair, const char *const named[TDM_UNITS], units_row *out, tdm_error *err)
{
    units_job *j = ctx;
    char *folder = files_path(FILES_CACHE, "gpu");
    /* PREFILL's kind isn't named: that is what a machine says of itself, while a model's kernels compute. */
    tdm_machine_options m = {
        .cache_folder = folder, .prefill_unit = named[TDM_PREFILL_UNIT], .decode_unit = named[TDM_DECODE_UNIT]};
    const load_how how = {.progress = may_go_on, .progress_ctx = j};
    tdm_machine *machine = NULL;
    tdm_model *bf16 = NULL;
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
    if (!status && pair == UNITS_BF16_CORES && !j->bf16) status = load_bf16(&bf16, j->o, j->model, &how, err);
    tdm_chat_defaults(&o, j->model);
    o.context = CONTEXT;
    o.max_tokens = REPLY;
    o.ignore_eos = true;
    o.mtp = TDM_MTP_OFF;
    o.speculation = TDM_SPEC_FULL;
    o.pause_ms = TDM_PAUSE_NONE;
    if (pair == UNITS_BF16_CORES) o.prefill_model = j->bf16 ? j->bf16 : bf16;
    if (!status) status = tdm_chat_open(&chat, j->model, machine, &o, err);
    for (size_t i = 0; i < sizeof messages / sizeof *messages && !status; i++)
        status = turn(j, chat, messages[i], &stats, &row, err); /* the last one counts: the first warms up */
    if (!status) status = read_drafts(j, chat, &row, err);
    if (!status) {
        row.ttft_ms = figures_ttft_ms(&stats, 0);
        row.decode_tps = stats.decode_tps;
        row.known = row.ttft_ms > 0;
        *out = row;
    }
    tdm_chat_close(chat);
    tdm_model_close(bf16);
    tdm_machine_close(machine);
    free(folder);
    return status;
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* All pairs; one that can't be measured (its GPU has too little memory, or fails its self-test) is left out. The first
 * is played twice and counts as it was the second time: it touches memory that all others find touched, which cost it
 * a third of its speed. */
static tdm_status measure(units_job *j, const int considered[UNITS_GPUS], int n, tdm_error *err)
{
    char names[UNITS_GPUS][UNITS_NAME];
    for (int i = 0; i < n; i++) snprintf(names[i], sizeof names[i], "gpu:%d", considered[i]);
    for (int turn = -1; turn < UNITS_PAIRS; turn++) {
        const int i = turn < 0 ? 0 : turn;
        const char *unit[TDM_UNITS] = {NULL};
        bool there = true;
        for (int u = 0; u < TDM_UNITS; u++) {
            int place = units_gpu_of((units_pair)i, u);
            there = there && place < n;
            if (place >= 0 && place < n) unit[u] = names[place];
        }
        if (i == UNITS_BF16_CORES) there = j->value.matrix;
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
    tdm_model_info info;
    tdm_model_describe(j->model, &info);
    j->value = (units_measured){.matrix = j->gpus ? j->matrix : units_have_matrix(j->o, &info)};
    bool known = units_recall(&kept, j->fingerprint, j->value.matrix);
    for (int i = 0; i < UNITS_GPUS; i++) {
        if (i < usable) j->value.gpu[i].identity = gpus[considered[i]].identity;
        if (i < usable) memcpy(j->value.gpu[i].name, gpus[considered[i]].name, sizeof j->value.gpu[i].name);
        known = known && kept.gpu[i].identity == j->value.gpu[i].identity;
    }
    if ((usable || j->value.matrix) && !known) j->status = measure(j, considered, usable, &j->err);
}

void units_job_begin(units_job *j, const options *o, const tdm_model *model, int wake)
{
    tdm_model_info info;
    if (j->task.running) return;
    tdm_model_describe(model, &info);
    if (j->done_with == info.fingerprint) return;
    j->o = o;
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
