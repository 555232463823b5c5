/* `tandem bench handover`: what it costs to bring a state to the other unit, through the bridge (saved, read, restored,
 * as between units that share nothing) and in memory, by its length; and on every pair of units where there is a GPU.
 * The values are made up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench/bench.h"
#include "src/bench/bench_plan.h"

static double ms_since(int64_t start)
{
    return 1e-6 * (double)(clock_ns() - start);
}

/* Writes n bytes to a file in memory, or reads them. */
static tdm_status through(int fd, char *bytes, size_t n, bool write, tdm_error *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t done = write ? pwrite(fd, bytes + at, n - at, (off_t)at) : pread(fd, bytes + at, n - at, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return error_errno(err, TDM_E_IO, "bench: a file in memory of %zu bytes", n);
        at += (size_t)done;
    }
    return TDM_OK;
}

enum { H_BRIDGE, H_MOVE, H_SAVE, H_READ, H_RESTORE, H_SIZE };

/* moves: it can go in memory, too. Row -1: the figures aren't kept. */
static tdm_status one(bench_table *t, int row, tdm_session *from, tdm_session *to, bool moves, size_t length,
                      tdm_error *err)
{
    void *bytes = NULL;
    size_t n = 0;
    double save = 0, read = 0, restore = 0, move = 0;
    int fd = memfd_create("tandem-bench", MFD_CLOEXEC);
    if (fd < 0) return error_errno(err, TDM_E_IO, "bench: no file in memory");
    tdm_session_clear(to);
    int64_t start = clock_ns();
    tdm_status status = tdm_session_save(from, &bytes, &n, err);
    if (!status) status = through(fd, bytes, n, true, err);
    save = ms_since(start);
    start = clock_ns();
    if (!status) status = through(fd, bytes, n, false, err);
    read = ms_since(start);
    start = clock_ns();
    if (!status) status = tdm_session_load(to, bytes, n, err);
    restore = ms_since(start);
    free(bytes);
    close(fd);
    if (!status && moves) tdm_session_clear(to);
    start = clock_ns();
    if (!status && moves) status = tdm_session_handover(to, from, err);
    move = ms_since(start);
    if (!status && tdm_session_length(to) != length)
        status = error_set(err, TDM_E_IO, "bench: %zu tokens arrived instead of %zu", tdm_session_length(to), length);
    if (status) return status;
    if (moves) bench_table_add(t, row, H_MOVE, move);
    bench_table_add(t, row, H_BRIDGE, save + read + restore);
    bench_table_add(t, row, H_SAVE, save);
    bench_table_add(t, row, H_READ, read);
    bench_table_add(t, row, H_RESTORE, restore);
    bench_table_add(t, row, H_SIZE, 1e-6 * (double)n);
    return TDM_OK;
}

struct handover {
    bench_table *t;
    tdm_machine *machine;
    tdm_session *from, *to; /* with room for `length` tokens */
    int length;
    bool moves; /* both units are of one kind: a state can go in memory, too */
};

