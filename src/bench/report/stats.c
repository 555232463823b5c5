#include "src/bench/report/stats.h"

#include <math.h>
#include <stdio.h>

bench_summary bench_summarise(const figures_row *row)
{
    return (bench_summary){.n = row->n,
                           .median = figures_median(row),
                           .p5 = figures_percentile(row, 5),
                           .p95 = figures_percentile(row, 95)};
}

bench_ratio bench_ratio_of(const bench_summary *above, const bench_summary *below)
{
    bench_ratio r = {0};
    if (above->n < 1 || below->n < 1 || above->median <= 0 || below->median <= 0) return r;
    r.ratio = above->median / below->median;
    r.uncertainty =
        hypot(0.5 * (above->p95 - above->p5) / above->median, 0.5 * (below->p95 - below->p5) / below->median);
    r.least = below->p95 > 0 ? above->p5 / below->p95 : 0;
    r.meaningful = above->n >= 3 && below->n >= 3 && r.uncertainty <= BENCH_RATIO_LIMIT;
    return r;
}

char *bench_ratio_text(const bench_ratio *r, char *out, size_t room)
{
    char number[32], least[64] = "";
    if (r->least > 1) snprintf(least, sizeof least, "; at least %sx", bench_number(r->least, number));
    if (r->meaningful)
        snprintf(out, room, "%sx", bench_number(r->ratio, number));
    else if (r->uncertainty > BENCH_RATIO_LIMIT)
        snprintf(out, room, "no ratio: the runs spread by %.0f %%%s", 100 * r->uncertainty, least);
    else
        snprintf(out, room, "no ratio: fewer than 3 runs");
    return out;
}

char *bench_number(double value, char out[32])
{
    double size = fabs(value);
    if (!isfinite(value))
        snprintf(out, 32, "-");
    else if (size >= 99.95)
        figures_number(value, out);
    else
        snprintf(out, 32, "%.*f",
                 size >= 9.995     ? 1
                 : size >= 0.9995  ? 2
                 : size >= 0.00995 ? 3
                 : size > 0        ? 5
                                   : 0,
                 value);
    return out;
}
