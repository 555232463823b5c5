/* Charts: SVG texts that are legible on light and dark pages (they follow prefers-color-scheme) and stand alone. */
#ifndef TANDEM_SRC_BENCH_SVG_H
#define TANDEM_SRC_BENCH_SVG_H

#include "engine/tandem.h"
#include "src/bench/bench_table.h"

/* A table's first measure as bars, one a row, with the range from the 5th to the 95th percentile. A logarithmic axis
 * where the medians lie further apart than a factor of 30. malloc'ed; NULL when there is nothing to draw. */
char *bench_svg_table(const bench_table *t);

/* What both units did from from_ns until the last of n turns ended: a track each, spans coloured by kind, with the
 * moments of Enter, first token and end. The lower picture is the same around the last Enter. malloc'ed or NULL. */
char *bench_svg_timeline(const tdm_machine *machine, int64_t from_ns, const tdm_turn_stats *turns, int n,
                         const char *model);

#endif