static const int lengths[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void close_sessions(struct handover *x)
{
    tdm_session_close(x->from);
    tdm_session_close(x->to);
    x->from = x->to = NULL;
    x->length = 0;
}

/* A hand-over may take the state away, so each run fills it anew. The sessions' memory is touched in a first one. */
static tdm_status run_once(bench *b, struct handover *x, int length, bool keep, tdm_error *err)
{
    tdm_status status = TDM_OK;
    if (x->length != length) {
        close_sessions(x);
        status = bench_session(b, &x->from, x->machine, TDM_PREFILL_UNIT, length, 0, err);
        if (!status) status = bench_session(b, &x->to, x->machine, TDM_DECODE_UNIT, length, 0, err);
        x->length = length;
        if (!status && keep) status = run_once(b, x, length, false, err);
    }
    tdm_session_clear(x->from);
    if (!status) status = tdm_session_fill(x->from, (size_t)length, 1, err);
    int row = keep ? bench_table_row(x->t, "%d", length) : -1;
    return status ? status : one(x->t, row, x->from, x->to, x->moves, (size_t)length, err);
}

static tdm_status measure(bench *b, void *ctx, int row, int round, tdm_error *err)
{
    (void)round;
    bench_step(b, "%d tokens", lengths[row]);
    return run_once(b, ctx, lengths[row], true, err);
}

/* What the run of a length takes lies on a line through those of two short ones. */
static tdm_status plan_lengths(bench *b, struct handover *x, bench_plan *plan, tdm_error *err)
{
    enum { SHORT = 64, LONGER = 512 };
    double seconds[2] = {0};
    for (int i = 0; i < 2; i++) {
        tdm_status status = run_once(b, x, i ? LONGER : SHORT, false, err);
        int64_t start = clock_ns();
        if (!status) status = run_once(b, x, i ? LONGER : SHORT, false, err);
        if (status) return status;
        seconds[i] = 1e-9 * (double)(clock_ns() - start);
    }
    double token = (seconds[1] - seconds[0]) / (LONGER - SHORT);
    for (int i = 0; i < LENGTHS; i++) {
        if (!bench_fits(b, x->t, lengths[i], 0)) continue; /* all that follow are longer still */
        double run = seconds[0] + (token > 0 ? token : 0) * (lengths[i] - SHORT);
        bench_plan_add(b, plan, i, 0, 2 * run, "%d", lengths[i]); /* in turn with other lengths: each opens anew */
    }
    return TDM_OK;
}

/* ---- Pairs of units ---------------------------------------------------------------------------------------------- */

enum { PAIR_LENGTHS = 3 };
static const int pair_lengths[PAIR_LENGTHS] = {64, 512, 2048};
static const char *const pair_rows[] = {"64", "512", "2048", NULL};

struct pair_handover {
    bench_table *t;
    const bench_pairs *pairs;
};

/* Between kinds there is only the bridge. */
static tdm_status measure_pair(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct pair_handover *x = ctx;
    const bench_pair *pair = &x->pairs->pair[number / PAIR_LENGTHS];
    int length = pair_lengths[number % PAIR_LENGTHS];
    tdm_session *from = pair->session[TDM_PREFILL_UNIT], *to = pair->session[TDM_DECODE_UNIT];
    bool moves = pair->gpu[0] == pair->gpu[1];
    tdm_status status = TDM_OK;
    bench_step(b, "%s, %d tokens", pair->name, length);
    for (int warm = round == 0; warm >= 0 && !status; warm--) { /* memory is touched in a first one */
        tdm_session_clear(from);
        status = tdm_session_fill(from, (size_t)length, 1, err);
        int row = warm ? -1 : bench_table_row(x->t, "%s|%d", pair->name, length);
        if (!status) status = one(x->t, row, from, to, moves, (size_t)length, err);
    }
    tdm_session_clear(from);
    tdm_session_clear(to);
    return status;
}

static tdm_status handover_of_pairs(bench *b, tdm_error *err)
{
    struct pair_handover x = {0};
    if (!bench_pairs_wanted(b, pair_rows)) return TDM_OK;
    x.t = bench_new_table(b, "pairs", "bringing a state from PREFILL to DECODE, each of a kind of its own",
                          "units|tokens", "bridge:ms|in_memory:ms|save:ms|read:ms|restore:ms|state:MB", err);
    if (!x.t) return err->code;
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    tdm_status status = bench_pairs_open(b, x.t, pair_rows, &x.pairs, err);
    for (int row = 0; !status && row < BENCH_PAIRS * PAIR_LENGTHS; row++) {
        const bench_pair *pair = &x.pairs->pair[row / PAIR_LENGTHS];
        int i = row % PAIR_LENGTHS, length = pair_lengths[i];
        if (!pair->machine || length > x.pairs->context) bench_plan_skip(&plan);
        else bench_plan_add(b, &plan, i, 0, 0.02 + 2e-4 * length, "%s|%s", pair->name, pair_rows[i]);
    }
    if (!status) status = bench_plan_run(b, &plan, measure_pair, &x, err);
    bench_plan_close(&plan);
    return status;
}

static bool same_kind(const tdm_machine *m)
{
    tdm_unit_info unit[TDM_UNITS];
    for (int u = 0; u < TDM_UNITS; u++) tdm_unit_describe(m, u, &unit[u]);
    return !strcmp(unit[0].device, unit[1].device) && (!unit[0].device[0] || unit[0].shares_device);
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

tdm_status bench_handover(bench *b, tdm_error *err)
{
    struct handover x = {0};
    if (b->host.gpu[0]) bench_part(b, 0.5);
    x.t = bench_new_table(b, "", "bringing a state to the other unit: in memory, and through the bridge", "tokens",
                          "bridge:ms|in_memory:ms|save:ms|read:ms|restore:ms|state:MB", err);
    if (!x.t) return err->code;
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    tdm_status status = bench_machine(b, &x.machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    bool wanted = false;
    for (int i = 0; i < LENGTHS; i++) wanted |= bench_wanted(b, " %d", lengths[i]);
    if (!status) x.moves = same_kind(x.machine);
    if (!status && wanted) status = plan_lengths(b, &x, &plan, err);
    x.t->unwanted = bench_plan_seconds(&plan, false) <= 0;
    if (!status && !x.t->unwanted) status = bench_plan_run(b, &plan, measure, &x, err);
    bench_plan_close(&plan);
    close_sessions(&x);
    tdm_machine_close(x.machine);
    if (b->host.gpu[0]) bench_part(b, 1);
    return status ? status : handover_of_pairs(b, err);
}
