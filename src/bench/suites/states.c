/* `tandem bench handover`: what it costs to bring a state to the other unit, by its length: directly, copied from where
 * it lies to where it goes, beside a memcpy of as many bytes by the same cores, and beside the link alone; by bytes
 * (saved, read, restored, as between programs that share nothing); and in memory, where nothing is copied. And on every
 * pair of units where there is a GPU. The values are made up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/tandem/measure.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"

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

enum { H_DIRECT, H_RATE, H_SHARE, H_LINK, H_MOVE, H_BYTES, H_SAVE, H_READ, H_RESTORE, H_SIZE };
static const char measures[] =
    "direct:ms|rate:GB/s|of_memcpy:%|of_link:%|in_memory:ms|bytes:ms|save:ms|read:ms|restore:ms|state:MB";

/* Copies the state directly; `from` stays as it is. */
static tdm_status directly(bench_table *t, int row, tdm_sequence *from, tdm_sequence *to, tdm_error *err)
{
    size_t bytes = 0;
    double copy, out = 0, in = 0;
    tdm_sequence_clear(to);
    int64_t start = clock_ns();
    tdm_status status = tdm_sequence_cross(to, from, &bytes, err);
    double ms = ms_since(start);
    if (!status) status = tdm_sequence_copy_ms(from, bytes, &copy, err);
    if (!status) status = tdm_sequence_link_ms(from, bytes, false, &out, err);
    if (!status) status = tdm_sequence_link_ms(to, bytes, true, &in, err);
    if (status) return status;
    bench_table_add(t, row, H_DIRECT, ms);
    bench_table_add(t, row, H_RATE, 1e-6 * (double)bytes / ms);
    bench_table_add(t, row, H_SHARE, 100 * copy / ms);
    if (out > 0 || in > 0) bench_table_add(t, row, H_LINK, 100 * (out > in ? out : in) / ms);
    return TDM_OK;
}

/* Brings a state from one unit to the other, in every way. moves: in memory, too. Row -1: the figures aren't kept. */
static tdm_status one(bench_table *t, int row, tdm_sequence *from, tdm_sequence *to, bool moves, size_t length,
                      tdm_error *err)
{
    void *bytes = NULL;
    size_t n = 0;
    double save = 0, read = 0, restore = 0, move = 0;
    int fd = memfd_create("tandem-bench", MFD_CLOEXEC);
    if (fd < 0) return error_errno(err, TDM_E_IO, "bench: no file in memory");
    tdm_status status = directly(t, row, from, to, err);
    tdm_sequence_clear(to);
    int64_t start = clock_ns();
    if (!status) status = tdm_sequence_save(from, &bytes, &n, err);
    if (!status) status = through(fd, bytes, n, true, err);
    save = ms_since(start);
    start = clock_ns();
    if (!status) status = through(fd, bytes, n, false, err);
    read = ms_since(start);
    start = clock_ns();
    if (!status) status = tdm_sequence_load(to, bytes, n, err);
    restore = ms_since(start);
    free(bytes);
    close(fd);
    if (!status && moves) tdm_sequence_clear(to);
    start = clock_ns();
    if (!status && moves) status = tdm_sequence_handover(to, from, err);
    move = ms_since(start);
    if (!status && tdm_sequence_length(to) != length)
        status = error_set(err, TDM_E_IO, "bench: %zu tokens arrived instead of %zu", tdm_sequence_length(to), length);
    if (status) return status;
    if (moves) bench_table_add(t, row, H_MOVE, move);
    bench_table_add(t, row, H_BYTES, save + read + restore);
    bench_table_add(t, row, H_SAVE, save);
    bench_table_add(t, row, H_READ, read);
    bench_table_add(t, row, H_RESTORE, restore);
    bench_table_add(t, row, H_SIZE, 1e-6 * (double)n);
    return TDM_OK;
}

struct handover {
    bench_table *t;
    tdm_machine *machine;
    tdm_sequence *from, *to; /* with room for `length` tokens */
    int length;
    bool moves; /* both units are of one kind: a state can go in memory, too */
};

static const int lengths[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void close_sessions(struct handover *x)
{
    tdm_sequence_close(x->from);
    tdm_sequence_close(x->to);
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
    tdm_sequence_clear(x->from);
    if (!status) status = tdm_sequence_fill(x->from, (size_t)length, 1, err);
    int row = keep ? bench_table_row(x->t, "%d", length) : -1;
    return status ? status : one(x->t, row, x->from, x->to, x->moves, (size_t)length, err);
}

static tdm_status measure(bench *b, void *ctx, int row, int round, tdm_error *err)
{
    (void)round;
    bench_step(b, "%d tokens", lengths[row]);
    return run_once(b, ctx, lengths[row], true, err);
}

/* ---- Pairs of units ---------------------------------------------------------------------------------------------- */

enum { PAIR_LENGTHS = 3 };
static const int pair_lengths[PAIR_LENGTHS] = {64, 512, 2048};
static const char *const pair_rows[] = {"64", "512", "2048", NULL};

struct pair_handover {
    bench_table *t;
    const bench_pairs *pairs;
};

/* Between units of different kinds no state can be handed over in memory. */
static tdm_status measure_pair(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct pair_handover *x = ctx;
    const bench_pair *pair = &x->pairs->pair[number / PAIR_LENGTHS];
    int length = pair_lengths[number % PAIR_LENGTHS];
    tdm_sequence *from = pair->session[TDM_PREFILL_UNIT], *to = pair->session[TDM_DECODE_UNIT];
    bool moves = bench_pair_shares(pair);
    tdm_status status = TDM_OK;
    bench_step(b, "%s, %d tokens", pair->name, length);
    for (int warm = round == 0; warm >= 0 && !status; warm--) { /* memory is touched in a first one */
        tdm_sequence_clear(from);
        status = tdm_sequence_fill(from, (size_t)length, 1, err);
        int row = warm ? -1 : bench_table_row(x->t, "%s|%d", pair->name, length);
        if (!status) status = one(x->t, row, from, to, moves, (size_t)length, err);
    }
    tdm_sequence_clear(from);
    tdm_sequence_clear(to);
    return status;
}

static tdm_status handover_of_pairs(bench *b, tdm_error *err)
{
    struct pair_handover x = {0};
    if (!bench_pairs_wanted(b, pair_rows)) return TDM_OK;
    x.t = bench_new_table(b, "pairs", "bringing a state from PREFILL to DECODE, each of a kind of its own",
                          "units|tokens", measures, err);
    if (!x.t) return err->code;
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    tdm_status status = bench_pairs_open(b, x.t, pair_rows, &x.pairs, err);
    if (!status) bench_plan_add_pairs(b, &plan, pair_rows, pair_lengths);
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
    x.t = bench_new_table(b, "", "bringing a state to the other unit: directly, in memory, and by bytes", "tokens",
                          measures, err);
    if (!x.t) return err->code;
    bench_plan plan;
    bench_plan_open(&plan, x.t);
    tdm_status status = bench_machine(b, &x.machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    if (!status) x.moves = same_kind(x.machine);
    for (int i = 0; i < LENGTHS; i++)
        if (bench_fits(b, x.t, lengths[i], 0)) bench_plan_add(b, &plan, "%d", lengths[i]);
    x.t->unwanted = !bench_plan_wanted(&plan);
    if (!status && !x.t->unwanted) status = bench_plan_run(b, &plan, measure, &x, err);
    bench_plan_close(&plan);
    close_sessions(&x);
    tdm_machine_close(x.machine);
    if (b->host.gpu[0]) bench_part(b, 1);
    return status ? status : handover_of_pairs(b, err);
}
