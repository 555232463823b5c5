#include "src/bench/bench_plan.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/bench/bench_report.h"
#include "src/cli/interrupt.h"
#include "src/cli/output.h"

/* So much longer than its share a part may take once it has begun; what follows has less. */
#define OVERTIME 0.25

/* What a run takes before its first row: ceilings, the cost of this model's work. */
#define SETTING_UP_S 2.0

void bench_plan_open(bench_plan *p, bench_table *t)
{
    *p = (bench_plan){.table = t};
}

void bench_plan_close(bench_plan *p)
{
    free(p->rows);
    *p = (bench_plan){0};
}

static bench_planned *append(bench_plan *p)
{
    bench_planned *larger = realloc(p->rows, sizeof *larger * ((size_t)p->n + 1));
    p->failed |= !larger;
    if (!larger) return NULL;
    p->rows = larger;
    p->rows[p->n] = (bench_planned){0};
    return &p->rows[p->n++];
}

void bench_plan_skip(bench_plan *p)
{
    append(p);
}

void bench_plan_add(bench *b, bench_plan *p, int rank, double once_s, double run_s, const char *name, ...)
{
    bench_planned *row = append(p);
    if (!row) return;
    *row = (bench_planned){.rank = rank, .once_s = once_s, .run_s = run_s + b->rest_s, .most = b->runs};
    va_list args;
    va_start(args, name);
    vsnprintf(row->name, sizeof row->name, name, args);
    va_end(args);
    for (char *bar = strchr(row->name, '|'); bar; bar = strchr(bar, '|')) *bar = ' ';
    row->wanted = bench_wanted(b, "%s %s", p->table->part, row->name);
    b->wanted |= row->wanted;
}

void bench_plan_most(bench_plan *p, int most)
{
    if (p->n) p->rows[p->n - 1].most = most;
}

void bench_plan_base(bench_plan *p)
{
    for (int i = 1; i < p->n; i++) p->rows[0].wanted |= p->rows[i].wanted;
}

static int least(const bench_planned *row)
{
    return row->most < BENCH_LEAST_RUNS ? row->most : BENCH_LEAST_RUNS;
}

static double row_seconds(const bench_planned *row, bool full)
{
    return row->once_s + (full ? row->most : least(row)) * row->run_s;
}

double bench_plan_seconds(const bench_plan *p, bool full)
{
    double seconds = 0;
    for (int i = 0; i < p->n; i++)
        if (p->rows[i].wanted) seconds += row_seconds(&p->rows[i], full);
    return seconds;
}

/* The most telling row that is not yet decided on; NULL: none. */
static bench_planned *next(bench_plan *p, const bool *decided)
{
    bench_planned *best = NULL;
    for (int i = 0; i < p->n; i++)
        if (!decided[i] && p->rows[i].wanted && (!best || p->rows[i].rank < best->rank)) best = &p->rows[i];
    return best;
}

/* Has the suite measured something of this model? */
static bool has_rows(const bench *b)
{
    for (int i = b->suite_tables; i < b->n_tables; i++)
        if (b->tables[i]->n_rows) return true;
    return false;
}

void bench_plan_take(bench *b, bench_plan *p)
{
    bool *decided = calloc((size_t)p->n + 1, sizeof *decided);
    if (!decided) p->failed = true;
    if (p->failed) return;
    int64_t now = clock_ns();
    double room = 1e-9 * (double)(b->until_ns - now), all_room = 1e-9 * (double)(b->all_until_ns - now);
    bool first = !has_rows(b);
    for (bench_planned *row; (row = next(p, decided)); first = false) {
        double seconds = row_seconds(row, false);
        /* A suite has one row if the whole run has time for it. */
        row->taken = !b->until_ns || seconds <= room || seconds <= 0 || (first && seconds <= all_room);
        if (row->taken) room -= seconds;
        decided[row - p->rows] = true;
    }
    free(decided);
    p->decided = true;
}

bool bench_plan_taken(const bench_plan *p, int row)
{
    return row < p->n && p->rows[row].taken;
}

/* What the rows taken still need for rounds [round, end). */
static double rest(const bench_plan *p, int round, int end)
{
    double seconds = 0;
    for (int i = 0; i < p->n; i++) {
        const bench_planned *row = &p->rows[i];
        int last = row->most < end ? row->most : end;
        if (row->taken && last > round) seconds += (last - round) * (row->took_s > 0 ? row->took_s : row->run_s);
    }
    return seconds;
}

