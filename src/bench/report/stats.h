/* Statistics of repeated measurements, on rows of figures (src/figures/figures.h): medians with their spread, and
 * ratios, which are refused if the spread makes them meaningless. */
#ifndef TANDEM_SRC_BENCH_STATS_H
#define TANDEM_SRC_BENCH_STATS_H

#include <stddef.h>

#include "src/figures/figures.h"

typedef struct {
    int n;
    double median, p5, p95; /* nearest rank; all 0 when n is 0 */
} bench_summary;

bench_summary bench_summarise(const figures_row *row);

typedef struct {
    bool meaningful;
    double ratio;       /* of the medians */
    /* relative: half the p5-p95 ranges of both sides over their medians, root of the sum of squares */
    double uncertainty;
    double least;       /* the 5th percentile of one side over the 95th of the other: a lower bound despite the
                           spread */
} bench_ratio;

/* Above this relative uncertainty, or with fewer than 3 measurements on a side, a ratio says nothing. */
#define BENCH_RATIO_LIMIT 0.25

bench_ratio bench_ratio_of(const bench_summary *above, const bench_summary *below);
/* "9.3x"; or "no ratio: ..." with the reason and, if the two ranges don't overlap, the lower bound. Returns out. */
char *bench_ratio_text(const bench_ratio *r, char *out, size_t room);

/* Three digits or so, thousands separated: "0.00042", "0.934", "9.31", "93.1", "931", "9,310". Returns out. */
char *bench_number(double value, char out[32]);

#endif
