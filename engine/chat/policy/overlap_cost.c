#include "engine/chat/policy/overlap_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NOISE 0.1

void overlap_cost_add(struct overlap_cost *k, bool shared, double seconds)
{
    struct overlap_cost_row *row = shared ? &k->shared : &k->alone;
    row->seconds[row->n++ % OVERLAP_COST_TOKENS] = seconds;
    if (row->n == 2 * OVERLAP_COST_TOKENS) row->n = OVERLAP_COST_TOKENS;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, and its relative standard error from the quartiles: for a normal distribution 1.2533 sigma / sqrt(n),
 * where the quartiles are 1.349 sigma apart. */
static double median(const struct overlap_cost_row *row, double *error)
{
    double sorted[OVERLAP_COST_TOKENS];
    unsigned n = row->n < OVERLAP_COST_TOKENS ? row->n : OVERLAP_COST_TOKENS;
    memcpy(sorted, row->seconds, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    double middle = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    *error = 1.2533 / 1.349 * (sorted[3 * n / 4] - sorted[n / 4]) / (middle * sqrt(n));
    return middle;
}

double overlap_cost_share(const struct overlap_cost *k)
{
    if (k->alone.n < OVERLAP_COST_LEAST || k->shared.n < OVERLAP_COST_LEAST) return 0;
    double error[2], alone = median(&k->alone, &error[0]), shared = median(&k->shared, &error[1]);
    double share = alone / shared, noise = 2 * hypot(error[0], error[1]);
    if (!(noise <= MAX_NOISE) || share > 1 + noise) return 0;
    return share < 1 ? share : 1;
}
