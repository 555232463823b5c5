#include "src/bench/report/plan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "src/io/output.h"
#include "src/process/interrupt.h"

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

void bench_plan_add(bench *b, bench_plan *p, const char *name, ...)
{
    bench_planned *row = append(p);
    if (!row) return;
    row->most = b->runs;
    va_list args;
    va_start(args, name);
    vsnprintf(row->name, sizeof row->name, name, args);
    va_end(args);
    for (char *bar = strchr(row->name, '|'); bar; bar = strchr(bar, '|')) *bar = ' ';
    row->wanted = bench_wanted(b, "%s %s", p->table->part, row->name);
    b->any_row_wanted |= row->wanted;
}

void bench_plan_add_pairs(bench *b, bench_plan *p, const char *const *rows, const int *lengths)
{
    for (const bench_pair *pair = b->pairs.pair; pair < b->pairs.pair + BENCH_PAIRS; pair++)
        for (int i = 0; rows[i]; i++) {
            if (!pair->machine || (lengths && lengths[i] > b->pairs.context))
                bench_plan_skip(p);
            else
                bench_plan_add(b, p, "%s|%s", pair->name, rows[i]);
        }
}

void bench_plan_most(bench_plan *p, int most)
{
    if (p->n) p->rows[p->n - 1].most = most;
}

void bench_plan_base(bench_plan *p)
{
    if (p->n) p->rows[0].wanted = bench_plan_wanted(p);
}

bool bench_plan_wanted(const bench_plan *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->rows[i].wanted) return true;
    return false;
}

/* Is there time to begin a row (round 0), or to measure it once more? A suite has a row if there is any time at all. */
static bool in_time(const bench *b, int round)
{
    int64_t now = clock_ns();
    if (!b->until_ns || (round && round < BENCH_LEAST_RUNS)) return true;
    if (!b->has_rows) return now < b->all_until_ns;
    return round ? now < b->until_ns : now - b->start_ns < (b->until_ns - b->start_ns) / BENCH_LEAST_RUNS;
}

/* "left out, the budget has no time for it: 410 sequential; ..." below the table. */
static void name_left_out(const bench_plan *p)
{
    char text[300] = "left out, the budget has no time for it: ";
    int out = 0, unnamed = 0;
    for (int i = 0; i < p->n; i++) {
        const bench_planned *row = &p->rows[i];
        size_t n = strlen(text), room = sizeof text - 20 - n;
        if (!row->wanted || row->begun) continue;
        if (strlen(row->name) + 2 < room)
            snprintf(text + n, room, "%s%s", out ? "; " : "", row->name);
        else
            unnamed++;
        out++;
    }
    size_t n = strlen(text);
    if (unnamed) snprintf(text + n, sizeof text - n, "; %d more", unnamed);
    if (out) bench_table_note(p->table, "%s", text);
}

tdm_status bench_plan_run(bench *b, bench_plan *p, bench_measure *measure, void *ctx, tdm_error *err)
{
    tdm_status status = TDM_OK;
    bool measured = true;
    if (p->failed) return error_set(err, TDM_E_NOMEM, "bench: no memory for a plan");
    for (int round = 0; !status && measured; round++) {
        b->round = round;
        measured = false;
        for (int i = 0; i < p->n && !status; i++) {
            bench_planned *row = &p->rows[i];
            if (interrupt_seen() || !output_read()) return TDM_OK; /* standard output is closed */
            bool goes_on = round ? row->begun : row->wanted;
            if (!goes_on || round >= row->most || !in_time(b, round)) continue;
            row->begun = measured = b->has_rows = true;
            status = measure(b, ctx, i, round, err);
        }
    }
    if (!status) name_left_out(p);
    return status;
}