/* Gives up rows, the least telling first, until the least runs of the others fit. */
static void give_up(bench *b, bench_plan *p, int round)
{
    double over = OVERTIME * 1e-9 * (double)(b->until_ns - b->start_ns);
    int64_t until = b->until_ns + (int64_t)(1e9 * over);
    if (until > b->all_until_ns) until = b->all_until_ns;
    while (b->until_ns && rest(p, round, BENCH_LEAST_RUNS) > 1e-9 * (double)(until - clock_ns())) {
        int last = -1, taken = 0;
        for (int i = 0; i < p->n; i++) {
            if (!p->rows[i].taken) continue;
            taken++;
            if (last < 0 || p->rows[i].rank >= p->rows[last].rank) last = i;
        }
        if (taken < 2) return;
        p->rows[last].taken = false;
        p->given_up = true;
    }
}

/* Is there a round number `round`? */
static bool has_round(bench *b, bench_plan *p, int round, double round_s)
{
    bool more = false;
    if (interrupt_seen() || !output_read()) return false; /* nobody reads any more */
    for (int i = 0; i < p->n; i++) more |= p->rows[i].taken && p->rows[i].most > round;
    if (!more || round < BENCH_LEAST_RUNS || !b->until_ns) return more;
    return clock_ns() + (int64_t)(1e9 * round_s) <= b->until_ns;
}

/* What the least runs of a row want: as expected, which decides whether it is measured, or as its last one took. */
static double seconds_wanted(const bench_planned *row)
{
    return row->once_s + least(row) * (row->took_s > row->run_s ? row->took_s : row->run_s);
}

/* "left out for want of time: 410 sequential (190 s), ..." below the table, and the budget that has time for all. */
static void name_left_out(bench *b, const bench_plan *p)
{
    char text[300] = "";
    int wanted = 0, out = 0;
    for (int i = 0; i < p->n; i++) {
        wanted += p->rows[i].wanted;
        out += p->rows[i].wanted && !p->rows[i].taken;
    }
    bool none = out > 1 && out == wanted;
    if (none)
        snprintf(text, sizeof text, "left out, the budget has no time for it: all %d rows (%.0f s)", out,
                 ceil(bench_plan_seconds(p, false)));
    for (int i = 0; i < p->n && !none; i++) {
        const bench_planned *row = &p->rows[i];
        if (!row->wanted || row->taken) continue;
        size_t n = strlen(text), room = sizeof text - 60 - n;
        char more[200];
        snprintf(more, sizeof more, "%s (%.0f s)", row->name, ceil(seconds_wanted(row)));
        if (strlen(more) + 2 > room) {
            bench_table_note(p->table, "%s", text);
            n = 0;
        }
        snprintf(text + n, sizeof text - n, "%s%s", n ? "; " : "left out, the budget has no time for it: ", more);
    }
    if (!text[0]) return;
    bench_table_note(p->table, "%s", text);
    double all = 0;
    for (int i = 0; i < p->n; i++)
        if (p->rows[i].wanted) all += seconds_wanted(&p->rows[i]);
    all = b->cost.load_s + all / (b->part_share > 0 ? b->part_share : 1);
    char budget[32];
    bool minutes = BENCH_MARGIN * all > 100;
    snprintf(budget, sizeof budget, "%.0f%c", ceil(BENCH_MARGIN * (all + SETTING_UP_S) / (minutes ? 60 : 1)),
             minutes ? 'm' : 's');
    const char *model = !b->models.model ? NULL : strcmp(b->given, "built-in") ? b->given : "builtin";
    char *command = bench_report_command(b, b->suite, model, budget);
    bench_table_note(p->table, "all rows: %s", command ? command : budget);
    free(command);
}

tdm_status bench_plan_run(bench *b, bench_plan *p, bench_measure *measure, void *ctx, tdm_error *err)
{
    tdm_status status = TDM_OK;
    double round_s = 0;
    if (!p->decided) bench_plan_take(b, p);
    if (p->failed) return error_set(err, TDM_E_NOMEM, "bench: no memory for a plan");
    for (int round = 0; !status && has_round(b, p, round, round_s); round++) {
        int64_t round_ns = clock_ns();
        b->round = round;
        if (round) give_up(b, p, round);
        for (int i = 0; i < p->n && !status; i++) {
            bench_planned *row = &p->rows[i];
            if (!row->taken || round >= row->most) continue;
            b->left_s = b->until_ns ? 0 : rest(p, round, INT_MAX);
            int64_t start = clock_ns();
            status = measure(b, ctx, i, round, err);
            row->took_s = 1e-9 * (double)(clock_ns() - start);
            if (!round) row->took_s = row->took_s > row->once_s ? row->took_s - row->once_s : row->run_s;
        }
        round_s = 1e-9 * (double)(clock_ns() - round_ns);
    }
    if (!status && p->given_up) bench_table_prune(p->table, BENCH_LEAST_RUNS);
    name_left_out(b, p);
    return status;
}
